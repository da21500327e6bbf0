//! What language models say about a change: the second half of each agent, in tasks of its own beside the analysis.
//!
//! What it promises: a task that fails takes no finding of the analysis with it, and the review names it; a finding lies on rows
//! that read as it quotes, whatever line the model named; a file counts as read only with proof, a word that stands behind its
//! last row; nothing is paid twice that was answered once, in this run or another. What it never does: show a model a text that
//! is not masked, give it a tool, or let what it answers decide anything but findings.
//!
//! | file | is |
//! |---|---|
//! | `parts.rs` | which agent asks about which files |
//! | `unit.rs` | what a model reads of a file |
//! | `prompts.rs`, `prompts/` | what it is told |
//! | `asking.rs` | one agent's questions |
//! | `answer.rs` | what it answers, and the findings made of it |
//! | `guidance.rs` | what the repository tells its reviewers |
//! | `introduction.rs` | what the change's author says of it |
//! | `elsewhere.rs` | lines of other files that belong to what is shown |
//! | `refute.rs` | what models found, checked by another request |
//! | `memo.rs` | answers that are used again |

mod answer;
mod asking;
mod elsewhere;
mod guidance;
mod introduction;
mod memo;
mod parts;
mod prompts;
mod refute;
mod unit;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use self::{
    asking::{Asking, Findings},
    elsewhere::references,
    guidance::Guidance,
    memo::Memo,
    parts::Sizes,
    unit::Unit,
};
pub(super) use self::{introduction::kept, refute::refute, unit::estimated_tokens};
pub use self::{
    parts::ModelTask,
    refute::{Ruled, Ruling},
};
use super::{
    deps::ReviewDeps,
    reader::ChangeReader,
    settings::Settings,
    state::{AgentReport, Outcome, ReviewFile, ReviewState},
};
use crate::{
    base::{Fault, Result, key_value::KeyValueStore},
    forge::FileChange,
    model::{Account, FailureKind, Model, ModelError, ModelOptions, Progress, Usage},
};

/// What one task may take, all its requests together. A single request is bounded by `model.timeout`.
pub const TASK_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// The models of a process, and what they answered before. Cheap to clone.
#[derive(Clone)]
pub struct Models {
    model: Arc<dyn Model>,
    memo: Memo,
    sizes: Sizes,
}

impl Models {
    /// Answers are kept in `store`.
    pub fn new(
        model: Arc<dyn Model>,
        store: Arc<dyn KeyValueStore>,
        options: &ModelOptions,
    ) -> Self {
        let sizes = Sizes { small: options.small_change, large: options.large_change };
        Self { model, memo: Memo::new(store, options.memo), sizes }
    }

    /// Names models and prompts: a review with the same name would ask the same.
    pub fn name(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(&self.model.info().name);
        hash.update(self.sizes.small.to_le_bytes());
        hash.update(self.sizes.large.to_le_bytes());
        prompts::all().for_each(|text| hash.update(text));
        hex::encode(&hash.finalize()[..6])
    }

    /// The tasks of a change. `texts`: about how many tokens each file has, by path.
    pub(super) fn plan<'a>(
        &self,
        agents: impl Iterator<Item = &'a str>,
        settings: &Settings,
        files: (&[ReviewFile], &HashMap<String, u64>),
    ) -> Vec<ModelTask> {
        let most = parts::part_tokens(self.model.info());
        parts::plan(agents, settings, files, (most, self.sizes))
    }
}

/// What a task is sent: its number, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelDispatch {
    /// Its place in [`Ingested::models`](crate::workflows::review::Ingested::models).
    pub task: u32,
    /// The agent's id.
    pub agent: String,
}

/// What models did for a report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelUse {
    /// Those that answered, as `adapter::name`.
    pub names: BTreeSet<String>,
    /// What the run paid.
    pub usage: Usage,
    /// What answers had cost that other runs paid, and that were used again.
    pub saved: Usage,
    /// Findings that quote no row.
    #[serde(skip_serializing_if = "is_none")]
    pub unanchored: usize,
    /// Whether it failed in a way that asking again later cannot cure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub permanent: bool,
}

impl ModelUse {
    /// Counts an answer that was there, and says whether it was this run that paid it, before it was interrupted or woken.
    fn count_known(&mut self, usage: Usage, (payer, run): (&str, &str)) -> bool {
        let paid_here = !run.is_empty() && payer == run;
        *(if paid_here { &mut self.usage } else { &mut self.saved }) += usage;
        paid_here
    }
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Who asks, and who watches.
pub struct Session {
    /// The run's id.
    pub run: String,
    /// Stops the requests.
    pub cancel: CancellationToken,
    /// Is told how far answers are.
    pub progress: Arc<dyn Fn(&Progress) + Send + Sync>,
}

impl Default for Session {
    /// Of no run, watched by nobody.
    fn default() -> Self {
        let (run, cancel) = (String::new(), CancellationToken::new());
        Self { run, cancel, progress: Arc::new(|_| {}) }
    }
}

/// Why a task has no report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// Permanent only when the key or the request was refused: anything else may be asked again later.
    pub fault: Fault,
    /// How long until a budget is open again, if it is one that is spent.
    pub closed_for: Option<Duration>,
}

impl From<Fault> for Unanswered {
    fn from(fault: Fault) -> Self {
        Self { fault, closed_for: None }
    }
}

impl From<ModelError> for Unanswered {
    fn from(error: ModelError) -> Self {
        let closed_for = error.fault.retry_after.filter(|_| error.kind == FailureKind::OverBudget);
        let refused = matches!(error.kind, FailureKind::Unauthorized | FailureKind::Invalid);
        let fault = match refused || error.fault.is_transient() {
            true => error.fault,
            false => Fault::transient(error.fault.message),
        };
        Self { fault, closed_for }
    }
}

/// Runs one task.
///
/// # Errors
/// When no model answers.
pub async fn run(
    deps: &ReviewDeps,
    state: &ReviewState,
    dispatch: &ModelDispatch,
    session: Session,
) -> Result<AgentReport, Unanswered> {
    let none = || Fault::permanent(format!("there is no task {} for models", dispatch.task));
    let change = state.ingested.as_ref().ok_or_else(none)?;
    let number = usize::try_from(dispatch.task).unwrap_or(usize::MAX);
    let task = change.models.get(number).ok_or_else(none)?;
    let models = deps.models.as_ref().ok_or_else(|| {
        Fault::transient("no language model is configured on this worker: set `model.chain`")
    })?;
    let instructions = prompts::instructions(&task.agent).ok_or_else(none)?;
    let most = parts::part_tokens(models.model.info());
    let reader = deps.open(&state.target).await?;
    let guidance = Guidance::read(&reader, &change.settings).await?;
    let files = change.files_at(&task.files);
    let units = units_of(&reader, &files, most).await?;
    let account = account(state, &session);
    let before = models.memo.spent(&account.run, dispatch.task).await?;
    let introduction = state.introduction.as_ref().map(introduction::shown).unwrap_or_default();
    let asking = Asking {
        models,
        agent: &task.agent,
        instructions,
        guidance,
        introduction,
        references: references(&reader, change).await?,
        session,
        account,
    };
    let mut findings = Findings::after(before);
    let asked = async {
        let unknown = asking.recall(units, &mut findings).await?;
        for group in groups(unknown, most) {
            asking.ask(group, &mut findings).await?;
        }
        Ok::<_, Unanswered>(())
    };
    match asked.await {
        Ok(()) => Ok(findings.report(dispatch)),
        Err(why) => {
            models.memo.note_spent(&asking.account.run, dispatch.task, &findings.spent()).await;
            Err(why)
        }
    }
}

/// What a task has paid that has no report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Spent {
    /// All of it.
    paid: Usage,
    /// What of it went for nothing that is remembered.
    lost: Usage,
}

/// What tasks that failed have paid.
async fn paid_in_vain(models: &Models, state: &ReviewState, run: &str) -> Result<Usage> {
    let mut sum = Usage::default();
    for (task, report) in &state.models {
        if matches!(report.outcome, Outcome::Failed(_)) {
            sum += models.memo.spent(run, *task).await?.paid;
        }
    }
    Ok(sum)
}

/// The report of a task that gave up.
pub fn gave_up(dispatch: &ModelDispatch, fault: &Fault) -> AgentReport {
    let used = ModelUse { permanent: !fault.is_transient(), ..ModelUse::default() };
    let outcome = Outcome::Failed(fault.message.clone());
    AgentReport { model: Some(used), ..AgentReport::new(&dispatch.agent, dispatch.task, outcome) }
}

/// What is shown of files, none larger than a request holds.
async fn units_of(reader: &ChangeReader, files: &[&FileChange], most: u64) -> Result<Vec<Unit>> {
    let mut units = Vec::new();
    for batch in reader.batches(files) {
        let (heads, bases) = (reader.texts(batch).await?, reader.base_texts(batch).await?);
        for file in batch {
            let Some(head) = heads.get(&file.path).cloned() else { continue };
            let file = (*file).clone();
            let base = bases.get(&file.base.blob).cloned();
            let unit = reader.compute(move || Unit::of(&file, &head, base.as_ref())).await;
            units.extend(unit.into_iter().flat_map(|unit| unit.split(most)));
        }
    }
    Ok(units)
}

/// Units that go into one request together.
fn groups(units: Vec<Unit>, most: u64) -> Vec<Vec<Unit>> {
    let mut groups: Vec<Vec<Unit>> = Vec::new();
    let mut size = 0;
    for unit in units {
        let tokens = unit.tokens();
        match groups.last_mut().filter(|_| size + tokens <= most) {
            Some(group) => group.push(unit),
            None => {
                groups.push(vec![unit]);
                size = 0;
            }
        }
        size += tokens;
    }
    groups
}

/// Who pays.
fn account(state: &ReviewState, session: &Session) -> Account {
    let target = &state.target;
    let place = target.repo.split('#').next().unwrap_or_default();
    let repository = format!("{}:{place}", target.forge);
    let by_outsider = state.introduction.as_ref().is_some_and(|said| said.by_outsider);
    Account { run: session.run.clone(), repository, by_outsider }
}
