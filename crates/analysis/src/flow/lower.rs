//! Trees into the form: statements, functions and classes. Driven by the tables in `grammar/`.
//!
//! One walk over the tree; what lies deeper than [`DEEPEST`] is left out, and the unit says so.

use tree_sitter::Node;

use super::{
    form::{Action, Assign, Case, Expr, Kind, Loop, Stmt, Unit},
    grammar::{Shape, Table},
};

/// How deep expressions and statements are followed into each other; each level costs stack.
const DEEPEST: usize = 100;

/// How many `elif` branches lie in each other; more of them count as one after another.
const MAX_ALTERNATIVES: usize = 40;

/// A file being lowered.
pub(super) struct Lowering<'t> {
    pub(super) text: &'t str,
    pub(super) table: &'static Table,
    pub(super) unit: Unit<'t>,
    /// Where the bodies of here-documents lie, in order.
    pub(super) heredocs: Vec<Node<'t>>,
    pub(super) heredocs_taken: usize,
    pub(super) marks: Vec<&'t str>,
    pub(super) class: Option<usize>,
    pub(super) inside: usize,
    depth: usize,
}

/// The form of a whole tree.
pub(super) fn lower<'t>(table: &'static Table, text: &'t str, root: Node<'t>) -> Unit<'t> {
    let mut lowering = Lowering {
        text,
        table,
        unit: Unit::default(),
        heredocs: Vec::new(),
        heredocs_taken: 0,
        marks: Vec::new(),
        class: None,
        inside: 0,
        depth: 0,
    };
    if table.grammar.name == "Ruby" && text.contains("<<") {
        lowering.heredocs = heredocs(root);
    }
    lowering.unit.body = lowering.children(root);
    lowering.unit
}

fn heredocs(root: Node<'_>) -> Vec<Node<'_>> {
    let mut found = Vec::new();
    let mut cursor = root.walk();
    loop {
        if cursor.node().kind() == "heredoc_body" {
            found.push(cursor.node());
        } else if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}

/// The line a node starts on, from 1.
pub(super) fn line(node: Node<'_>) -> u32 {
    u32::try_from(node.start_position().row).unwrap_or(u32::MAX).saturating_add(1)
}

/// The line a node ends on, from 1. One that takes a line's end in with it, as what is left open at
/// the end of a text does, ends on that line.
pub(super) fn last_line(node: Node<'_>) -> u32 {
    let end = node.end_position();
    let last = u32::try_from(end.row).unwrap_or(u32::MAX).saturating_add(u32::from(end.column > 0));
    last.max(line(node))
}

/// The named children of a node; comments among them.
pub(super) fn named<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    node.named_children(&mut node.walk()).collect()
}

impl<'t> Lowering<'t> {
    /// The source of a node.
    pub(super) fn source(&self, node: Node<'t>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// The child in a field or of a kind, or the named child at `at`.
    pub(super) fn field(&self, node: Node<'t>, field: &str, at: usize) -> Option<Node<'t>> {
        match field {
            "-" => None,
            "" => self.parts(node).into_iter().nth(at),
            _ => match field.strip_prefix(':') {
                Some(kind) => named(node).into_iter().find(|n| n.kind() == kind),
                None => node.child_by_field_name(field),
            },
        }
    }

    /// The named children that move values.
    pub(super) fn parts(&self, node: Node<'t>) -> Vec<Node<'t>> {
        let mut parts = named(node);
        parts.retain(|n| !n.is_extra() && !matches!(self.table.shape(*n), Some(Shape::Skip)));
        parts
    }

    /// Runs `what` a level deeper; `None` when that is too deep.
    pub(super) fn deeper<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= DEEPEST {
            self.unit.too_deep = true;
            return None;
        }
        self.depth += 1;
        let done = what(self);
        self.depth -= 1;
        Some(done)
    }

    /// The statements that are the children of a node.
    pub(super) fn children(&mut self, node: Node<'t>) -> Vec<Stmt<'t>> {
        let mut out = Vec::new();
        for child in self.parts(node) {
            self.stmt(child, &mut out);
        }
        out
    }

    /// The statements that a node is: one, or a block of them.
    pub(super) fn block(&mut self, node: Option<Node<'t>>) -> Vec<Stmt<'t>> {
        let mut out = Vec::new();
        if let Some(node) = node {
            self.stmt(node, &mut out);
        }
        out
    }

    /// Adds the statements that a node is.
    pub(super) fn stmt(&mut self, node: Node<'t>, out: &mut Vec<Stmt<'t>>) {
        self.deeper(|me| me.stmt_here(node, out));
    }

    fn stmt_here(&mut self, node: Node<'t>, out: &mut Vec<Stmt<'t>>) {
        let at = line(node);
        let kind = match self.table.shape(node) {
            Some(Shape::Skip) => return,
            None | Some(Shape::Block) => return out.append(&mut self.children(node)),
            Some(Shape::Inner(field)) => {
                let inner = self.field(node, field, 0);
                return out.append(&mut self.block(inner));
            }
            Some(Shape::Stmts(custom)) => return custom(self, node, out),
            Some(Shape::Class(name, body)) => return self.class(node, name, body, out),
            Some(Shape::Function(name, params, body)) => {
                Action::Function(self.function(node, name, params, body))
            }
            Some(shape @ (Shape::Assign(..) | Shape::Add(..) | Shape::Declare(..))) => {
                match self.assignment(node, shape) {
                    Some(assign) => Action::Assign(assign),
                    None => return,
                }
            }
            Some(shape) => self.control(node, shape),
        };
        out.push(Stmt { line: at, kind });
    }

    fn control(&mut self, node: Node<'t>, shape: Shape) -> Action<'t> {
        match shape {
            Shape::If(condition, yes, no) => self.branch(node, [condition, yes, no], false),
            Shape::Unless(condition, yes, no) => self.branch(node, [condition, yes, no], true),
            Shape::Each(target, from, body) => {
                let target = self.field_expr(node, target, 0);
                let from = self.field_expr(node, from, 1);
                let body = self.field(node, body, 2);
                Action::Loop(Loop {
                    binds: Some((target, from)),
                    condition: None,
                    body: self.block(body),
                })
            }
            Shape::While(condition, body) => {
                let condition = self.field(node, condition, 0).map(|n| self.expr(n));
                let body = self.field(node, body, 1);
                Action::Loop(Loop { binds: None, condition, body: self.block(body) })
            }
            Shape::Switch(subject, body) => {
                let subject = self.field_expr(node, subject, 0);
                let body = self.field(node, body, 1).unwrap_or(node);
                Action::Switch(subject, self.cases(body))
            }
            Shape::Try => self.attempt(node),
            Shape::Return => {
                let value = self.parts(node).first().map(|n| self.expr(*n));
                Action::Return(value)
            }
            Shape::Throw => Action::Throw(self.parts(node).first().map(|n| self.expr(*n))),
            Shape::Leave => Action::Leave,
            _ => Action::Expr(self.expr(node)),
        }
    }

    fn branch(&mut self, node: Node<'t>, fields: [&str; 3], turned: bool) -> Action<'t> {
        let [condition, yes, no] = fields;
        let mut condition = self.field_expr(node, condition, 0);
        if turned {
            condition = Expr { line: condition.line, kind: Kind::Not(Box::new(condition)) };
        }
        let yes = self.field(node, yes, 1);
        let yes = self.block(yes);
        let no: Vec<Node<'t>> = match no {
            "-" | "" => self.field(node, no, 2).into_iter().collect(),
            _ => node.children_by_field_name(no, &mut node.walk()).collect(),
        };
        let no = self.alternatives(&no);
        Action::If(condition, yes, no)
    }

    /// `elif` branches that stand beside each other, each the alternative of the one before.
    fn alternatives(&mut self, nodes: &[Node<'t>]) -> Vec<Stmt<'t>> {
        let mut after = Vec::new();
        for (at, node) in nodes.iter().enumerate().rev() {
            let mut here = self.block(Some(*node));
            if at < MAX_ALTERNATIVES
                && let [Stmt { kind: Action::If(_, _, no), .. }] = here.as_mut_slice()
                && no.is_empty()
            {
                *no = after;
            } else {
                here.append(&mut after);
            }
            after = here;
        }
        after
    }

    pub(super) fn cases(&mut self, body: Node<'t>) -> Vec<Case<'t>> {
        let mut cases = Vec::new();
        for child in self.parts(body) {
            let Some(Shape::Case(field, falls)) = self.table.shape(child) else { continue };
            let tests: Vec<Node<'t>> = match field {
                "" => Vec::new(),
                _ => child.children_by_field_name(field, &mut child.walk()).collect(),
            };
            let mut case = Case { tests: Vec::new(), body: Vec::new(), falls };
            for part in self.parts(child) {
                if matches!(self.table.shape(part), Some(Shape::Label)) {
                    case.tests.extend(self.label(part));
                } else if tests.contains(&part) {
                    let test = self.expr(part);
                    case.tests.push(test);
                } else {
                    self.stmt(part, &mut case.body);
                }
            }
            cases.push(case);
        }
        cases
    }

    fn label(&mut self, node: Node<'t>) -> Vec<Expr<'t>> {
        self.parts(node).into_iter().map(|n| self.expr(n)).collect()
    }

    fn attempt(&mut self, node: Node<'t>) -> Action<'t> {
        let (mut body, mut handlers, mut end) = (Vec::new(), Vec::new(), Vec::new());
        for part in self.parts(node) {
            match self.table.shape(part) {
                Some(Shape::Handler) => handlers.push(self.children(part)),
                Some(Shape::Finally) => end.append(&mut self.children(part)),
                _ => self.stmt(part, &mut body),
            }
        }
        if handlers.is_empty() && end.is_empty() {
            return Action::Block(body);
        }
        Action::Try(body, handlers, end)
    }

    pub(super) fn assignment(&mut self, node: Node<'t>, shape: Shape) -> Option<Assign<'t>> {
        let (target, ty, value, adds) = match shape {
            Shape::Assign(target, value) => (target, "-", value, false),
            Shape::Add(target, value) => (target, "-", value, true),
            Shape::Declare(name, ty, value) => (name, ty, value, false),
            _ => return None,
        };
        let ty = self.field(node, ty, 2).map(|n| self.source(n));
        let target = self.field(node, target, 0)?;
        let value = self.field(node, value, 1);
        let made = || value.and_then(composed_type).map(|n| self.source(n));
        let ty = ty.or_else(made);
        let value = match value {
            Some(value) => self.expr(value),
            None if ty.is_some() => Expr { line: line(node), kind: Kind::Literal },
            None => return None,
        };
        let target = self.expr(target);
        self.called(&target, &value);
        Some(Assign { target, ty, adds, value })
    }

    /// A function written in place goes by the name it is given.
    fn called(&mut self, target: &Expr<'t>, value: &Expr<'t>) {
        let (Kind::Name(name) | Kind::Member(_, name)) = target.kind else { return };
        let Kind::Function(at) = value.kind else { return };
        if let Some(function) = self.unit.functions.get_mut(at).filter(|f| f.name.is_empty()) {
            function.name = name;
        }
    }
}

/// The type of another package that a value is composed of: `&http.Client{}`.
fn composed_type(mut node: Node<'_>) -> Option<Node<'_>> {
    while matches!(node.kind(), "expression_list" | "unary_expression")
        && node.named_child_count() == 1
    {
        node = node.named_child(0)?;
    }
    let literal = (node.kind() == "composite_literal").then_some(node)?;
    literal.child_by_field_name("type").filter(|ty| ty.kind() == "qualified_type")
}
