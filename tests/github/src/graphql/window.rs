//! Pages of lists: `first` and `after`, `last` and `before`.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::json;

use super::{
    Problem,
    execute::Arguments,
    types::{Found, Node, Resolved},
};

/// A window on a list.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    all: Vec<Node>,
    from: usize,
    to: usize,
}

impl Connection {
    /// A page of a list: `first` or `last` is needed, and no more than 100.
    pub(super) fn page(field: &str, all: Vec<Node>, arguments: &Arguments) -> Found {
        let (first, last) = (arguments.number("first"), arguments.number("last"));
        let count = first.or(last).ok_or_else(|| {
        let message = format!("You must provide a `first` or `last` value to properly paginate the `{field}` connection.");
        Problem::new("MISSING_PAGINATION_BOUNDARIES", message)
    })?;
        if count > 100 {
            let message = format!(
                "Requesting {count} records on the `{field}` connection exceeds the `first` limit of 100 records."
            );
            return Err(Problem::new("EXCESSIVE_PAGINATION", message));
        }
        let count = usize::try_from(count).unwrap_or(100);
        let after = position(arguments.text("after")).map_or(0, |at| at + 1).min(all.len());
        let before = position(arguments.text("before")).unwrap_or(all.len()).min(all.len());
        let (from, to) = if first.is_some() {
            (after, (after + count).min(before.max(after)))
        } else {
            (before.saturating_sub(count).max(after), before)
        };
        Ok(Some(Resolved::Node(Node::Connection(Box::new(Connection { all, from, to })))))
    }

    /// A field of the list.
    pub(super) fn field(&self, field: &str) -> Option<Resolved> {
        let shown = &self.all[self.from..self.to];
        match field {
            "nodes" => Some(Resolved::List(shown.to_vec())),
            "edges" => {
                let edge =
                    |(at, node): (usize, &Node)| Node::Edge(Box::new(node.clone()), self.from + at);
                Some(Resolved::List(shown.iter().enumerate().map(edge).collect()))
            }
            "totalCount" => Some(Resolved::Scalar(json!(self.all.len()))),
            "pageInfo" => Some(Resolved::Node(Node::PageInfo(Box::new(self.clone())))),
            _ => None,
        }
    }

    /// A field of what is said about the page.
    pub(super) fn page_info(&self, field: &str) -> Option<Resolved> {
        let some = self.to > self.from;
        let value = match field {
            "hasNextPage" => json!(self.to < self.all.len()),
            "hasPreviousPage" => json!(self.from > 0),
            "startCursor" => json!(some.then(|| cursor(self.from))),
            "endCursor" => json!(some.then(|| cursor(self.to - 1))),
            _ => return None,
        };
        Some(Resolved::Scalar(value))
    }
}

/// The place of a row, opaque.
pub(super) fn cursor(at: usize) -> String {
    STANDARD.encode(format!("cursor:v2:{at}"))
}

fn position(cursor: &str) -> Option<usize> {
    let text = String::from_utf8(STANDARD.decode(cursor).ok()?).ok()?;
    text.strip_prefix("cursor:v2:")?.parse().ok()
}
