//! Selections on nodes: each field asked of its type, nested ones in turn.

use serde_json::{Map, Value, json};

use super::{
    Problem, mutations,
    parse::{Document, Field, Selection},
    types::{self, Node, Resolved},
};
use crate::{api::identity::Identity, world::World};

/// A query being answered.
pub(super) struct Execution<'a> {
    pub(super) world: &'a mut World,
    pub(super) who: &'a Identity,
    document: &'a Document,
    variables: Map<String, Value>,
    /// Errors of fields, whose value is null.
    pub(super) problems: Vec<Value>,
}

/// The arguments of a field.
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    pub(super) fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    /// The object that mutations take.
    pub(super) fn input(&self, name: &str) -> &str {
        self.0.get("input").and_then(|input| input[name].as_str()).unwrap_or_default()
    }
}

impl<'a> Execution<'a> {
    pub(super) fn new(
        world: &'a mut World,
        who: &'a Identity,
        document: &'a Document,
        given: Map<String, Value>,
    ) -> Self {
        let mut variables: Map<_, _> = document.defaults.clone().into_iter().collect();
        variables.extend(given);
        Self { world, who, document, variables, problems: Vec::new() }
    }

    /// The data of the whole document.
    pub(super) fn run(&mut self) -> Result<Value, Problem> {
        let root = if self.document.mutation { Node::Mutation } else { Node::Query };
        self.select(&root, &self.document.selections, &mut Vec::new())
    }

    fn select(
        &mut self,
        node: &Node,
        selections: &[Selection],
        path: &mut Vec<String>,
    ) -> Result<Value, Problem> {
        let mut data = Map::new();
        for field in self.fields(node, selections) {
            let key = field.alias.clone().unwrap_or_else(|| field.name.clone());
            path.push(key.clone());
            let value = self.field(node, &field, path)?;
            path.pop();
            data.insert(key, value);
        }
        Ok(Value::Object(data))
    }

    /// The fields of a selection, with fragments of the node's type put in.
    fn fields(&self, node: &Node, selections: &[Selection]) -> Vec<Field> {
        let fits = |on: &str| types::is_a(self.world, node, on);
        let mut fields = Vec::new();
        for selection in selections {
            match selection {
                Selection::Field(field) => fields.push(field.clone()),
                Selection::Inline(on, inner) if on.as_deref().is_none_or(fits) => {
                    fields.extend(self.fields(node, inner));
                }
                Selection::Spread(name) => {
                    let fragment = self.document.fragments.get(name).filter(|(on, _)| fits(on));
                    fields.extend(
                        fragment.map(|(_, inner)| self.fields(node, inner)).unwrap_or_default(),
                    );
                }
                Selection::Inline(..) => {}
            }
        }
        fields
    }

    fn field(
        &mut self,
        node: &Node,
        field: &Field,
        path: &mut Vec<String>,
    ) -> Result<Value, Problem> {
        if field.name == "__typename" {
            return Ok(json!(types::name(self.world, node)));
        }
        let arguments = field
            .arguments
            .iter()
            .map(|(name, value)| (name.clone(), value.value(&self.variables)));
        let arguments = Arguments(arguments.collect());
        let resolved = match node {
            Node::Mutation => mutations::run(self.world, self.who, &field.name, &arguments),
            _ => types::resolve(self.world, self.who, node, &field.name, &arguments),
        };
        match resolved {
            Ok(resolved) => self.complete(resolved, field, path),
            Err(problem) if problem.kind.is_none() => Err(problem),
            Err(problem) => {
                self.problems.push(problem.shape(path));
                Ok(Value::Null)
            }
        }
    }

    fn complete(
        &mut self,
        resolved: Resolved,
        field: &Field,
        path: &mut Vec<String>,
    ) -> Result<Value, Problem> {
        let bare = field.selections.is_empty();
        match resolved {
            Resolved::Scalar(value) if bare => Ok(value),
            Resolved::Scalar(_) => Err(Problem::invalid(format!(
                "Selections can't be made on scalars (field '{}')",
                field.name
            ))),
            Resolved::Nothing => Ok(Value::Null),
            _ if bare => Err(Problem::invalid(format!(
                "Field must have selections (field '{}')",
                field.name
            ))),
            Resolved::Node(node) => self.select(&node, &field.selections, path),
            Resolved::List(nodes) => nodes
                .iter()
                .map(|node| self.select(node, &field.selections, path))
                .collect::<Result<_, _>>(),
        }
    }
}
