//! What of a log still counts after its reopenings.
//!
//! A reopening from step N voids what came after step N, how step N was closed, and the results of
//! the tasks it runs again. The void records stay in the log for whoever reads its history.

use std::collections::HashSet;

use super::{
    path::StepRef,
    record::{Meta, Record, Redo},
};

/// The records that still count, in order, and the interrupts that do not.
pub(super) fn effective<U>(records: Vec<Record<U>>) -> (Vec<Record<U>>, HashSet<String>) {
    let mut void = HashSet::new();
    let reopens =
        |record: &Record<U>| record.path.is_empty() && matches!(record.meta, Meta::Reopened { .. });
    if !records.iter().any(reopens) {
        return (records, void);
    }
    let mut kept: Vec<Record<U>> = Vec::with_capacity(records.len());
    for record in records {
        match &record.meta {
            Meta::Reopened { from, redo, .. } if record.path.is_empty() => {
                rewind(&mut kept, *from, *redo, &mut void)
            }
            Meta::Resumed { id, .. } if void.contains(id) => continue,
            _ => {}
        }
        kept.push(record);
    }
    (kept, void)
}

fn rewind<U>(kept: &mut Vec<Record<U>>, from: u32, redo: Redo, void: &mut HashSet<String>) {
    // A subgraph's records go and stay with the task it is in; its executor reopens what stays.
    let inside = |record: &Record<U>| record.path.places().first().map(|place| place.step);
    kept.retain(|record| match inside(record) {
        Some(step) => {
            let stays = step < from || (step == from && redo == Redo::Failed);
            if let Meta::Interrupted { id, .. } = &record.meta
                && !stays
            {
                void.insert(id.clone());
            }
            stays
        }
        None => true,
    });
    kept.retain(|record| match &record.meta {
        _ if !record.path.is_empty() => true,
        Meta::StepFinished { step, .. } => *step < from,
        Meta::TaskFinished { step, fault, .. } => {
            let again = redo == Redo::All || fault.is_some();
            *step < from || (*step == from && !again)
        }
        Meta::Parked { step, .. } => *step <= from,
        Meta::Interrupted { step, id, .. } => {
            if *step > from {
                void.insert(id.clone());
            }
            *step <= from
        }
        Meta::Resumed { id, .. } => !void.contains(id),
        Meta::Reopened { from: earlier, .. } => *earlier <= from,
        Meta::Finished { .. } | Meta::Superseded { .. } | Meta::Cancelled { .. } => false,
        _ => true,
    });
}

/// The records up to the end of a step, for a fork or a look at the past; the run's own ends,
/// letters and reopenings (already applied) are left behind. `None` if the step never finished.
pub(super) fn prefix<U>(records: Vec<Record<U>>, until: &StepRef) -> Option<Vec<Record<U>>> {
    let mut prefix: Vec<Record<U>> = Vec::new();
    for record in effective(records).0 {
        let own = matches!(
            record.meta,
            Meta::Reopened { .. }
                | Meta::Letter { .. }
                | Meta::LetterConfirmed { .. }
                | Meta::Finished { .. }
                | Meta::Superseded { .. }
                | Meta::Cancelled { .. }
                | Meta::Forked { .. }
        );
        if own && record.path.is_empty() {
            continue;
        }
        let last = until.is_in(&record.path)
            && match record.meta {
                Meta::Started { .. } => until.step == 0,
                Meta::StepFinished { step, .. } => step == until.step,
                _ => false,
            };
        prefix.push(record);
        if last {
            return Some(prefix);
        }
    }
    None
}
