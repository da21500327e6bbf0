//! One query on one collection, as Firestore is asked it.

use firestore::gcloud_sdk::google::firestore::v1::{
    ArrayValue, Cursor, StructuredQuery, Value,
    structured_query::{
        CollectionSelector, CompositeFilter, Direction, FieldFilter, FieldReference, Filter, Order,
        Projection, composite_filter::Operator as Join, field_filter::Operator, filter::FilterType,
    },
    value::ValueType,
};

use super::fields::value;

/// Documents' own names, as a field.
pub(super) const NAME: &str = "__name__";

/// What a field is compared with.
#[derive(Debug, Clone)]
pub(super) enum Is {
    Int(i64),
    Text(String),
    Flag(bool),
    /// A document's path below the database's documents.
    Path(String),
    AnyInt(Vec<i64>),
    AnyText(Vec<String>),
}

impl Is {
    fn value(&self, prefix: &str) -> Value {
        let array = |values: Vec<Value>| ValueType::ArrayValue(ArrayValue { values });
        value(match self {
            Self::Int(number) => ValueType::IntegerValue(*number),
            Self::Text(text) => ValueType::StringValue(text.clone()),
            Self::Flag(is) => ValueType::BooleanValue(*is),
            Self::Path(path) => ValueType::ReferenceValue(format!("{prefix}{path}")),
            Self::AnyInt(all) => {
                array(all.iter().map(|one| value(ValueType::IntegerValue(*one))).collect())
            }
            Self::AnyText(all) => {
                array(all.iter().map(|one| value(ValueType::StringValue(one.clone()))).collect())
            }
        })
    }
}

/// A query on one collection.
#[derive(Debug, Clone)]
pub(super) struct Query {
    /// The path of the document whose collection it is; empty for one at the top.
    pub parent: String,
    pub(super) collection: &'static str,
    pub(super) filters: Vec<(&'static str, Operator, Is)>,
    /// The field results are in the order of, before their names; and whether it falls.
    pub(super) order: Option<(&'static str, bool)>,
    /// Go on behind this place in the order.
    after: Vec<Is>,
    limit: i32,
    /// The only fields wanted; none is all.
    select: &'static [&'static str],
}

impl Query {
    pub(super) fn of(collection: &'static str) -> Self {
        Self {
            parent: String::new(),
            collection,
            filters: Vec::new(),
            order: None,
            after: Vec::new(),
            limit: 0,
            select: &[],
        }
    }

    pub(super) fn with(mut self, field: &'static str, operator: Operator, is: Is) -> Self {
        self.filters.push((field, operator, is));
        self
    }

    pub(super) fn some(self, field: &'static str, is: Option<Is>) -> Self {
        match is {
            Some(is @ (Is::AnyInt(_) | Is::AnyText(_))) => self.with(field, Operator::In, is),
            Some(is) => self.with(field, Operator::Equal, is),
            None => self,
        }
    }

    pub(super) fn rising(self, field: &'static str) -> Self {
        Self { order: Some((field, false)), ..self }
    }

    pub(super) fn falling(self, field: &'static str) -> Self {
        Self { order: Some((field, true)), ..self }
    }

    /// Below this document, not at the top.
    pub(super) fn below(self, parent: String) -> Self {
        Self { parent, ..self }
    }

    /// Only these fields.
    pub(super) fn select(self, select: &'static [&'static str]) -> Self {
        Self { select, ..self }
    }

    /// At most so many; 0 is all.
    pub(super) fn limit(self, limit: usize) -> Self {
        Self { limit: i32::try_from(limit).unwrap_or(i32::MAX), ..self }
    }

    /// Goes on behind the document at this path, whose field of the order is `at`.
    pub(super) fn behind(mut self, at: Option<i64>, path: &str) -> Self {
        self.after = at.map(Is::Int).into_iter().chain([Is::Path(path.to_owned())]).collect();
        self
    }

    /// What is asked of the server. `prefix` is what all names of the database begin with.
    pub(super) fn ask(&self, prefix: &str) -> StructuredQuery {
        let select = Projection { fields: self.select.iter().map(|name| field(name)).collect() };
        let from = CollectionSelector {
            collection_id: self.collection.to_owned(),
            all_descendants: false,
        };
        let falls = self.order.is_some_and(|(_, falls)| falls);
        let direction = if falls { Direction::Descending } else { Direction::Ascending };
        let orders = self.order.iter().map(|(name, _)| *name).chain([NAME]);
        let order = |name| Order { field: Some(field(name)), direction: direction.into() };
        let values = self.after.iter().map(|is| is.value(prefix)).collect();
        StructuredQuery {
            select: (!self.select.is_empty()).then_some(select),
            from: vec![from],
            r#where: self.filter(prefix),
            order_by: orders.map(order).collect(),
            start_at: (!self.after.is_empty()).then_some(Cursor { values, before: false }),
            limit: (self.limit > 0).then_some(self.limit),
            ..StructuredQuery::default()
        }
    }

    fn filter(&self, prefix: &str) -> Option<Filter> {
        let one = |(name, operator, is): &(&'static str, Operator, Is)| Filter {
            filter_type: Some(FilterType::FieldFilter(FieldFilter {
                field: Some(field(name)),
                op: (*operator).into(),
                value: Some(is.value(prefix)),
            })),
        };
        let filters: Vec<Filter> = self.filters.iter().map(one).collect();
        let all = CompositeFilter { op: Join::And.into(), filters };
        let all = Filter { filter_type: Some(FilterType::CompositeFilter(all)) };
        (!self.filters.is_empty()).then_some(all)
    }
}

fn field(path: &str) -> FieldReference {
    FieldReference { field_path: path.to_owned() }
}
