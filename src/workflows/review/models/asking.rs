//! One agent's questions: what was answered before is taken, the rest is asked, and every answer is kept.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    ModelDispatch, ModelUse, Models, Session, Spent,
    answer::{self, Anchored, ModelAnswer},
    elsewhere,
    guidance::Guidance,
    unit::Unit,
};
use crate::{
    analysis::{References, assign_fingerprints},
    base::Result,
    model::{Account, Completed, Cost, ModelError, Progress, Request, Usage, complete},
    workflows::review::state::{AgentReport, Outcome},
};

/// How often files are asked about again that were not shown to be read.
const ROUNDS: usize = 2;

/// Progress is told each time an answer has grown by so many characters.
const PROGRESS_CHARS: usize = 1_000;

/// What a model said about a unit, as it is remembered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Remembered {
    findings: Vec<Anchored>,
    /// The share of the request that was paid for it.
    usage: Usage,
    /// Who said it.
    model: String,
    /// The run that paid.
    #[serde(default)]
    run: String,
}

/// What came of a task so far.
#[derive(Default)]
pub(super) struct Findings {
    of_units: Vec<(Unit, Vec<Anchored>)>,
    unread: BTreeMap<String, String>,
    used: ModelUse,
    /// What of it went for answers that are remembered.
    kept: Usage,
}

impl Findings {
    /// Of a task that has paid so much before.
    pub(super) fn after(before: Spent) -> Self {
        let used = ModelUse { usage: before.lost, ..ModelUse::default() };
        Self { used, ..Self::default() }
    }

    pub(super) fn spent(&self) -> Spent {
        let paid = self.used.usage;
        Spent { paid, lost: paid.less(self.kept) }
    }

    pub(super) fn report(self, dispatch: &ModelDispatch) -> AgentReport {
        let of_unit = |(unit, anchored): &(Unit, Vec<Anchored>)| {
            anchored.iter().filter_map(|a| a.finding(&dispatch.agent, unit)).collect::<Vec<_>>()
        };
        let mut findings: Vec<_> = self.of_units.iter().flat_map(of_unit).collect();
        assign_fingerprints(&mut findings);
        AgentReport {
            findings,
            unread: self.unread,
            model: Some(self.used),
            ..AgentReport::new(&dispatch.agent, dispatch.task, Outcome::Done)
        }
    }
}

/// One agent's questions.
pub(super) struct Asking<'a> {
    pub(super) models: &'a Models,
    pub(super) agent: &'a str,
    pub(super) instructions: String,
    pub(super) guidance: Guidance,
    /// What the change's author says of it. No answer depends on it so much that it would be asked again.
    pub(super) introduction: String,
    /// Which lines of the change's files belong together. The same holds for them.
    pub(super) references: Arc<References>,
    pub(super) session: Session,
    pub(super) account: Account,
}

impl Asking<'_> {
    /// Names what is asked about a unit: by everything that the answer depends on.
    fn key(&self, unit: &Unit) -> String {
        let mut hash = Sha256::new();
        let guidance = self.guidance.of(&[&unit.path]);
        let model = &*self.models.model.info().name;
        for part in [model, self.agent, &*self.instructions, &*guidance] {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(part);
        }
        hash.update(unit.digest());
        hex::encode(hash.finalize())
    }

    /// Takes what was answered before; the units nobody was asked about remain.
    pub(super) async fn recall(
        &self,
        units: Vec<Unit>,
        findings: &mut Findings,
    ) -> Result<Vec<Unit>> {
        let keys: Vec<String> = units.iter().map(|unit| self.key(unit)).collect();
        let known =
            try_join_all(keys.iter().map(|key| self.models.memo.recall::<Remembered>(key))).await?;
        let mut unknown = Vec::new();
        for (unit, known) in units.into_iter().zip(known) {
            match known {
                Some(known) => {
                    let runs = (&*known.run, &*self.account.run);
                    if findings.used.count_known(known.usage, runs) {
                        findings.kept += known.usage;
                    }
                    findings.used.names.insert(known.model);
                    findings.of_units.push((unit, known.findings));
                }
                None => unknown.push(unit),
            }
        }
        Ok(unknown)
    }

    /// Asks about a group; about those files again that were not shown to be read.
    pub(super) async fn ask(
        &self,
        mut units: Vec<Unit>,
        findings: &mut Findings,
    ) -> Result<(), ModelError> {
        for round in 1..=ROUNDS {
            let answered = complete::<ModelAnswer>(&*self.models.model, self.request(&units)).await;
            let answered = answered.inspect_err(|error| findings.used.usage += error.usage)?;
            findings.used.usage += answered.usage;
            findings.used.names.insert(answered.model.clone());
            units = self.take(units, answered, (findings, round == ROUNDS)).await;
            if units.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Takes an answer; answers the units that it does not prove to have read, none of them after the last round.
    async fn take(
        &self,
        units: Vec<Unit>,
        answered: Completed<ModelAnswer>,
        (findings, last): (&mut Findings, bool),
    ) -> Vec<Unit> {
        let Completed { value, usage, model, incomplete } = answered;
        let mut anchored: Vec<Vec<Anchored>> = vec![Vec::new(); units.len()];
        for finding in &value.findings {
            let place = usize::try_from(finding.file).unwrap_or(0).wrapping_sub(1);
            match units.get(place).and_then(|unit| answer::anchor(finding, unit)) {
                Some(found) => anchored[place].push(found),
                None => findings.used.unanchored += 1,
            }
        }
        let all: u64 = units.iter().map(Unit::tokens).sum();
        let mut calls = usage.calls;
        let mut unread = Vec::new();
        for (unit, anchored) in units.into_iter().zip(anchored) {
            let proof = unit.proof();
            if value.read.iter().any(|word| word.trim() == proof) {
                // Together they have the calls once.
                let calls = std::mem::take(&mut calls);
                let usage = Usage { calls, ..share(usage, (unit.tokens(), all)) };
                let (model, run) = (model.clone(), self.account.run.clone());
                let known = Remembered { findings: anchored, usage, model, run };
                if self.models.memo.remember(&self.key(&unit), &known).await {
                    findings.kept += usage;
                }
                findings.of_units.push((unit, known.findings));
            } else if last {
                let why = match incomplete {
                    true => "the model's answer was cut off",
                    false => "the model did not show that it read it",
                };
                let why = format!("{}: {why}", self.agent);
                findings.unread.insert(unit.path.clone(), why);
                findings.of_units.push((unit, anchored));
            } else {
                unread.push(unit);
            }
        }
        unread
    }

    fn request(&self, units: &[Unit]) -> Request {
        let mut prompt = format!("Review these {} files.\n\n{}", units.len(), self.introduction);
        for (number, unit) in (1..).zip(units) {
            unit.write(number, &mut prompt);
        }
        prompt.push_str(&elsewhere::shown(&self.references, units));
        let paths: Vec<&str> = units.iter().map(|unit| unit.path.as_str()).collect();
        let (told, watch) = (AtomicUsize::new(0), self.session.progress.clone());
        let progress = move |progress: &Progress| {
            let now = progress.characters / PROGRESS_CHARS;
            if told.swap(now, Ordering::Relaxed) != now {
                watch(progress);
            }
        };
        Request::new(format!("review.{}", self.agent), self.instructions.clone(), prompt)
            .with_context(self.guidance.of(&paths))
            .paid_by(self.account.clone())
            .cancelled_by(self.session.cancel.clone())
            .reporting(progress)
    }
}

/// The share of a request that went for a part of it.
fn share(usage: Usage, (part, all): (u64, u64)) -> Usage {
    let of = |tokens: u64| tokens.saturating_mul(part) / all.max(1);
    Usage {
        calls: 0,
        input: of(usage.input),
        output: of(usage.output),
        cached: of(usage.cached),
        cost: Cost(of(usage.cost.0)),
    }
}
