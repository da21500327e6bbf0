//! Trees into the form: functions, their parameters, and classes.

use tree_sitter::Node;

use super::{
    form::{Action, Assign, Class, Expr, Function, Kind, Param, Stmt},
    grammar::Shape,
    lower::{Lowering, line, named},
};

impl<'t> Lowering<'t> {
    /// A decorator, annotation or attribute of what is defined next.
    pub(super) fn mark(&mut self, node: Node<'t>) {
        self.marks.push(self.source(node));
    }

    /// Lowers a function, and gives its number.
    pub(super) fn function(
        &mut self,
        node: Node<'t>,
        name: &str,
        params: &str,
        body: &str,
    ) -> usize {
        let name = self.field(node, name, 0).map_or("", |n| self.source(n));
        let body = self.field(node, body, 1);
        let mut marks = std::mem::take(&mut self.marks);
        let before = body.map_or(node.end_byte(), |b| b.start_byte());
        let head = self.text.get(node.start_byte()..before).unwrap_or_default();
        marks.extend(annotations(self, node));
        let index = self.unit.functions.len();
        self.unit.functions.push(Function {
            name,
            class: self.class,
            params: Vec::new(),
            body: Vec::new(),
            marks,
            exported: (self.table.grammar.exported)(name, head),
            nested: self.inside > 0,
            span: node.byte_range(),
        });
        self.inside += 1;
        let params = self.field(node, params, 2).or_else(|| node.child_by_field_name("parameter"));
        let params = self.params(params);
        let body = self.body(body);
        self.inside -= 1;
        if let Some(function) = self.unit.functions.get_mut(index) {
            (function.params, function.body) = (params, body);
        }
        index
    }

    fn body(&mut self, node: Option<Node<'t>>) -> Vec<Stmt<'t>> {
        let Some(node) = node else { return Vec::new() };
        let block = matches!(self.table.shape(node), None | Some(Shape::Block | Shape::Try));
        let mut body = self.block(Some(node));
        if (self.table.grammar.returns_last || !block)
            && let Some(last) = body.last_mut()
        {
            returned(last);
        }
        body
    }

    pub(super) fn class(
        &mut self,
        node: Node<'t>,
        name: &str,
        body: &str,
        out: &mut Vec<Stmt<'t>>,
    ) {
        let name = self.field(node, name, 0).map_or("", |n| self.source(n));
        self.marks.clear();
        let index = self.unit.classes.len();
        let before = self.field(node, body, 1).map_or(node.end_byte(), |b| b.start_byte());
        let head = self.text.get(node.start_byte()..before).unwrap_or_default();
        self.unit.classes.push(Class { name, head, fields: Vec::new() });
        let outer = self.class.replace(index);
        let inside = std::mem::take(&mut self.inside);
        let mut all = match self.field(node, body, 1) {
            Some(body) => self.children(body),
            None => Vec::new(),
        };
        self.inside = inside;
        self.class = outer;
        // Methods are found by their class; what else stands there are fields.
        let is_method = |s: &Stmt<'_>| matches!(s.kind, Action::Function(_));
        let methods: Vec<Stmt<'t>> = all.extract_if(.., |s| is_method(s)).collect();
        if let Some(class) = self.unit.classes.get_mut(index) {
            class.fields = all;
        }
        if self.inside > 0 {
            out.extend(methods);
        }
    }

    /// A class; what its constructor takes are fields, too. Fields: its name and body, the constructor's parameters, the name of one.
    pub(super) fn class_taking(
        &mut self,
        node: Node<'t>,
        [name, body, params, param_name]: [&str; 4],
        out: &mut Vec<Stmt<'t>>,
    ) {
        let at = self.unit.classes.len();
        self.class(node, name, body, out);
        let params = self.field(node, params, 0).map(named).unwrap_or_default();
        for param in params.into_iter().filter(|n| n.kind() == "class_parameter") {
            let Some(name) = self.field(param, param_name, 0) else { continue };
            let target = self.expr(name);
            let line = line(param);
            let value = Expr { line, kind: Kind::Literal };
            let assign = Assign { target, ty: self.type_of(param), adds: false, value };
            if let Some(class) = self.unit.classes.get_mut(at) {
                class.fields.push(Stmt { line, kind: Action::Assign(assign) });
            }
        }
    }

    pub(super) fn params(&mut self, list: Option<Node<'t>>) -> Vec<Param<'t>> {
        let Some(list) = list else { return Vec::new() };
        if matches!(self.table.shape(list), Some(Shape::Name)) {
            let target = self.expr(list);
            return vec![Param { target, ty: None, optional: false, marks: Vec::new() }];
        }
        let (mut params, mut marks) = (Vec::new(), Vec::new());
        for node in self.parts(list) {
            match node.kind() {
                // Of Kotlin, annotations and defaults stand beside their parameter.
                "parameter_modifiers" => marks = vec![self.source(node)],
                kind if list.kind() == "function_value_parameters" && kind != "parameter" => {}
                _ => {
                    let mut made = self.param(node);
                    made.iter_mut().for_each(|param| param.marks.append(&mut marks));
                    params.append(&mut made);
                }
            }
        }
        params
    }

    /// The type that is declared in a node.
    pub(super) fn type_of(&self, node: Node<'t>) -> Option<&'t str> {
        let ty = ["type", ":user_type", ":nullable_type"].iter();
        ty.filter_map(|field| self.field(node, field, 0)).next().map(|n| self.source(n))
    }

    fn param(&mut self, node: Node<'t>) -> Vec<Param<'t>> {
        let ty = self.type_of(node);
        let mut marks = annotations(self, node);
        let mut default = ["value", "default_value", "right"].iter();
        let default = default.find_map(|f| node.child_by_field_name(f)).map(|n| self.source(n));
        let optional = default.is_some_and(is_choice);
        marks.extend(ty.into_iter().chain(default).filter(|text| text.contains(INJECTED)));
        let field = ["name", "pattern", "left"].iter().find_map(|f| {
            let all: Vec<_> = node.children_by_field_name(f, &mut node.walk()).collect();
            (!all.is_empty()).then_some(all)
        });
        // A parameter without a name of its own is the pattern itself, or holds it first.
        let holds = |n: &Node<'t>| ty.is_some() && self.table.shape(*n).is_none();
        let inner = || named(node).into_iter().next().filter(|_| holds(&node));
        let nodes = field.unwrap_or_else(|| vec![inner().unwrap_or(node)]);
        let mut params = Vec::new();
        for name in nodes {
            params.push(Param { target: self.expr(name), ty, optional, marks: marks.clone() });
        }
        params
    }
}

/// What a framework calls with a function of the program: the parameter is what that gives.
pub(super) const INJECTED: &str = "Depends(";

/// Whether the default of a parameter is a number, or a text with something in it.
fn is_choice(default: &str) -> bool {
    let quoted = default.starts_with(['"', '\'']) && default.len() > 2;
    quoted || default.starts_with(|c: char| c.is_ascii_digit())
}

/// What annotates a function or a parameter: children of kinds that hold annotations.
fn annotations<'t>(lowering: &Lowering<'t>, node: Node<'t>) -> Vec<&'t str> {
    const KINDS: [&str; 5] =
        ["modifiers", "attribute_list", "decorator", "annotation", "marker_annotation"];
    let holds = |n: &Node<'t>| KINDS.contains(&n.kind());
    named(node).into_iter().filter(holds).map(|n| lowering.source(n)).collect()
}

/// Makes what a statement ends with the value of its function.
pub(super) fn returned(stmt: &mut Stmt<'_>) {
    let kind = std::mem::replace(&mut stmt.kind, Action::Leave);
    stmt.kind = match kind {
        Action::Expr(value) => Action::Return(Some(value)),
        Action::Assign(assign) => {
            let value = Expr { line: stmt.line, kind: Kind::Assign(Box::new(assign)) };
            Action::Return(Some(value))
        }
        Action::Block(mut body) => {
            body.last_mut().into_iter().for_each(returned);
            Action::Block(body)
        }
        Action::Switch(subject, mut cases) => {
            cases.iter_mut().filter_map(|case| case.body.last_mut()).for_each(returned);
            Action::Switch(subject, cases)
        }
        Action::If(condition, mut yes, mut no) => {
            yes.last_mut().into_iter().chain(no.last_mut()).for_each(returned);
            Action::If(condition, yes, no)
        }
        Action::Try(mut body, handlers, end) => {
            body.last_mut().into_iter().for_each(returned);
            Action::Try(body, handlers, end)
        }
        other => other,
    };
}
