//! The language-neutral form that values are followed through: functions, statements, expressions.
//!
//! It keeps what moves a value (assignments, calls, members, text put together, containers, branches,
//! loops, returns) and the lines; everything else becomes [`Kind::Any`], whose value comes from all of
//! its parts.

use std::{borrow::Cow, ops::Range};

/// An expression, and the line it starts on.
#[derive(Debug)]
pub(super) struct Expr<'t> {
    pub(super) line: u32,
    pub(super) kind: Kind<'t>,
}

/// What an expression is.
#[derive(Debug)]
pub(super) enum Kind<'t> {
    Name(&'t str),
    Str(Cow<'t, str>),
    Int(i64),
    Bool(bool),
    Null,
    /// Another constant.
    Literal,
    /// Text put together: interpolation, or a chain of `+`.
    Join(Vec<Expr<'t>>),
    Member(Box<Expr<'t>>, &'t str),
    Index(Box<Expr<'t>>, Box<Expr<'t>>),
    Call(Box<Call<'t>>),
    List(Vec<Expr<'t>>),
    Map(Vec<(Expr<'t>, Expr<'t>)>),
    /// Condition, and the value on either side.
    Pick(Box<[Expr<'t>; 3]>),
    Binary(Op, Box<[Expr<'t>; 2]>),
    Not(Box<Expr<'t>>),
    Assign(Box<Assign<'t>>),
    /// A function written in place, by its number in [`Unit::functions`].
    Function(usize),
    /// One after another; the last is the value.
    Seq(Vec<Expr<'t>>),
    /// Something else; its value may come from any of the parts.
    Any(Vec<Expr<'t>>),
}

/// A binary operator, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    /// Either operand may be the result: `??`, `||` of values.
    Else,
    In,
    NotIn,
    /// A match with a regular expression.
    Match,
    /// `<<`, which appends in some languages.
    Push,
    Other,
}

/// A call.
#[derive(Debug)]
pub(super) struct Call<'t> {
    pub(super) callee: Expr<'t>,
    pub(super) args: Vec<Arg<'t>>,
    /// Whether it makes an object.
    pub(super) new: bool,
    /// The line it ends on.
    pub(super) end: u32,
}

/// An argument, with the name it is passed by.
#[derive(Debug)]
pub(super) struct Arg<'t> {
    pub(super) name: Option<&'t str>,
    /// Whether the call sets it: `out`.
    pub(super) out: bool,
    pub(super) value: Expr<'t>,
}

/// An assignment, a declaration with a value, or a binding of a loop.
#[derive(Debug)]
pub(super) struct Assign<'t> {
    pub(super) target: Expr<'t>,
    /// The declared type.
    pub(super) ty: Option<&'t str>,
    /// Whether the old value stays a part of the new one (`+=`).
    pub(super) adds: bool,
    pub(super) value: Expr<'t>,
}

/// A statement, and the line it starts on.
#[derive(Debug)]
pub(super) struct Stmt<'t> {
    pub(super) line: u32,
    pub(super) kind: Action<'t>,
}

/// What a statement does.
#[derive(Debug)]
pub(super) enum Action<'t> {
    Expr(Expr<'t>),
    Assign(Assign<'t>),
    Block(Vec<Stmt<'t>>),
    If(Expr<'t>, Vec<Stmt<'t>>, Vec<Stmt<'t>>),
    Loop(Loop<'t>),
    Switch(Expr<'t>, Vec<Case<'t>>),
    /// A body, what handles its errors, and what runs in the end.
    Try(Vec<Stmt<'t>>, Vec<Vec<Stmt<'t>>>, Vec<Stmt<'t>>),
    Return(Option<Expr<'t>>),
    /// Leaves the block: `break`, `continue`.
    Leave,
    /// Raises an error from an expression.
    Throw(Option<Expr<'t>>),
    /// A function is defined.
    Function(usize),
    /// A name stands for something imported.
    Import {
        name: &'t str,
        path: String,
    },
}

/// A loop; `binds` gives a name to each element of a value.
#[derive(Debug)]
pub(super) struct Loop<'t> {
    pub(super) binds: Option<(Expr<'t>, Expr<'t>)>,
    pub(super) condition: Option<Expr<'t>>,
    pub(super) body: Vec<Stmt<'t>>,
}

/// One case of a switch; the default has no tests.
#[derive(Debug)]
pub(super) struct Case<'t> {
    pub(super) tests: Vec<Expr<'t>>,
    pub(super) body: Vec<Stmt<'t>>,
    /// Whether it goes on in the next case unless it leaves.
    pub(super) falls: bool,
}

/// A parameter.
#[derive(Debug)]
pub(super) struct Param<'t> {
    /// A name, or a pattern.
    pub(super) target: Expr<'t>,
    pub(super) ty: Option<&'t str>,
    /// Whether callers that pass nothing get a text or a number: it is one of a few choices.
    pub(super) optional: bool,
    /// Annotations, decorators and attributes on it, as written.
    pub(super) marks: Vec<&'t str>,
}

/// A function.
#[derive(Debug)]
pub(super) struct Function<'t> {
    /// Empty for one written in place.
    pub(super) name: &'t str,
    pub(super) class: Option<usize>,
    pub(super) params: Vec<Param<'t>>,
    pub(super) body: Vec<Stmt<'t>>,
    /// Decorators, annotations and attributes, as written.
    pub(super) marks: Vec<&'t str>,
    /// Whether code elsewhere can call it.
    pub(super) exported: bool,
    /// Whether it is defined inside another function.
    pub(super) nested: bool,
    /// Where it stands in the text, in bytes.
    pub(super) span: Range<usize>,
}

/// A class: its name, and what its fields are set to.
#[derive(Debug)]
pub(super) struct Class<'t> {
    pub(super) name: &'t str,
    /// How it is declared, up to its body.
    pub(super) head: &'t str,
    pub(super) fields: Vec<Stmt<'t>>,
}

/// A whole file.
#[derive(Debug, Default)]
pub(super) struct Unit<'t> {
    pub(super) body: Vec<Stmt<'t>>,
    pub(super) functions: Vec<Function<'t>>,
    pub(super) classes: Vec<Class<'t>>,
    /// Whether something was too deep to be lowered.
    pub(super) too_deep: bool,
}

impl<'t> Expr<'t> {
    /// Whether it is named as constants are: `SORT_UP`, `Order.DESC`.
    pub(super) fn is_large(&self) -> bool {
        let (Kind::Name(name) | Kind::Member(_, name)) = &self.kind else { return false };
        let has = |class: fn(&u8) -> bool| name.bytes().any(|b| class(&b));
        name.len() > 1 && has(u8::is_ascii_uppercase) && !has(u8::is_ascii_lowercase)
    }

    /// What it reads, as text, where names, members, constant keys and calls with constants lead to it.
    pub(super) fn place(&self) -> Option<String> {
        match &self.kind {
            Kind::Name(name) => Some((*name).to_owned()),
            Kind::Member(object, name) => Some(format!("{}.{name}", object.place()?)),
            Kind::Index(object, key) => match &key.kind {
                Kind::Str(key) => Some(format!("{}[{key}]", object.place()?)),
                Kind::Int(key) => Some(format!("{}[{key}]", object.place()?)),
                // In a text of PHP a key has no quotes.
                Kind::Name(key) => Some(format!("{}[{key}]", object.place()?)),
                _ => None,
            },
            Kind::Call(call) => {
                let constant = |arg: &Arg<'_>| match &arg.value.kind {
                    Kind::Str(text) => Some(text.to_string()),
                    _ => None,
                };
                let args: Option<Vec<String>> = call.args.iter().map(constant).collect();
                Some(format!("{}({})", call.callee.place()?, args?.join(",")))
            }
            _ => None,
        }
    }

    /// The name it is, when it is one.
    pub(super) fn name(&self) -> Option<&'t str> {
        match self.kind {
            Kind::Name(name) => Some(name),
            _ => None,
        }
    }
}
