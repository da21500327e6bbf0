//! Trees into the form: expressions.

use std::borrow::Cow;

use tree_sitter::Node;

use super::{
    form::{Arg, Assign, Call, Expr, Kind, Op},
    grammar::Shape,
    lower::{Lowering, last_line, line},
};

impl<'t> Lowering<'t> {
    /// The expression that a node is.
    pub(super) fn expr(&mut self, node: Node<'t>) -> Expr<'t> {
        let kind = self.deeper(|me| me.kind(node)).unwrap_or(Kind::Literal);
        Expr { line: line(node), kind }
    }

    /// The expression in a field; a constant where there is none.
    pub(super) fn field_expr(&mut self, node: Node<'t>, field: &str, at: usize) -> Expr<'t> {
        match self.field(node, field, at) {
            Some(inner) => self.expr(inner),
            None => Expr { line: line(node), kind: Kind::Literal },
        }
    }

    fn kind(&mut self, node: Node<'t>) -> Kind<'t> {
        let Some(shape) = self.table.shape(node) else { return self.any(node) };
        match shape {
            Shape::Skip | Shape::Literal | Shape::Leave => Kind::Literal,
            Shape::Name => Kind::Name(self.source(node)),
            Shape::Fragment => Kind::Str(Cow::Borrowed(self.source(node))),
            Shape::Int => match self.source(node).replace('_', "").parse() {
                Ok(number) => Kind::Int(number),
                Err(_) => Kind::Literal,
            },
            Shape::Bool(value) => Kind::Bool(value),
            Shape::Null => Kind::Null,
            Shape::Text => self.text_kind(node),
            Shape::List => Kind::List(self.all(node)),
            Shape::Map => self.map(node),
            Shape::Inner(field) => match self.field(node, field, 0) {
                Some(inner) => self.expr(inner).kind,
                None => Kind::Literal,
            },
            Shape::Expr(custom) => custom(self, node).kind,
            Shape::Function(name, params, body) => {
                Kind::Function(self.function(node, name, params, body))
            }
            Shape::Call(..) | Shape::Method(..) | Shape::New(..) | Shape::Keyword(_) => {
                self.call(node, shape)
            }
            _ => self.operator(node, shape),
        }
    }

    fn operator(&mut self, node: Node<'t>, shape: Shape) -> Kind<'t> {
        match shape {
            Shape::Member(object, name) => {
                let name = self.field(node, name, 1).map_or("", |n| self.source(n));
                let object = self.field_expr(node, object, 0);
                Kind::Member(Box::new(object), name)
            }
            Shape::Index(object, index) => {
                let index = self.field_expr(node, index, 1);
                Kind::Index(Box::new(self.field_expr(node, object, 0)), Box::new(index))
            }
            Shape::Binary(left, right) => self.binary(node, left, right),
            Shape::Unary(operand) => self.unary(node, operand),
            Shape::Pick(condition, yes, no) | Shape::If(condition, yes, no) => {
                let condition = self.field_expr(node, condition, 0);
                let yes = self.field_expr(node, yes, 1);
                Kind::Pick(Box::new([condition, yes, self.field_expr(node, no, 2)]))
            }
            // Its value is one of the arms', never what they are chosen by.
            Shape::Switch(subject, body) => {
                let chosen_by = self.field(node, subject, 0);
                let subject = self.field_expr(node, subject, 0);
                let mut arms = self.parts(self.field(node, body, 1).unwrap_or(node));
                arms.retain(|arm| Some(*arm) != chosen_by);
                let arms = arms.into_iter().map(|arm| self.expr(arm)).collect();
                Kind::Seq(vec![subject, Expr { line: line(node), kind: Kind::Any(arms) }])
            }
            Shape::Assign(..) | Shape::Add(..) | Shape::Declare(..) => {
                let assign = self.assignment(node, shape);
                assign.map_or(Kind::Literal, |assign| Kind::Assign(Box::new(assign)))
            }
            _ => self.any(node),
        }
    }

    fn any(&mut self, node: Node<'t>) -> Kind<'t> {
        let mut all = self.all(node);
        match (all.len(), all.pop()) {
            (1, Some(only)) => only.kind,
            (_, None) => Kind::Literal,
            (_, Some(last)) => {
                all.push(last);
                Kind::Any(all)
            }
        }
    }

    fn all(&mut self, node: Node<'t>) -> Vec<Expr<'t>> {
        self.parts(node).into_iter().map(|n| self.expr(n)).collect()
    }

    /// Text: its pieces, and what is put in between.
    fn text_kind(&mut self, node: Node<'t>) -> Kind<'t> {
        let parts = self.parts(node);
        if parts.is_empty() {
            let whole = self.source(node);
            let bare = whole.trim_start_matches(['@', '$', 'r', 'b', 'u', 'R', 'B']);
            return Kind::Str(Cow::Borrowed(bare.trim_matches(['"', '\'', '`'])));
        }
        let all: Vec<Expr<'t>> = parts.into_iter().map(|n| self.expr(n)).collect();
        if all.iter().all(|e| matches!(e.kind, Kind::Str(_))) {
            let joined = all.iter().filter_map(|e| match &e.kind {
                Kind::Str(text) => Some(text.as_ref()),
                _ => None,
            });
            return Kind::Str(Cow::Owned(joined.collect()));
        }
        Kind::Join(all)
    }

    fn map(&mut self, node: Node<'t>) -> Kind<'t> {
        let mut pairs = Vec::new();
        for part in self.parts(node) {
            let value = match self.table.shape(part) {
                Some(Shape::Pair(key, value)) => {
                    let key = match self.field(part, key, 0) {
                        Some(key) => self.key(key),
                        None => Expr { line: line(part), kind: Kind::Literal },
                    };
                    (key, self.field_expr(part, value, 1))
                }
                Some(Shape::Name) => (self.key(part), self.expr(part)),
                _ => (Expr { line: line(part), kind: Kind::Literal }, self.expr(part)),
            };
            pairs.push(value);
        }
        Kind::Map(pairs)
    }

    /// The key of a pair: a bare word is a text here.
    fn key(&mut self, node: Node<'t>) -> Expr<'t> {
        let bare = self.source(node).trim_matches([':', '"', '\'']);
        let word = bare.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
        if word || node.kind() == "property_identifier" {
            return Expr { line: line(node), kind: Kind::Str(Cow::Borrowed(bare)) };
        }
        self.expr(node)
    }

    fn call(&mut self, node: Node<'t>, shape: Shape) -> Kind<'t> {
        let at = line(node);
        let (callee, args, new) = match shape {
            Shape::Call(callee, args) => {
                let args = self.field(node, args, 1);
                (self.field_expr(node, callee, 0), self.args(args), false)
            }
            Shape::Method(object, name, args) => {
                let name = self.field(node, name, 1);
                let callee = match (self.field(node, object, 0), name) {
                    (Some(object), Some(name)) => {
                        let object = Box::new(self.expr(object));
                        Expr { line: line(name), kind: Kind::Member(object, self.source(name)) }
                    }
                    (_, name) => {
                        let name = name.map_or("", |n| self.source(n));
                        Expr { line: at, kind: Kind::Name(name) }
                    }
                };
                let args = self.field(node, args, 2);
                (callee, self.args(args), false)
            }
            Shape::New(ty, args) => {
                let args = self.field(node, args, 1);
                let ty = self.field(node, ty, 0).map_or("", |n| simple(self.source(n)));
                (Expr { line: at, kind: Kind::Name(ty) }, self.args(args), true)
            }
            Shape::Keyword(word) => {
                (Expr { line: at, kind: Kind::Name(word) }, self.args(Some(node)), false)
            }
            _ => return self.any(node),
        };
        Kind::Call(Box::new(Call { callee, args, new, end: last_line(node) }))
    }

    /// Arguments: those of a list, or the one that a node is.
    pub(super) fn args(&mut self, node: Option<Node<'t>>) -> Vec<Arg<'t>> {
        let Some(node) = node else { return Vec::new() };
        let list = matches!(self.table.shape(node), Some(Shape::Args | Shape::Keyword(_)));
        if !list {
            return vec![Arg { name: None, out: false, value: self.expr(node) }];
        }
        self.parts(node).into_iter().map(|n| self.arg(n)).collect()
    }

    fn arg(&mut self, node: Node<'t>) -> Arg<'t> {
        if let Some(Shape::Pair(key, value)) = self.table.shape(node) {
            let name = self.field(node, key, 0).map(|n| self.source(n));
            let name = name.map(|n| n.trim_matches([':', '"', '\'', ' ']));
            return Arg { name, out: false, value: self.field_expr(node, value, 1) };
        }
        let named = node.child_by_field_name("name").filter(|_| node.kind() == "argument");
        let out = node.child(0).is_some_and(|first| first.kind() == "out");
        let value = match self.parts(node).last() {
            Some(last) if named.is_some() => self.expr(*last),
            _ => self.expr(node),
        };
        Arg { name: named.map(|n| self.source(n)), out, value }
    }

    pub(super) fn binary(&mut self, node: Node<'t>, left: &str, right: &str) -> Kind<'t> {
        let sides = (self.field(node, left, 0), self.field(node, right, 1));
        let (Some(first), Some(second)) = sides else { return self.any(node) };
        let op = self.operation(node, first, second);
        if op == Op::Add {
            return self.chain(node, left, right);
        }
        let first = self.expr(first);
        Kind::Binary(op, Box::new([first, self.expr(second)]))
    }

    /// A chain of `+`, however long, in one.
    fn chain(&mut self, node: Node<'t>, left: &str, right: &str) -> Kind<'t> {
        let mut parts = Vec::new();
        let mut open = node;
        loop {
            let sides = (self.field(open, left, 0), self.field(open, right, 1));
            let (Some(first), Some(second)) = sides else { break };
            parts.push(second);
            let same = first.kind_id() == node.kind_id();
            let next = (self.field(first, left, 0), self.field(first, right, 1));
            let adds = match next {
                (Some(a), Some(b)) if same => self.operation(first, a, b) == Op::Add,
                _ => false,
            };
            if !adds {
                parts.push(first);
                break;
            }
            open = first;
        }
        parts.reverse();
        Kind::Join(parts.into_iter().map(|n| self.expr(n)).collect())
    }

    fn operation(&self, node: Node<'t>, left: Node<'t>, right: Node<'t>) -> Op {
        let named = |field| node.child_by_field_name(field).map(|n| self.source(n));
        let between = || self.text.get(left.end_byte()..right.start_byte()).unwrap_or_default();
        let sign = named("operator").unwrap_or_else(between).trim();
        match sign {
            "+" | "." => Op::Add,
            "-" => Op::Sub,
            "*" => Op::Mul,
            "/" | "//" => Op::Div,
            "%" => Op::Rem,
            "==" | "===" | "is" => Op::Eq,
            "!=" | "!==" | "is not" | "<>" => Op::Ne,
            "<" => Op::Lt,
            "<=" => Op::Le,
            ">" => Op::Gt,
            ">=" => Op::Ge,
            "&&" | "and" => Op::And,
            "||" | "or" => Op::Or,
            "??" | "?:" => Op::Else,
            "in" => Op::In,
            "not in" => Op::NotIn,
            "=~" | "!~" => Op::Match,
            "<<" => Op::Push,
            _ => Op::Other,
        }
    }

    fn unary(&mut self, node: Node<'t>, operand: &str) -> Kind<'t> {
        let inner = match self.field(node, operand, 0) {
            Some(inner) => self.expr(inner),
            None => return Kind::Literal,
        };
        let sign = self.source(node).trim_start();
        match inner.kind {
            Kind::Int(number) if sign.starts_with('-') => Kind::Int(number.saturating_neg()),
            _ if sign.starts_with('!') || sign.starts_with("not") => Kind::Not(Box::new(inner)),
            _ if sign.starts_with("typeof") => {
                let callee = Expr { line: inner.line, kind: Kind::Name("typeof") };
                let args = vec![Arg { name: None, out: false, value: inner }];
                Kind::Call(Box::new(Call { callee, args, new: false, end: last_line(node) }))
            }
            _ if ["void", "delete", "defined"].iter().any(|w| sign.starts_with(w)) => Kind::Literal,
            kind => kind,
        }
    }

    /// Each element of `from`, bound to `target`.
    pub(super) fn element(&mut self, target: Expr<'t>, from: Expr<'t>) -> Assign<'t> {
        let at = from.line;
        let any = Box::new(Expr { line: at, kind: Kind::Literal });
        let value = Expr { line: at, kind: Kind::Index(Box::new(from), any) };
        Assign { target, ty: None, adds: false, value }
    }
}

/// A type without its package and its parameters.
pub(super) fn simple(ty: &str) -> &str {
    let ty = ty.trim().trim_start_matches(['*', '&', '?', ':', ' ']);
    let ty = ty.split(['<', '[', '?', '|', ' ']).next().unwrap_or(ty);
    ty.rsplit(['.', '\\']).next().unwrap_or(ty)
}
