//! The query language: one operation, its fields, arguments and fragments.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A query or mutation with its fragments.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) mutation: bool,
    pub(super) selections: Vec<Selection>,
    pub(super) fragments: BTreeMap<String, (String, Vec<Selection>)>,
    /// Values of variables that are not given.
    pub(super) defaults: BTreeMap<String, Value>,
}

/// One entry between braces.
#[derive(Clone, Debug)]
pub(super) enum Selection {
    Field(Field),
    /// `... on Type { … }`
    Inline(Option<String>, Vec<Selection>),
    /// `...Name`
    Spread(String),
}

/// A field with what is asked of it.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) alias: Option<String>,
    pub(super) name: String,
    pub(super) arguments: Vec<(String, Argument)>,
    pub(super) selections: Vec<Selection>,
}

/// The value of an argument.
#[derive(Clone, Debug)]
pub(super) enum Argument {
    Variable(String),
    Plain(Value),
    List(Vec<Argument>),
    Object(Vec<(String, Argument)>),
}

impl Argument {
    /// The value, with variables put in.
    pub(super) fn value(&self, variables: &Map<String, Value>) -> Value {
        match self {
            Self::Variable(name) => variables.get(name).cloned().unwrap_or(Value::Null),
            Self::Plain(value) => value.clone(),
            Self::List(items) => items.iter().map(|item| item.value(variables)).collect(),
            Self::Object(fields) => fields
                .iter()
                .map(|(name, field)| (name.clone(), field.value(variables)))
                .collect::<Map<_, _>>()
                .into(),
        }
    }
}

type Parsed<T> = Result<T, String>;

/// Parses a document.
pub(super) fn parse(text: &str) -> Parsed<Document> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0 };
    let mut document = Document::default();
    while let Some(token) = parser.peek() {
        match token.as_str() {
            "{" => document.selections = parser.selections()?,
            "query" | "mutation" => {
                document.mutation = parser.next()? == "mutation";
                parser.variables(&mut document.defaults)?;
                document.selections = parser.selections()?;
            }
            "fragment" => parser.fragment(&mut document)?,
            other => return Err(format!("Parse error on {other:?}")),
        }
    }
    if document.selections.is_empty() {
        Err("A query attribute must be specified and must be a string.".to_owned())
    } else {
        Ok(document)
    }
}

fn tokens(text: &str) -> Parsed<Vec<String>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            ' ' | '\n' | '\t' | '\r' | ',' => {
                rest = &rest[1..];
                continue;
            }
            '#' => {
                rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
                continue;
            }
            '.' if rest.starts_with("...") => 3,
            '"' => string_length(rest)?,
            c if word(c) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        tokens.push(rest[..length].to_owned());
        rest = &rest[length..];
    }
    Ok(tokens)
}

fn word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

fn string_length(text: &str) -> Parsed<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return Ok(at + 1),
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    Err("Parse error: a string without an end".to_owned())
}

struct Parser {
    tokens: Vec<String>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Option<&String> {
        self.tokens.get(self.at)
    }

    fn is(&self, token: &str) -> bool {
        self.peek().is_some_and(|next| next == token)
    }

    fn next(&mut self) -> Parsed<String> {
        let token = self.peek().cloned().ok_or("Unexpected end of document")?;
        self.at += 1;
        Ok(token)
    }

    /// Takes a token if it comes next.
    fn take(&mut self, token: &str) -> bool {
        let found = self.is(token);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, token: &str) -> Parsed<()> {
        let found = self.next()?;
        if found == token { Ok(()) } else { Err(format!("Expected {token:?}, actual: {found:?}")) }
    }

    /// `Name($a: Type! = default)`, both optional; types are not checked.
    fn variables(&mut self, defaults: &mut BTreeMap<String, Value>) -> Parsed<()> {
        if !self.is("(") && !self.is("{") {
            self.next()?;
        }
        if !self.take("(") {
            return Ok(());
        }
        let mut name = String::new();
        while !self.take(")") {
            if self.take("$") {
                name = self.next()?;
            } else if self.take("=") {
                let value = self.argument()?.value(&Map::new());
                defaults.insert(name.clone(), value);
            } else {
                self.next()?;
            }
        }
        Ok(())
    }

    fn fragment(&mut self, document: &mut Document) -> Parsed<()> {
        self.expect("fragment")?;
        let name = self.next()?;
        self.expect("on")?;
        let on = self.next()?;
        let selections = self.selections()?;
        document.fragments.insert(name, (on, selections));
        Ok(())
    }

    fn selections(&mut self) -> Parsed<Vec<Selection>> {
        self.expect("{")?;
        let mut selections = Vec::new();
        while !self.take("}") {
            selections.push(self.selection()?);
        }
        Ok(selections)
    }

    fn selection(&mut self) -> Parsed<Selection> {
        if self.take("...") {
            if self.is("{") {
                return Ok(Selection::Inline(None, self.selections()?));
            }
            let name = self.next()?;
            if name != "on" {
                return Ok(Selection::Spread(name));
            }
            let on = self.next()?;
            return Ok(Selection::Inline(Some(on), self.selections()?));
        }
        let mut name = self.next()?;
        let mut alias = None;
        if self.take(":") {
            alias = Some(std::mem::replace(&mut name, self.next()?));
        }
        let arguments = if self.take("(") { self.fields(")")? } else { Vec::new() };
        let selections = if self.is("{") { self.selections()? } else { Vec::new() };
        Ok(Selection::Field(Field { alias, name, arguments, selections }))
    }

    fn fields(&mut self, end: &str) -> Parsed<Vec<(String, Argument)>> {
        let mut fields = Vec::new();
        while !self.take(end) {
            let name = self.next()?;
            self.expect(":")?;
            fields.push((name, self.argument()?));
        }
        Ok(fields)
    }

    fn argument(&mut self) -> Parsed<Argument> {
        let token = self.next()?;
        match token.as_str() {
            "$" => self.next().map(Argument::Variable),
            "{" => self.fields("}").map(Argument::Object),
            "[" => {
                let mut items = Vec::new();
                while !self.take("]") {
                    items.push(self.argument()?);
                }
                Ok(Argument::List(items))
            }
            // Numbers, strings and literals are JSON's; anything else is the name of an enum's value.
            text => Ok(Argument::Plain(serde_json::from_str(text).unwrap_or(Value::String(token)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_variables_aliases_fragments_and_objects() {
        let text = r#"
            query Threads($n: Int! = 7, $list: [ID!]) { # a comment
              a: repository(owner: "o\"x", name: $name) { ...F ... on Thing { id } }
              m(input: {id: $id, kind: OUTDATED, list: [1, "b"]})
            }
            fragment F on Repository { name }"#;
        let document = parse(text).unwrap();
        assert_eq!(
            (document.mutation, document.selections.len(), document.fragments.len()),
            (false, 2, 1)
        );
        assert_eq!(document.defaults["n"], 7);
        let Selection::Field(field) = &document.selections[1] else { panic!("no field") };
        let variables = serde_json::json!({"id": 5}).as_object().cloned().unwrap();
        let expected = serde_json::json!({"id": 5, "kind": "OUTDATED", "list": [1, "b"]});
        assert_eq!(field.arguments[0].1.value(&variables), expected);
    }

    #[test]
    fn refuses_what_is_no_query() {
        assert!(
            parse("").is_err() && parse("{ a").is_err() && parse("query { a(b: \"c) }").is_err()
        );
    }
}
