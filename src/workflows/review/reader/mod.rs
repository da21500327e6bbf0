//! Texts of changes: read by object id, masked, and analysed once for all agents.
//!
//! The tasks of a run stand in one process or in several. In one, the first that needs a text has
//! it read and masked, the first that needs its analysis has it analysed, and the others share the
//! result; in another process it is done again. Nothing of it is ever stored: what is remembered
//! here dies with the process.
//!
//! What it promises: a text that leaves here is masked; one batch of a change is analysed at a time,
//! so memory does not grow with the change; the result depends on nothing but the change, its
//! settings, the limits and, where the change has no day of its own, today.
//!
//! | file | is |
//! |---|---|
//! | `about.rs` | what of the change decides about findings |
//! | `head.rs` | the head side of one file, masked |
//! | `base_side.rs` | the base side |
//! | `count.rs` | how many files are done, for whoever watches |
//! | `analysis.rs` | what the analysers of every category say about one file |
//! | `limits.rs` | how much is read, and how much of it at once |
//! | `known.rs` | findings that were there before the change, made less sure |

mod about;
mod analysis;
mod base_side;
mod count;
mod head;
mod known;
mod limits;

use std::{
    collections::{HashMap, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::future::join_all;
use tokio::sync::{OnceCell, Semaphore};

use self::about::About;
pub use self::{
    analysis::{Analysed, keep_first},
    count::{Count, Counts, Work},
    head::{ExecutableBefore, Head, facts},
    known::{bare, way, words},
    limits::Limits,
};
use super::own_rules::{self, OwnRule};
use crate::{
    analysis::{MaskedText, References, Ruleset, while_wanted},
    base::{Fault, Result},
    forge::{Change, Content, FileChange, Forges, Target},
};

/// Requests for texts that run at once: each may be a process, and a large change has hundreds of tasks.
const MAX_REQUESTS: usize = 4;

/// A text of more bytes is analysed on one processor: on two, more of its syntax trees would be held at once.
const AT_ONCE_BYTES: u64 = 64 * 1024;

/// The readers of recent changes, the latest last.
type Recent = VecDeque<(Target, Arc<ChangeReader>)>;

/// The readers of recent changes. Cheap to clone.
#[derive(Clone)]
pub(super) struct Readers {
    recent: Arc<Mutex<Recent>>,
    processors: Arc<Semaphore>,
    limits: Limits,
}

impl Readers {
    pub(super) fn new(limits: Limits) -> Self {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        let processors = Arc::new(Semaphore::new(processors));
        Self { recent: Arc::default(), processors, limits }
    }

    pub(super) async fn open(&self, forges: &Forges, target: &Target) -> Result<Arc<ChangeReader>> {
        if let Some(reader) = find(&lock(&self.recent), target) {
            return Ok(reader);
        }
        let change = forges.open(target).await?;
        let mut recent = lock(&self.recent);
        if let Some(reader) = find(&recent, target) {
            return Ok(reader);
        }
        let (limits, processors) = (self.limits.clone(), self.processors.clone());
        let reader = Arc::new(ChangeReader::new(change, limits, processors));
        recent.push_back((target.clone(), reader.clone()));
        while recent.len() > self.limits.remembered.max(1) {
            recent.pop_front();
        }
        Ok(reader)
    }

    pub(super) fn opened(&self, target: &Target) -> Option<Arc<ChangeReader>> {
        find(&lock(&self.recent), target)
    }

    pub(super) fn forget(&self, target: &Target) {
        lock(&self.recent).retain(|(known, _)| known != target);
    }
}

fn find(recent: &Recent, target: &Target) -> Option<Arc<ChangeReader>> {
    recent.iter().find(|(known, _)| known == target).map(|(_, reader)| reader.clone())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

type Batch = Arc<OnceCell<Vec<Arc<Analysed>>>>;
type BaseFile = Arc<OnceCell<Option<Content>>>;

/// Reads one change.
pub struct ChangeReader {
    change: Arc<dyn Change>,
    limits: Limits,
    /// Bounds the work for processors that runs at once.
    processors: Arc<Semaphore>,
    /// Held by whoever analyses a chunk: the first is done, and durable, before the next begins.
    turn: Semaphore,
    /// Bounds what is asked of the forge at once.
    requests: Semaphore,
    rules: OnceCell<Arc<Ruleset>>,
    heads: Mutex<Heads>,
    /// Of the base side, by path.
    base_files: Mutex<HashMap<String, BaseFile>>,
    batches: Mutex<HashMap<u64, Batch>>,
    chunks: Mutex<HashMap<u64, Arc<OnceCell<()>>>>,
    counts: Counts,
    references: OnceCell<Arc<References>>,
    about: About,
}

/// Masked heads by path, and how many bytes their texts have.
#[derive(Default)]
struct Heads {
    by_path: HashMap<String, Arc<Head>>,
    bytes: usize,
}

impl ChangeReader {
    fn new(change: Arc<dyn Change>, limits: Limits, processors: Arc<Semaphore>) -> Self {
        Self {
            change,
            limits,
            processors,
            turn: Semaphore::new(1),
            requests: Semaphore::new(MAX_REQUESTS),
            rules: OnceCell::new(),
            heads: Mutex::default(),
            base_files: Mutex::default(),
            batches: Mutex::default(),
            chunks: Mutex::default(),
            counts: Counts::default(),
            references: OnceCell::new(),
            about: About::default(),
        }
    }

    /// How many files are done in this process.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The change on its forge.
    pub fn change(&self) -> &dyn Change {
        &*self.change
    }

    /// Runs of files whose texts fit into memory together.
    pub fn batches<'f, 'c>(&self, files: &'f [&'c FileChange]) -> Vec<&'f [&'c FileChange]> {
        limits::batches(files, &self.limits)
    }

    /// The masked head sides of `files`, in their order. Their texts are all held at once: ask for
    /// one of the [batches](Self::batches) at a time.
    ///
    /// # Errors
    /// When the forge does not answer.
    pub async fn heads(&self, files: &[&FileChange]) -> Result<Vec<Arc<Head>>> {
        let mut known: Vec<Option<Arc<Head>>> = {
            let heads = lock(&self.heads);
            files.iter().map(|file| heads.by_path.get(&file.path).cloned()).collect()
        };
        let unknown = files.iter().zip(&known).filter(|(_, head)| head.is_none());
        let unknown: Vec<&FileChange> = unknown.map(|(file, _)| *file).collect();
        let mut read = self.read_heads(&unknown).await?.into_iter();
        for head in known.iter_mut().filter(|head| head.is_none()) {
            *head = read.next();
        }
        Ok(known.into_iter().flatten().collect())
    }

    /// The head texts of `files` that have one, by path; held all at once, as by
    /// [`heads`](Self::heads).
    ///
    /// # Errors
    /// When the forge does not answer.
    pub async fn texts(&self, files: &[&FileChange]) -> Result<HashMap<String, MaskedText>> {
        let heads = self.heads(files).await?;
        let texts = files.iter().zip(heads);
        Ok(texts.filter_map(|(f, head)| Some((f.path.clone(), head.text.clone()?))).collect())
    }

    /// What the analysers say about `files`, in their order, by the built-in rules and those of the
    /// repository. Asked again about the same files, it answers from memory.
    ///
    /// # Errors
    /// When the forge does not answer.
    pub async fn analysed(
        &self,
        own: &[OwnRule],
        files: &[&FileChange],
    ) -> Result<Vec<Arc<Analysed>>> {
        let chunk = lock(&self.chunks).entry(name(files)).or_default().clone();
        let in_turn = || async {
            self.counts.ask(Work::Analysis, files.len());
            let closed = |_| Fault::transient("shutting down");
            let _turn = self.turn.acquire().await.map_err(closed)?;
            self.each_batch(own, files).await.map(|_| ())
        };
        chunk.get_or_try_init(in_turn).await?;
        self.each_batch(own, files).await
    }

    async fn each_batch(
        &self,
        own: &[OwnRule],
        files: &[&FileChange],
    ) -> Result<Vec<Arc<Analysed>>> {
        let mut all = Vec::with_capacity(files.len());
        for files in self.batches(files) {
            let batch = lock(&self.batches).entry(name(files)).or_default().clone();
            let analysed = batch.get_or_try_init(|| self.analyse(own, files)).await?;
            all.extend(analysed.iter().cloned());
        }
        Ok(all)
    }

    /// Runs `work` where it keeps no other task from running. `None` when it panics. Once nobody
    /// waits for it any more, analyses in it end soon.
    pub async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let permit = self.processors.clone().acquire_owned().await.ok()?;
        let waiting = Waiting::default();
        let unwanted = waiting.0.clone();
        let work = move || {
            // Held for as long as the processor is, even when nobody waits any more.
            let _permit = permit;
            while_wanted(unwanted, work)
        };
        tokio::task::spawn_blocking(work).await.ok()
    }

    /// Which lines of the change's files belong together: what `find` finds, the first time.
    ///
    /// # Errors
    /// As `find`.
    pub async fn references<F: Future<Output = Result<Arc<References>>>>(
        &self,
        find: impl FnOnce() -> F,
    ) -> Result<Arc<References>> {
        self.references.get_or_try_init(find).await.cloned()
    }

    /// The head sides of `files` as they are, for the folder of a tool. Whatever else leaves here is masked.
    ///
    /// # Errors
    /// When the forge does not answer.
    pub(super) async fn unmasked(&self, files: &[&FileChange]) -> Result<Vec<Content>> {
        self.contents(&files.iter().map(|file| file.head.blob.clone()).collect::<Vec<_>>()).await
    }

    async fn contents(&self, blobs: &[String]) -> Result<Vec<Content>> {
        let closed = |_| Fault::transient("shutting down");
        let _turn = self.requests.acquire().await.map_err(closed)?;
        self.change.contents(blobs, self.limits.file_bytes).await
    }

    async fn read_heads(&self, files: &[&FileChange]) -> Result<Vec<Arc<Head>>> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let blobs: Vec<String> = files.iter().map(|f| f.head.blob.clone()).collect();
        let contents = self.contents(&blobs).await?;
        let masked = files.iter().zip(contents).map(|(file, content)| async {
            let (file, limits) = ((*file).clone(), self.limits.clone());
            let head = self.compute(move || Head::new(&file, content, &limits)).await;
            self.counts.one_done(Work::Reading);
            head.unwrap_or_else(Head::crashed)
        });
        let mut heads = join_all(masked).await;
        self.soften_known_secrets(files, &mut heads).await?;
        let heads: Vec<Arc<Head>> = heads.into_iter().map(Arc::new).collect();
        let mut cache = lock(&self.heads);
        for (file, head) in files.iter().zip(&heads) {
            let size = head.text.as_ref().map_or(0, |text| text.len());
            if cache.bytes + size <= self.limits.cached_bytes
                && cache.by_path.insert(file.path.clone(), head.clone()).is_none()
            {
                cache.bytes += size;
            }
        }
        Ok(heads)
    }

    /// The built-in rules and those of the repository.
    pub(super) async fn rules(&self, own: &[OwnRule]) -> Result<Arc<Ruleset>> {
        let compile = || async { own_rules::compile(own).map(Arc::new) };
        self.rules.get_or_try_init(compile).await.cloned()
    }

    async fn analyse(&self, own: &[OwnRule], files: &[&FileChange]) -> Result<Vec<Arc<Analysed>>> {
        let rules = self.rules(own).await?;
        let heads = self.heads(files).await?;
        let bases = self.bases(files).await?;
        let small = |file: &&FileChange| file.size.is_some_and(|bytes| bytes <= AT_ONCE_BYTES);
        let at_once = files.len() == 1 && files.iter().all(small);
        let work = files.iter().zip(heads).map(|(file, head)| async {
            let (file, limits, rules) = ((*file).clone(), self.limits.clone(), rules.clone());
            // Not taken out: two files may have been copies of each other.
            let base = bases.get(&file.base.blob).cloned();
            let processors = self.processors.clone();
            let work = move || {
                let second = if at_once { processors.try_acquire().ok() } else { None };
                Analysed::new(&file, &head, base, (&limits, &rules), second.is_some())
            };
            let analysed = self.compute(work).await.unwrap_or_else(Analysed::crashed);
            self.counts.one_done(Work::Analysis);
            analysed
        });
        let mut analysed = join_all(work).await;
        self.about.judge(&*self.change, &mut analysed).await?;
        let mut kept = HashMap::new();
        analysed.iter_mut().for_each(|analysed| analysed.thin(&mut kept));
        Ok(analysed.into_iter().map(Arc::new).collect())
    }
}

/// Tells lists of files apart.
fn name(files: &[&FileChange]) -> u64 {
    let mut hash = DefaultHasher::new();
    for file in files {
        (&file.path, &file.head.blob, &file.hunks).hash(&mut hash);
    }
    hash.finish()
}

/// Somebody who waits for an answer; when they are gone, nobody wants it.
#[derive(Default)]
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
