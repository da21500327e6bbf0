//! Several processes on one file, and processes that are killed. The test binary starts itself
//! again; that it plays the consumer is said in the environment.

use std::{
    collections::BTreeMap, io::Write, ops::Range, path::Path, process::Stdio, time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};
use verdict::queue::{Message, Queue, Settled, Settlement};

use super::bench::{open_file, within};

const FILE: &str = "VERDICT_TEST_QUEUE_FILE";

/// Prints a line in one write, so that a kill never leaves half of it. The test harness prints to
/// the same pipe, so lines of ours are marked.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n@ {line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// Consumes for ever, saying what it got before it acknowledges it, and what it acknowledged after.
async fn consume(file: &Path, consumers: usize, visibility: Duration) {
    let queue = &*open_file(file, visibility).await;
    say("ready");
    futures_util::future::join_all((0..consumers).map(|_| async move {
        loop {
            let delivery = queue.consumer().next().await.unwrap();
            let body = std::str::from_utf8(&delivery.message.body).unwrap();
            say(&format!("got {body}"));
            match delivery.settle(Settlement::Ack).await.unwrap() {
                Settled::Done => say(&format!("acknowledged {body}")),
                Settled::Stale => say(&format!("stale {body}")),
            }
        }
    }))
    .await;
}

/// A consuming process and what it says.
struct Consumer {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Consumer {
    /// Starts this binary again, to run only `test` and, in it, the part that consumes `file`.
    fn start(test: &str, file: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("queue::processes::{test}"), "--nocapture"])
            .env(FILE, file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    /// The next thing it says; `None` when it is dead.
    async fn hear(&mut self) -> Option<String> {
        loop {
            let line = within(self.lines.next_line()).await.unwrap()?;
            if let Some(said) = line.strip_prefix("@ ") {
                return Some(said.to_owned());
            }
        }
    }

    /// Kills it; answers what it had said before it died.
    async fn kill(mut self) -> Vec<String> {
        self.process.kill().await.unwrap();
        let mut rest = Vec::new();
        while let Some(line) = self.hear().await {
            rest.push(line);
        }
        rest
    }
}

async fn publish(queue: &dyn Queue, messages: Range<usize>) {
    let all = messages.map(|n| queue.publish(Message::new(n.to_string()), Duration::ZERO));
    futures_util::future::try_join_all(all).await.unwrap();
}

async fn is_empty(queue: &dyn Queue) -> bool {
    let depth = queue.depth().await.unwrap();
    (depth.ready, depth.in_hand, depth.delayed) == (Some(0), Some(0), Some(0))
}

/// How often `word` was said of each message.
fn count(said: &[String], word: &str) -> BTreeMap<usize, usize> {
    let mut counts = BTreeMap::new();
    for n in said.iter().filter_map(|line| line.strip_prefix(word)?.trim().parse().ok()) {
        *counts.entry(n).or_default() += 1;
    }
    counts
}

/// Every message was seen, and none acknowledged twice.
fn assert_once(said: &[String], messages: usize) {
    assert!(count(said, "got").into_keys().eq(0..messages), "some message was never seen");
    let twice = count(said, "acknowledged").into_iter().find(|(_, times)| *times > 1);
    assert_eq!(twice, None, "acknowledged more than once");
}

/// W4: four processes share one file; each message is acknowledged by exactly one of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_processes_share_one_file() {
    if let Some(file) = std::env::var_os(FILE) {
        return consume(Path::new(&file), 4, Duration::from_secs(30)).await;
    }
    const MESSAGES: usize = 400;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("queue.db");
    let queue = open_file(&file, Duration::from_secs(30)).await;
    let start = || Consumer::start("many_processes_share_one_file", &file);
    let mut consumers: Vec<_> = (0..4).map(|_| start()).collect();
    for consumer in &mut consumers {
        assert_eq!(consumer.hear().await.as_deref(), Some("ready"));
    }
    publish(&*queue, 0..MESSAGES).await;

    let mut said = Vec::new();
    let mut acknowledged = 0;
    while acknowledged < MESSAGES {
        let ears = consumers.iter_mut().map(|consumer| Box::pin(consumer.hear()));
        let (line, ..) = futures_util::future::select_all(ears).await;
        let line = line.unwrap();
        acknowledged += usize::from(line.starts_with("acknowledged"));
        said.push(line);
    }
    assert!(is_empty(&*queue).await);
    for consumer in consumers {
        said.extend(consumer.kill().await);
    }
    assert_once(&said, MESSAGES);
    assert!(!said.iter().any(|line| line.starts_with("stale")), "taken by two at once");
}

/// W2: a consumer killed at any moment loses nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_consumers_lose_nothing() {
    if let Some(file) = std::env::var_os(FILE) {
        return consume(Path::new(&file), 8, Duration::from_millis(300)).await;
    }
    const ROUNDS: usize = 8;
    const EACH: usize = 60;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("queue.db");
    let queue = open_file(&file, Duration::from_secs(30)).await;

    let (mut said, mut round) = (Vec::new(), 0);
    while round < ROUNDS || !is_empty(&*queue).await {
        let mut consumer = Consumer::start("killed_consumers_lose_nothing", &file);
        assert_eq!(consumer.hear().await.as_deref(), Some("ready"));
        if round < ROUNDS {
            publish(&*queue, round * EACH..(round + 1) * EACH).await;
        }
        round += 1;
        for _ in 0..fastrand::usize(..EACH) {
            if is_empty(&*queue).await {
                break;
            }
            said.push(consumer.hear().await.unwrap());
        }
        said.extend(consumer.kill().await);
    }
    assert_once(&said, ROUNDS * EACH);
}
