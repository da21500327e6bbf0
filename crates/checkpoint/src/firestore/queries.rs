//! Every query the store makes. Firestore answers none without an index for it: what these need
//! beyond the automatic ones, and what they spare, is in `deploy/firestore/firestore.indexes.json`,
//! and a test below compares.

use firestore::gcloud_sdk::google::firestore::v1::{
    ArrayValue, Cursor, StructuredQuery, Value,
    structured_query::{
        CollectionSelector, CompositeFilter, Direction, FieldFilter, FieldReference, Filter, Order,
        Projection, composite_filter::Operator as Join, field_filter::Operator, filter::FilterType,
    },
    value::ValueType,
};

use super::{fields::value, paths};
use verdict_graph::{
    base::Timestamp,
    store::{LetterState, RunId, RunStatus},
};

/// Documents' own names, as a field.
const NAME: &str = "__name__";

/// How many groups runs that may be due are spread over: an index of times alone takes only so many
/// writes a second.
pub(super) const SHARDS: i64 = 16;

/// What a field is compared with.
#[derive(Debug, Clone)]
enum Is {
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
    collection: &'static str,
    filters: Vec<(&'static str, Operator, Is)>,
    /// The field results are in the order of, before their names; and whether it falls.
    order: Option<(&'static str, bool)>,
    /// Go on behind this place in the order.
    after: Vec<Is>,
    limit: i32,
    /// The only fields wanted; none is all.
    select: &'static [&'static str],
}

impl Query {
    fn of(collection: &'static str) -> Self {
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

    fn with(mut self, field: &'static str, operator: Operator, is: Is) -> Self {
        self.filters.push((field, operator, is));
        self
    }

    fn some(self, field: &'static str, is: Option<Is>) -> Self {
        match is {
            Some(is @ (Is::AnyInt(_) | Is::AnyText(_))) => self.with(field, Operator::In, is),
            Some(is) => self.with(field, Operator::Equal, is),
            None => self,
        }
    }

    fn rising(self, field: &'static str) -> Self {
        Self { order: Some((field, false)), ..self }
    }

    fn falling(self, field: &'static str) -> Self {
        Self { order: Some((field, true)), ..self }
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

/// Runs, the newest first.
pub(super) fn newest(statuses: &[RunStatus], workflow: Option<&str>) -> Query {
    let words = statuses.iter().map(|status| status.as_str().to_owned()).collect();
    let status = (!statuses.is_empty()).then_some(Is::AnyText(words));
    let workflow = workflow.map(|name| Is::Text(name.to_owned()));
    Query::of("runs").some("status", status).some("workflow", workflow).falling("created_at")
}

/// Runs about a subject.
pub(super) fn about(subject: &str) -> Query {
    Query::of("runs").some("about", Some(Is::Text(subject.to_owned())))
}

/// Runs whose id begins so.
pub(super) fn named(prefix: &str) -> Query {
    // Ids are hex: all that begin so lie between the prefix and the prefix with a `g`.
    Query::of("runs")
        .with(NAME, Operator::GreaterThanOrEqual, Is::Path(format!("runs/{prefix}")))
        .with(NAME, Operator::LessThan, Is::Path(format!("runs/{prefix}g")))
}

/// Unfinished runs about a subject.
pub(super) fn unfinished(subject: &str) -> Query {
    about(subject).some("live", Some(Is::Flag(true)))
}

/// Runs about a subject, not superseded, of a higher order.
pub(super) fn higher(subject: &str, order: i64) -> Query {
    about(subject).with("rank", Operator::GreaterThan, Is::Int(order)).rising("rank")
}

/// Runs that may be due since then, the longest overdue first.
pub(super) fn due(since: Timestamp) -> Query {
    Query::of("runs")
        .some("shard", Some(Is::AnyInt((0..SHARDS).collect())))
        .with("due_at", Operator::LessThanOrEqual, Is::Int(since.0))
        .rising("due_at")
}

/// Runs that ended by then, those longest unchanged first.
pub(super) fn ended(by: Timestamp) -> Query {
    Query::of("runs").with("ended_at", Operator::LessThanOrEqual, Is::Int(by.0)).rising("ended_at")
}

/// Letters, the newest first.
pub(super) fn letters(state: Option<&str>, confirmed: Option<bool>) -> Query {
    Query { select: super::letters::BARE, ..Query::of("letters") }
        .some("state", state.map(|state| Is::Text(state.to_owned())))
        .some("confirmed", confirmed.map(Is::Flag))
        .falling("last_at")
}

/// Letters settled, and last written by then.
pub(super) fn settled(by: Timestamp) -> Query {
    let settled = [LetterState::Replayed, LetterState::Discarded].map(LetterState::as_str);
    Query { select: super::letters::BARE, ..Query::of("letters") }
        .some("state", Some(Is::AnyText(settled.map(str::to_owned).into())))
        .with("last_at", Operator::LessThanOrEqual, Is::Int(by.0))
        .rising("last_at")
}

/// Open letters of a run.
pub(super) fn mourning(run: &RunId) -> Query {
    let open = LetterState::Open.to_string();
    let query = Query::of("letters").some("run", Some(Is::Text(run.as_str().to_owned())));
    Query { select: &[NAME], ..query.some("state", Some(Is::Text(open))).limit(1) }
}

/// Documents of these collections whose `ends` has passed.
pub(super) fn over(collection: &'static str, by: Timestamp) -> Query {
    Query::of(collection).with("ends", Operator::LessThanOrEqual, Is::Int(by.0)).rising("ends")
}

/// What a run had in its life, named behind that, in a collection below it.
fn of_life(run: &RunId, collection: &'static str, life: &str, after: &str) -> Query {
    let parent = paths::run(run);
    // What follows the token is digits of hex: all of it lies before a `g`.
    let [from, to] =
        [after, "g"].map(|name| Is::Path(format!("{parent}/{collection}/{life}-{name}")));
    let query = Query { parent, ..Query::of(collection) };
    query.with(NAME, Operator::GreaterThan, from).with(NAME, Operator::LessThan, to)
}

/// Records of a run behind this number.
pub(super) fn records(run: &RunId, life: &str, after: u64) -> Query {
    of_life(run, "records", life, &format!("{after:012}"))
}

/// Which parts a run's records have.
pub(super) fn packs(run: &RunId, life: &str) -> Query {
    Query { select: &["token", "parts"], ..of_life(run, "records", life, "") }
}

/// The names of a run's interrupts.
pub(super) fn asks(run: &RunId, life: &str) -> Query {
    Query { select: &[NAME], ..of_life(run, "asks", life, "") }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, time::Duration};

    use bytes::Bytes;
    use serde::Deserialize;

    use super::{
        super::{body, fields::Fields, keyed, leftovers, letters, open, resume, row::Row},
        *,
    };
    use verdict_graph::{
        budget::Bucket,
        rules,
        store::{ClaimAs, Letter, LetterReason, NewRun, StoredRecord},
    };

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct File {
        indexes: Vec<Composite>,
        field_overrides: Vec<Override>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Composite {
        collection_group: String,
        query_scope: String,
        fields: Vec<Part>,
    }

    #[derive(Deserialize, Debug, PartialEq, Clone)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Part {
        field_path: String,
        order: String,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Override {
        collection_group: String,
        field_path: String,
        #[serde(default)]
        ttl: bool,
        indexes: Vec<serde_json::Value>,
    }

    fn file() -> File {
        let text = include_str!("../../../../deploy/firestore/firestore.indexes.json");
        serde_json::from_str(text).unwrap()
    }

    fn queries() -> Vec<Query> {
        let (run, now) = (RunId::of("w", "k"), Timestamp(7));
        let two = [RunStatus::Queued, RunStatus::Parked];
        vec![
            newest(&[], None),
            newest(&two, None),
            newest(&[], Some("w")),
            newest(&two, Some("w")),
            about("s"),
            named("ab"),
            unfinished("s"),
            higher("s", 1),
            due(now),
            ended(now),
            letters(None, None),
            letters(Some("open"), None),
            letters(None, Some(true)),
            letters(Some("open"), Some(true)),
            settled(now),
            mourning(&run),
            over("keyed", now),
            over("buckets", now),
            over("leftovers", now),
            records(&run, "l", 3),
            packs(&run, "l"),
            asks(&run, "l"),
        ]
    }

    fn equal(operator: &Operator) -> bool {
        matches!(operator, Operator::Equal | Operator::In)
    }

    /// The composite index the query needs; none when an automatic one will do.
    fn needs(query: &Query) -> Option<Vec<Part>> {
        let part = |name: &str, falls: bool| Part {
            field_path: name.to_owned(),
            order: if falls { "DESCENDING" } else { "ASCENDING" }.to_owned(),
        };
        let mut parts: Vec<Part> = query
            .filters
            .iter()
            .filter(|(name, operator, _)| equal(operator) && *name != NAME)
            .map(|(name, ..)| part(name, false))
            .collect();
        parts.extend(query.order.map(|(name, falls)| part(name, falls)));
        (parts.len() > 1).then_some(parts)
    }

    #[test]
    fn every_query_has_its_index_and_no_index_is_idle() {
        let file = file();
        let mut used = BTreeSet::new();
        for query in queries() {
            // What is compared by more than equality is what the results are ordered by.
            assert!(query.filters.iter().all(|(name, operator, _)| {
                equal(operator) || *name == NAME || query.order.is_some_and(|(by, _)| by == *name)
            }));
            let Some(parts) = needs(&query) else { continue };
            let found = file.indexes.iter().position(|index| {
                index.collection_group == query.collection && index.fields == parts
            });
            used.insert(found.unwrap_or_else(|| panic!("no index for {query:?}")));
        }
        assert!(file.indexes.iter().all(|index| index.query_scope == "COLLECTION"));
        assert_eq!(used.len(), file.indexes.len(), "an index that no query uses: {used:?}");
    }

    fn new_run() -> NewRun {
        NewRun {
            id: RunId::of("w", "k"),
            workflow: "w".to_owned(),
            workflow_version: 1,
            key: "k".to_owned(),
            subject: Some("s".to_owned()),
            order: 1,
            not_before: Some(Timestamp(1)),
            records: Vec::new(),
            asks: Vec::new(),
            superseded: StoredRecord { meta: Bytes::new(), payload: None },
            claim: None,
        }
    }

    /// Two heads, which have all fields between them.
    fn heads() -> [Fields; 2] {
        let by = ClaimAs { owner: "o".to_owned(), ttl: Duration::from_secs(1) };
        let waiting = rules::born(&new_run(), false, Timestamp(1)).0;
        let held = rules::born(&NewRun { claim: Some(by), ..new_run() }, false, Timestamp(1)).0;
        let mut ended = Row::new(held.clone(), 1);
        ended.head.status = RunStatus::Completed;
        ended.head.error = Some("e".to_owned());
        (ended.claimed, ended.stopped) = (Some(1), Some(1));
        ended.last = Some((1, 1));
        let mut all = Row::new(waiting, 1).fields();
        all.0.extend(Row::new(held, 1).fields().0);
        [all, ended.fields()]
    }

    fn some_letter() -> Letter {
        Letter {
            id: "l".to_owned(),
            reason: LetterReason::Permanent,
            state: LetterState::Open,
            run: Some(RunId::of("w", "k")),
            workflow: Some("w".to_owned()),
            node: Some("n".to_owned()),
            error: "e".to_owned(),
            executions: 1,
            first_at: Timestamp(1),
            last_at: Timestamp(1),
            headers: [].into(),
            payload: Bytes::new(),
            confirmed: false,
        }
    }

    /// Documents of each collection, as they are written.
    fn written() -> Vec<(&'static str, Fields)> {
        let now = Timestamp(1);
        let bucket = Bucket { units: 1.0, as_of: now, full_at: now };
        let [head, ended] = heads();
        vec![
            ("runs", head),
            ("runs", ended),
            ("records", body::inline(vec![1])),
            ("records", body::apart("t", 2)),
            ("parts", body::inline(vec![1])),
            ("asks", resume::ask_fields(Some((1, 2)), "t")),
            ("subjects", open::subject_fields("t", now)),
            ("leftovers", leftovers::parts_fields(1, now, true)),
            ("leftovers", leftovers::run_fields(&RunId::of("w", "k"), now)),
            ("letters", letters::fields(&some_letter())),
            ("letters", body::inline(vec![1])),
            ("letters", body::apart("t", 2)),
            ("keyed", keyed::value_fields(Bytes::new(), now, "t", true)),
            ("buckets", keyed::bucket_fields(bucket, "t")),
        ]
    }

    #[test]
    fn a_field_is_indexed_by_itself_exactly_when_a_query_looks_at_it() {
        let file = file();
        let mut looked_at = BTreeSet::new();
        for query in queries().iter().filter(|query| needs(query).is_none()) {
            let names = query.filters.iter().map(|(name, ..)| *name).filter(|name| *name != NAME);
            let names = names.chain(query.order.map(|(name, _)| name));
            looked_at.extend(names.map(|name| (query.collection, name)));
        }
        let mut known = BTreeSet::new();
        for (group, fields) in written() {
            for name in fields.0.into_keys() {
                let exempt = file
                    .field_overrides
                    .iter()
                    .any(|one| one.collection_group == group && one.field_path == name);
                let indexed = looked_at.contains(&(group, name.as_str()));
                assert_eq!(exempt, !indexed, "{group}.{name}");
                known.insert((group, name));
            }
        }
        for one in &file.field_overrides {
            assert!(one.indexes.is_empty());
            assert_eq!(one.ttl, one.field_path == "expire_at");
            let (group, name) = (one.collection_group.as_str(), one.field_path.clone());
            assert!(known.iter().any(|known| *known == (group, name.clone())), "{group}.{name}");
        }
    }
}
