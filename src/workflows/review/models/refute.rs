//! A second opinion on what models found: another request than the finder's reads the rows again, and may drop, merge or lower a
//! finding. It can add nothing, and without it everything stays.

use std::{collections::HashMap, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use super::{
    ModelUse, Session, account, prompts,
    unit::{Mark, Row, Unit},
};
use crate::{
    analysis::{Finding, Side, Source},
    base::Result,
    forge::FileChange,
    model::{Completed, Request, Usage, complete},
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

/// Rulings as they are remembered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Remembered {
    rulings: Rulings,
    usage: Usage,
    /// The run that paid.
    run: String,
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
/// What tasks that failed have paid is in what this has used: nothing else of them reports it.
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
    let usage = super::paid_in_vain(models, state, &session.run).await?;
    let (mut ruled, mut used) = (Vec::new(), ModelUse { usage, ..ModelUse::default() });
    let claims = claims(placed, &change.settings, past);
    if claims.is_empty() {
        return Ok((ruled, (usage != Usage::default()).then_some(used)));
    }
    let asked = async {
        let reader = deps.open(&state.target).await?;
        for group in claims.chunks(MAX_CLAIMS) {
            let named = |file: &&FileChange| group.iter().any(|claim| claim.path == file.path);
            let files: Vec<&FileChange> =
                change.files.iter().map(|f| &f.change).filter(named).collect();
            let most = super::parts::part_tokens(models.model.info());
            let units = super::units_of(&reader, &files, most).await?;
            let units: Vec<&Unit> = units.iter().collect();
            for (units, group) in fitting(&units, group, most) {
                let request = Request::new("review.judge", prompts::JUDGE, prompt(&units, group))
                    .paid_by(account(state, session))
                    .cancelled_by(session.cancel.clone());
                let rulings = ask(models, request, &mut used).await?;
                ruled.extend(rule(rulings, group));
            }
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

/// Divides claims so that the units they are about have at most so many tokens together, or are one.
fn fitting<'u, 'c>(
    units: &[&'u Unit],
    claims: &'c [Finding],
    most: u64,
) -> Vec<(Vec<&'u Unit>, &'c [Finding])> {
    let (mut groups, mut start) = (Vec::new(), 0);
    let (mut shown, mut size) = (Vec::<&Unit>::new(), 0);
    for (at, claim) in claims.iter().enumerate() {
        let Some(unit) = place_of(units, claim).map(|place| units[place]) else { continue };
        if shown.iter().any(|other| std::ptr::eq(*other, unit)) {
            continue;
        }
        if !shown.is_empty() && size + unit.tokens() > most {
            groups.push((std::mem::take(&mut shown), &claims[start..at]));
            (start, size) = (at, 0);
        }
        shown.push(unit);
        size += unit.tokens();
    }
    groups.push((shown, &claims[start..]));
    groups
}

/// The unit that shows the row a claim is about, or else the first of its file.
fn place_of(units: &[&Unit], claim: &Finding) -> Option<usize> {
    let removed = claim.side == Side::Left;
    let is_row =
        |row: &Row| row.number == claim.start_line && (row.mark == Mark::Removed) == removed;
    let of_file = |unit: &&&Unit| unit.path == claim.path;
    let mut own = (0..).zip(units).filter(|(_, unit)| of_file(unit)).peekable();
    let first = own.peek().map(|(place, _)| *place);
    own.find(|(_, unit)| unit.rows.iter().any(is_row)).map(|(place, _)| place).or(first)
}

fn prompt(units: &[&Unit], claims: &[Finding]) -> String {
    let mut out = String::new();
    for (number, unit) in (1..).zip(units) {
        unit.write(number, &mut out);
    }
    for (number, claim) in (1..).zip(claims) {
        let file = place_of(units, claim);
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
    let run = request.account.run.clone();
    if let Some(known) = models.memo.recall::<Remembered>(&key).await? {
        used.count_known(known.usage, (&known.run, &run));
        return Ok(known.rulings.rulings);
    }
    let answered = complete::<Rulings>(&*models.model, request).await;
    let Completed { value, usage, model, .. } =
        answered.inspect_err(|error| used.usage += error.usage)?;
    used.usage += usage;
    used.names.insert(model);
    let known = Remembered { rulings: value, usage, run };
    models.memo.remember(&key, &known).await;
    Ok(known.rulings.rulings)
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
