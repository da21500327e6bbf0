//! What the analysis costs: files and lines a second in every language, beside running the same
//! rules one at a time with ast-grep's library; and the whole review of a change of 50 files, in
//! memory and on SQLite. The corpus is the rules' own examples, so it is the same everywhere.
//! Prints; never judges.
//!
//! `cargo bench --bench analysis`

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a benchmark"
)]

use std::{
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use ast_grep_config::{DeserializeEnv, RuleCore};
use ast_grep_core::tree_sitter::LanguageExt;
use verdict::{
    analysis::{Lang, LineSet, MaskedText, Ruleset, SourceText, examine, rules::BUILT_IN, secrets},
    base::Clock,
    checkpoint::{Memory, SqliteStore},
    db::{Sqlite, SqliteOptions},
    forge::{Selection, local::LocalGit},
    graph::{Execute, NewSpec, RunId, Runtime, Stop, Store},
    workflows::{
        Workflow,
        review::{Limits, Review, ReviewDeps},
    },
};

/// Lines of each file of the corpus, about.
const LINES: usize = 300;

/// How many files of each language are read in one round, and how many rounds there are.
const FILES: usize = 20;
const ROUNDS: usize = 7;

fn main() {
    println!(
        "the rules' examples in files of about {LINES} lines; medians of {ROUNDS} rounds\n\n\
         {:<12} {:>6} {:>9} {:>11} {:>11} {:>11} {:>7} {:>8}",
        "language", "rules", "files/s", "lines/s", "none wanted", "one by one", "times", "mask"
    );
    for language in Lang::all() {
        row(language);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::spawn(reviews()).await.unwrap() });
}

/// The examples of one language, what breaks its rules and what does not, and the rules.
fn corpus(language: Lang) -> (Vec<String>, Vec<RuleCore>) {
    let (mut examples, mut matchers) = (Vec::new(), Vec::new());
    for rule in BUILT_IN {
        let rule = rule.read().unwrap();
        let named = |name: &String| matches!(Lang::named(name), Ok(Some(l)) if l == language);
        if rule.languages.iter().any(named) {
            examples.extend(rule.valid.iter().chain(&rule.invalid).cloned());
            matchers.push(rule.matcher.get_matcher(DeserializeEnv::new(language)).unwrap());
        }
    }
    (examples, matchers)
}

/// File `number`: examples from its own place in the list on.
fn file(examples: &[String], number: usize) -> String {
    let from = number * 7 % examples.len();
    let mut text = String::new();
    for example in examples.iter().cycle().skip(from) {
        if text.lines().count() >= LINES {
            break;
        }
        text.push_str(example);
        text.push('\n');
    }
    text
}

/// The median time of a call, after one that does not count.
fn median(mut call: impl FnMut()) -> Duration {
    call();
    let time = |()| {
        let began = Instant::now();
        call();
        began.elapsed()
    };
    let mut times: Vec<Duration> = [(); ROUNDS].map(time).to_vec();
    times.sort_unstable();
    times[ROUNDS / 2]
}

fn row(language: Lang) {
    let (examples, matchers) = corpus(language);
    let texts: Vec<String> = (0..FILES).map(|number| file(&examples, number)).collect();
    let masked: Vec<MaskedText> = texts.iter().map(MaskedText::from).collect();
    let lines: usize = texts.iter().map(|text| text.lines().count()).sum();
    let (set, touched) = (Ruleset::built_in(), LineSet::all());
    let read = |path: &str| {
        for text in &masked {
            let source = SourceText { path, text, touched: &touched };
            drop(std::hint::black_box(examine(&set, source)));
        }
    };
    let ours = median(|| read(language.file_name()));
    // What is left when no grammar is known: the checks by line.
    let plain = median(|| read("a.unknown"));
    let naive = median(|| {
        for text in &texts {
            for matcher in &matchers {
                let tree = language.ast_grep(text);
                std::hint::black_box(tree.root().find_all(matcher).count());
            }
        }
    });
    let mask = median(|| {
        for text in &texts {
            drop(std::hint::black_box(secrets::mask(text.clone())));
        }
    });
    let rate = |count: usize, time: Duration| count as f64 / time.as_secs_f64();
    println!(
        "{:<12} {:>6} {:>9.0} {:>11.0} {:>11.0} {:>11.0} {:>6.1}x {:>8.0}",
        language.to_string(),
        matchers.len(),
        rate(FILES, ours),
        rate(lines, ours),
        rate(lines, plain),
        rate(lines, naive),
        naive.as_secs_f64() / ours.as_secs_f64(),
        rate(lines, mask),
    );
}

/// A change of 50 files in a repository, a few of each language.
fn fixture(folder: &Path) -> (usize, Vec<(Lang, String)>) {
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]).args(args);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        assert!(command.current_dir(folder).status().unwrap().success());
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["commit", "-q", "--allow-empty", "-m", "base"]);
    let languages: Vec<Lang> = Lang::all().collect();
    let mut texts = Vec::new();
    for number in 0..50 {
        let language = languages[number % languages.len()];
        let text = file(&corpus(language).0, number);
        let at = folder.join(format!("src/{number}/{}", language.file_name()));
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::write(at, &text).unwrap();
        texts.push((language, text));
    }
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "change"]);
    (texts.iter().map(|(_, text)| text.lines().count()).sum(), texts)
}

async fn reviews() {
    let folder = tempfile::tempdir().unwrap();
    let (lines, texts) = fixture(folder.path());
    println!(
        "\na whole review of 50 new files, {lines} lines, in {} languages",
        Lang::all().count()
    );
    let memory = Arc::new(Memory::new(Clock::system()));
    let in_memory = review(folder.path(), memory).await;
    let db = Sqlite::open(&folder.path().join("runs.db"), SqliteOptions::default()).await.unwrap();
    let on_disk = review(folder.path(), Arc::new(SqliteStore::new(db.clone()))).await;
    db.close().await.unwrap();
    let matchers: Vec<(Lang, Vec<RuleCore>)> = Lang::all().map(|l| (l, corpus(l).1)).collect();
    let naive = median(|| {
        for (language, text) in &texts {
            let (_, rules) = matchers.iter().find(|(l, _)| l == language).unwrap();
            for rule in rules {
                std::hint::black_box(language.ast_grep(text).root().find_all(rule).count());
            }
        }
    });
    for (what, time) in
        [("in memory", in_memory), ("on SQLite", on_disk), ("ast-grep alone, one by one", naive)]
    {
        let ms = time.as_secs_f64() * 1e3;
        println!("{what:<28} {ms:>9.1} ms {:>9.0} lines/s", lines as f64 / time.as_secs_f64());
    }
    println!(
        "one rule at a time takes {:.1} times as long as the whole review in memory",
        naive.as_secs_f64() / in_memory.as_secs_f64()
    );
}

/// The median time of a review from range to judgement, nothing remembered from the one before.
async fn review<S: Store>(repo: &Path, store: Arc<S>) -> Duration {
    let graph = Review::graph().unwrap();
    let runtime = Runtime::new(store, Clock::system(), "bench");
    let mut times = Vec::new();
    for round in 0..=ROUNDS {
        let forge = Arc::new(LocalGit::default());
        let deps = Arc::new(ReviewDeps::new(forge.clone(), Limits::default()).unwrap());
        let began = Instant::now();
        let target = forge.target(repo, &Selection::Range("HEAD^!".into())).await.unwrap();
        let spec = NewSpec::new("review", 1, target.into()).id(RunId::random()).claim();
        let opened = runtime.open(&graph, spec).await.unwrap();
        let execute = Execute::new(graph.clone(), deps);
        let ran = runtime.execute(execute, opened.held.unwrap()).await.unwrap();
        assert_eq!(ran.stop, Stop::Completed);
        if round > 0 {
            times.push(began.elapsed());
        }
    }
    times.sort_unstable();
    times[ROUNDS / 2]
}
