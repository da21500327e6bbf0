//! Every query the store makes. Firestore answers none without an index for it: what these need
//! beyond the automatic ones, and what they spare, is in `deploy/firestore/firestore.indexes.json`,
//! and a test below compares.

use firestore::gcloud_sdk::google::firestore::v1::structured_query::field_filter::Operator;

use super::{
    paths,
    query::{Is, NAME, Query},
};
use verdict_graph::{
    base::Timestamp,
    store::{LetterState, RunId, RunStatus, WaitingFor},
};

/// How many groups runs that may be due are spread over: an index of times alone takes only so many
/// writes a second.
pub(super) const SHARDS: i64 = 16;

/// Runs, the newest first.
pub(super) fn newest(statuses: &[RunStatus], workflow: Option<&str>) -> Query {
    let words = statuses.iter().map(|status| status.as_str().to_owned()).collect();
    let status = (!statuses.is_empty()).then_some(Is::AnyText(words));
    let workflow = workflow.map(|name| Is::Text(name.to_owned()));
    Query::of("runs").some("status", status).some("workflow", workflow).falling("created_at")
}

/// Runs that wait for one of these, the newest first.
pub(super) fn waiting(kinds: &[WaitingFor]) -> Query {
    let words = kinds.iter().map(|kind| kind.as_str().to_owned()).collect();
    Query::of("runs").some("waiting", Some(Is::AnyText(words))).falling("created_at")
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
    Query::of("letters")
        .select(super::letters::BARE)
        .some("state", state.map(|state| Is::Text(state.to_owned())))
        .some("confirmed", confirmed.map(Is::Flag))
        .falling("last_at")
}

/// Letters settled, and last written by then.
pub(super) fn settled(by: Timestamp) -> Query {
    let settled = [LetterState::Replayed, LetterState::Discarded].map(LetterState::as_str);
    Query::of("letters")
        .select(super::letters::BARE)
        .some("state", Some(Is::AnyText(settled.map(str::to_owned).into())))
        .with("last_at", Operator::LessThanOrEqual, Is::Int(by.0))
        .rising("last_at")
}

/// Open letters of a run.
pub(super) fn open_dead_letters(run: &RunId) -> Query {
    let open = LetterState::Open.to_string();
    let query = Query::of("letters").some("run", Some(Is::Text(run.as_str().to_owned())));
    query.some("state", Some(Is::Text(open))).select(&[NAME]).limit(1)
}

/// Documents of these collections whose `ends` has passed.
pub(super) fn over(collection: &'static str, by: Timestamp) -> Query {
    Query::of(collection).with("ends", Operator::LessThanOrEqual, Is::Int(by.0)).rising("ends")
}

/// The events of a key, the oldest first.
pub(super) fn events(key: &str) -> Query {
    Query::of(paths::EVENTS).some("key", Some(Is::Text(key.to_owned()))).rising("at")
}

/// Who waits for events of a key.
pub(super) fn event_waits(key: &str) -> Query {
    Query::of(paths::EVENT_WAITS).some("key", Some(Is::Text(key.to_owned())))
}

/// What one incarnation of a run had, named behind that, in a collection below it.
fn of_incarnation(run: &RunId, collection: &'static str, incarnation: &str, after: &str) -> Query {
    let parent = paths::run(run);
    // What follows the token is digits of hex: all of it lies before a `g`.
    let [from, to] =
        [after, "g"].map(|name| Is::Path(format!("{parent}/{collection}/{incarnation}-{name}")));
    let query = Query::of(collection).below(parent);
    query.with(NAME, Operator::GreaterThan, from).with(NAME, Operator::LessThan, to)
}

/// Records of a run behind this number.
pub(super) fn records(run: &RunId, incarnation: &str, after: u64) -> Query {
    of_incarnation(run, "records", incarnation, &format!("{after:012}"))
}

/// Which parts a run's records have.
pub(super) fn packs(run: &RunId, incarnation: &str) -> Query {
    of_incarnation(run, "records", incarnation, "").select(&["token", "parts"])
}

/// The names of a run's interrupts.
pub(super) fn asks(run: &RunId, incarnation: &str) -> Query {
    of_incarnation(run, "asks", incarnation, "").select(&[NAME])
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, time::Duration};

    use bytes::Bytes;
    use serde::Deserialize;

    use super::{
        super::{
            body, events as external, fields::Fields, key_value, leftovers, letters, open, resume,
            row::Row,
        },
        *,
    };
    use verdict_graph::{
        rules,
        store::{
            ClaimAs, EventWait, ExternalEvent, Letter, LetterReason, NewRun, StoredRecord, Waiting,
        },
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
            waiting(&[WaitingFor::Person, WaitingFor::Time]),
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
            open_dead_letters(&run),
            over(paths::KEY_VALUES, now),
            over("leftovers", now),
            over(paths::EVENTS, now),
            over(paths::EVENT_WAITS, now),
            events("k"),
            event_waits("k"),
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
        let mut waiting = rules::born(&new_run(), false, Timestamp(1)).0;
        waiting.waiting = Some(Waiting::Limit);
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
        let [head, ended] = heads();
        let (key, id, run) = ("k".to_owned(), "i".to_owned(), RunId::of("w", "k"));
        let event = ExternalEvent { key: key.clone(), id: id.clone(), payload: Bytes::new() };
        let wait = EventWait { key, run, interrupt: id };
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
            (paths::KEY_VALUES, key_value::entry_fields(Bytes::new(), now, "t")),
            (paths::EVENTS, external::event_fields(&event, now, now)),
            (paths::EVENT_WAITS, external::wait_fields(&wait, now)),
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
