//! A second opinion on what models found: another request than the finder's reads the rows again, and may drop, merge or lower a
//! finding. It can add nothing, and without it everything stays.

use std::{collections::HashMap, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use super::{
    ModelUse, Session, account, prompts,
    unit::{Mark, Unit},
};
use crate::{
    analysis::{Finding, Side, Source},
    base::Result,
    forge::FileChange,
    model::{Completed, Request, complete},
    workflows::review::{
        deps::ReviewDeps,
        judge::{Placed, select},
        past::Past,
        report::tame,
        settings::Settings,
        state::ReviewState,
    },
};

/// Claims of one request at most.
const MAX_CLAIMS: usize = 12;

/// Longer reasons are cut.
const MAX_REASON_CHARS: usize = 300;

/// What all requests of a judgement may take. What is not answered by then stays as it was found.
const JUDGE_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// What is thought of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    /// It stays.
    Keep,
    /// It matters less than was said.
    Lower,
    /// Another one says the same.
    Merge,
    /// It does not hold.
    Drop,
}

/// A ruling on one finding, kept with the judgement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ruled {
    /// The finding.
    pub fingerprint: String,
    /// What is thought of it.
    pub ruling: Ruling,
    /// Why, in the model's words.
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Rulings {
    /// A ruling for each claim.
    rulings: Vec<ClaimRuling>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
struct ClaimRuling {
    /// The claim's number.
    claim: u32,
    /// The row that decided it.
    quote: String,
    ruling: Ruling,
    /// For a merge: the number of the claim that says it better.
    #[serde(default)]
    same_as: Option<u32>,
    /// In one sentence.
    reason: String,
}

/// Asks about what models found and would be shown, and takes the rulings into account. What cannot be asked stays as it is.
pub(in crate::workflows::review) async fn refute(
    deps: &ReviewDeps,
    state: &ReviewState,
    session: &Session,
    placed: &mut Placed,
    past: &Past,
) -> Result<(Vec<Ruled>, Option<ModelUse>)> {
    let Some((models, change)) = deps.models.as_ref().zip(state.ingested.as_ref()) else {
        return Ok((Vec::new(), None));
    };
    let claims = claims(placed, &change.settings, past);
    if claims.is_empty() {
        return Ok((Vec::new(), None));
    }
    let (mut ruled, mut used) = (Vec::new(), ModelUse::default());
    let asked = async {
        let reader = deps.open(&state.target).await?;
        for group in claims.chunks(MAX_CLAIMS) {
            let named = |file: &&FileChange| group.iter().any(|claim| claim.path == file.path);
            let files: Vec<&FileChange> =
                change.files.iter().map(|f| &f.change).filter(named).collect();
            let units =
                super::units_of(&reader, &files, super::parts::part_tokens(models.model.info()));
            let prompt = prompt(&units.await?, group);
            let request = Request::new("review.judge", prompts::JUDGE, prompt)
                .paid_by(account(state, session))
                .cancelled_by(session.cancel.clone());
            let rulings = ask(models, request, &mut used).await?;
            ruled.extend(rule(rulings, group));
        }
        Result::<()>::Ok(())
    };
    match timeout(JUDGE_TIMEOUT, Box::pin(asked)).await {
        Ok(Ok(())) => {}
        Ok(Err(fault)) => {
            tracing::warn!(error = %fault, "no model checks the findings; they stay as found")
        }
        Err(_) => tracing::warn!("no model checks the findings in time; they stay as found"),
    }
    placed.apply(&ruled);
    Ok((ruled, Some(used)))
}

/// What models found and would be shown, as far as the settings go; those of one file together.
fn claims(placed: &Placed, settings: &Settings, past: &Past) -> Vec<Finding> {
    let uncapped = Settings { max_findings: usize::MAX, ..settings.clone() };
    let (findings, _) = select(placed.clone(), &uncapped, past);
    let mut claims: Vec<Finding> =
        findings.into_iter().filter(|f| f.source == Source::Model).collect();
    claims.sort_by(|a, b| (&a.path, a.start_line).cmp(&(&b.path, b.start_line)));
    claims
}

fn prompt(units: &[Unit], claims: &[Finding]) -> String {
    let mut out = String::new();
    for (number, unit) in (1..).zip(units) {
        unit.write(number, &mut out);
    }
    // Of a file in parts, the one that shows the row.
    let shows = |unit: &Unit, claim: &Finding| {
        let removed = claim.side == Side::Left;
        unit.path == claim.path
            && unit
                .rows
                .iter()
                .any(|row| row.number == claim.start_line && (row.mark == Mark::Removed) == removed)
    };
    for (number, claim) in (1..).zip(claims) {
        let file = units.iter().position(|unit| shows(unit, claim));
        let file = file.or_else(|| units.iter().position(|unit| unit.path == claim.path));
        let file = file.map_or(0, |at| at + 1);
        let side = claim.side.word();
        out.push_str(&format!(
            "CLAIM {number} · file {file} · rows {}–{} · side {side} · {}\n{}\n{}\n\n",
            claim.start_line,
            claim.end_line,
            claim.severity,
            tame(&claim.title),
            tame(&claim.body.replace('\n', " ")),
        ));
    }
    out
}

/// Asks, unless the same was asked before.
async fn ask(
    models: &super::Models,
    request: Request,
    used: &mut ModelUse,
) -> Result<Vec<ClaimRuling>> {
    let mut hash = Sha256::new();
    for part in [&*models.model.info().name, &*request.instructions, &*request.prompt] {
        hash.update(part);
        hash.update([0]);
    }
    let key = hex::encode(hash.finalize());
    if let Some((rulings, usage)) = models.memo.recall::<(Rulings, _)>(&key).await? {
        used.saved += usage;
        return Ok(rulings.rulings);
    }
    let answered = complete::<Rulings>(&*models.model, request).await;
    let Completed { value, usage, model, .. } =
        answered.inspect_err(|error| used.usage += error.usage)?;
    used.usage += usage;
    used.names.insert(model);
    models.memo.remember(&key, &(value.clone(), usage)).await;
    Ok(value.rulings)
}

/// What rulings mean for the findings they name, one each.
fn rule(mut rulings: Vec<ClaimRuling>, claims: &[Finding]) -> Vec<Ruled> {
    rulings.sort_by_key(|ruling| ruling.claim);
    rulings.dedup_by_key(|ruling| ruling.claim);
    let mut stays: HashMap<u32, bool> = HashMap::new();
    let mut ruled = Vec::new();
    for ClaimRuling { claim: number, ruling, same_as, reason, .. } in rulings {
        let at = usize::try_from(number).unwrap_or(0).wrapping_sub(1);
        let Some(claim) = claims.get(at) else { continue };
        // Into an earlier one that stays: else two could each be merged into the other, and both be lost.
        let earlier = same_as.filter(|other| *other < number);
        let ruling = match ruling {
            Ruling::Merge if earlier.is_none_or(|other| stays.get(&other) != Some(&true)) => {
                Ruling::Keep
            }
            ruling => ruling,
        };
        stays.insert(number, matches!(ruling, Ruling::Keep | Ruling::Lower));
        let reason = super::answer::clean(&reason.replace('\n', " "), MAX_REASON_CHARS);
        ruled.push(Ruled { fingerprint: claim.fingerprint.clone(), ruling, reason });
    }
    ruled
}
