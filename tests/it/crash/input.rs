//! Bad input, through the real binary: a clear error with the right exit code, or a dead letter
//! with a reason; never a panic, and nothing lost.

use std::{fs, time::Duration};

use serde_json::{Value, json};
use sqlx::{ConnectOptions, sqlite::SqliteConnectOptions};
use verdict::{
    graph::store::{LetterFilter, Store},
    queue::{Message, Queue},
};

use super::fixture::{only_run, repository, review_of};
use crate::support::{Machine, overwrite_runs, rows};

/// The exit code, and the one line on standard error without the machine's folder.
fn said(machine: &Machine, args: &[&str]) -> (Option<i32>, String) {
    let done = machine.run(args);
    assert_eq!(done.stdout, "", "{args:?}");
    let folder = format!("{}/", machine.folder().display());
    (done.code, done.stderr.trim_end().replace(&folder, ""))
}

fn refuses(machine: &Machine, args: &[&str], words: &str) {
    assert_eq!(said(machine, args), (Some(2), format!("verdict: {words}")), "{args:?}");
}

/// §5: what is asked for wrongly is code 2, and the message says what to do.
#[test]
fn what_cannot_be_reviewed_is_said() {
    let (machine, repo) = (Machine::new(), repository());
    let path = repo.path().display().to_string();
    let review = |range: &str, words: &str| {
        refuses(&machine, &["review", range, "--repo", &path], words);
    };
    review(
        "nope..HEAD",
        "unknown revision `nope`; name a branch, tag or commit of this repository",
    );
    review("HEAD..HEAD", "nothing to review: `HEAD` adds no commit to `HEAD`");
    let home = machine.folder().join("home").display().to_string();
    let words = "`home` is not a git repository; name one with --repo";
    refuses(&machine, &["review", "--repo", &home], words);
    let words = "`/nowhere` is not a git repository; name one with --repo";
    refuses(&machine, &["review", "--repo", "/nowhere"], words);
    let (code, words) = said(&machine, &["review", "--format", "nope"]);
    assert_eq!(code, Some(2));
    assert!(words.starts_with("error: invalid value 'nope' for '--format <FORMAT>'"), "{words}");
    assert_eq!(machine.run(&["runs", "list", "--format", "json"]).json(), json!([]));
}

/// §5: settings: the file, the key, the value.
#[test]
fn settings_that_cannot_be_used_are_said() {
    let machine = Machine::new();
    let with = |text: &str, words: &str| {
        let file = machine.text("bad.toml", text);
        refuses(&machine, &["--config", &file, "runs", "list"], words);
    };
    with(
        "[worker]\nleese = 1",
        "unknown setting `worker.leese` in bad.toml; did you mean `worker.lease`?",
    );
    with(
        "[log]\nformat = 'loud'",
        "bad value for `log.format` in bad.toml: expected `text` or `json`, found `loud`",
    );
    with(
        "[worker",
        "bad.toml, line 1, column 8: not valid TOML: invalid table header, expected `.`, `]`",
    );
    let words = "cannot read nowhere.toml: No such file or directory (os error 2)";
    refuses(&machine, &["--config", "nowhere.toml", "runs", "list"], words);
    let words = "cannot read home: Is a directory (os error 21)";
    refuses(&machine, &["--config", "home", "runs", "list"], words);
    let short = Machine::new().set("queue.visibility", "1ms");
    let words = "bad value for `queue.visibility` in VERDICT__QUEUE__VISIBILITY: \
                 expected a duration of at least 100ms";
    refuses(&short, &["runs", "list"], words);
}

/// §5: jobs and inputs that cannot be.
#[test]
fn jobs_that_cannot_be_are_refused_at_the_door() {
    let machine = Machine::new();
    let input = |text: &str| machine.text("in.json", text);
    let words = "there is no workflow `opera` (known: ";
    let (code, said_words) = said(&machine, &["run", "opera", "--input", &input("{}")]);
    assert_eq!(code, Some(2));
    assert!(said_words.contains(words), "{said_words}");
    let words = "in.json holds no JSON: EOF while parsing an object at line 1 column 1";
    refuses(&machine, &["run", "review", "--input", &input("{")], words);
    let (code, words) = said(&machine, &["run", "review", "--input", &input("[7]")]);
    assert_eq!(code, Some(2));
    assert!(words.contains("the input does not fit workflow `review`"), "{words}");

    let job = |text: &str, words: &str| {
        refuses(&machine, &["enqueue", &machine.text("job.json", text)], words);
    };
    job("nonsense", "job.json: its body is no JSON object");
    job("", "job.json: its body is empty");
    job(r#"{"workflow":"review"}"#, "job.json: the job has no `input`");
    job(r#"{"workflow":" ","input":1}"#, "job.json: its `workflow` is empty");
    let anyway = "; --force sends it anyway";
    let unknown = said(
        &machine,
        &["enqueue", &machine.text("job.json", r#"{"workflow":"opera","input":1}"#)],
    );
    assert!(unknown.1.contains("there is no workflow `opera` (known: "), "{unknown:?}");
    assert!(unknown.1.contains(anyway), "{unknown:?}");
    job(
        r#"{"workflow":"review","input":{},"kye":"a"}"#,
        &format!("job.json: a job has no field `kye` (did you mean `key`?){anyway}"),
    );
    let nowhere = r#"{"workflow":"review","input":{"repo":"/nowhere","base":"a","head":"b"}}"#;
    let (code, words) = said(&machine, &["enqueue", &machine.text("job.json", nowhere)]);
    assert_eq!(code, Some(2));
    assert!(words.contains("/nowhere") && words.contains(anyway), "{words}");
    let (code, words) =
        said(&machine, &["enqueue", &machine.text("job.json", r#"{"action":"opened"}"#)]);
    assert_eq!(code, Some(2));
    assert!(words.contains("for a webhook's body, name its --event"), "{words}");
    let words = "cannot read nowhere: No such file or directory (os error 2)";
    refuses(&machine, &["enqueue", "nowhere"], words);
    refuses(&machine, &["runs", "show", "abcd1234"], "there is no run `abcd1234`");
    refuses(&machine, &["dlq", "show", "x"], "there is no letter `x`");
    refuses(&machine, &["dlq", "replay", "x"], "there is no letter `x`");
}

/// §3: what gets past the door, or comes another way, becomes a dead letter with its reason and its
/// payload; what is good is done.
#[tokio::test]
async fn bad_messages_become_dead_letters_and_good_ones_are_done() {
    // The largest message takes an unoptimised build longer than half a second to read.
    let (machine, repo) = (Machine::new().set("queue.visibility", "20s"), repository());
    let queue = machine.queue().await;
    let large = 20 * 1024 * 1024 - 200;
    let bad = [
        ("undecodable", "{ not json".to_owned()),
        ("undecodable", r#"{"workflow":"review"}"#.to_owned()),
        ("unknown_workflow", r#"{"workflow":"opera","input":1}"#.to_owned()),
        (
            "permanent",
            r#"{"workflow":"review","input":{"repo":"/nowhere","base":"a","head":"b"}}"#.to_owned(),
        ),
        ("permanent", json!({"workflow": "review", "input": "x".repeat(large)}).to_string()),
    ];
    for (_, body) in &bad {
        queue.publish(Message::new(body.clone()), Duration::ZERO).await.unwrap();
    }
    queue.close().await.unwrap();
    let input = json!({"repo": repo.path(), "base": "HEAD~1", "head": "HEAD"});
    let good = json!({"workflow": "review", "input": input}).to_string();
    assert_eq!(machine.run(&["enqueue", &machine.text("job.json", good)]).code, Some(0));

    machine.serve_all().await;
    only_run(&machine);

    let store = machine.store().await;
    let mut found = Vec::new();
    for letter in store.letters(&LetterFilter::default()).await.unwrap() {
        assert!(letter.confirmed && letter.error.len() < 300, "{letter:?}");
        let letter = store.letter(&letter.id).await.unwrap().unwrap();
        let reason = json!(letter.reason).as_str().unwrap().to_owned();
        found.push((reason, String::from_utf8(letter.payload.to_vec()).unwrap()));
    }
    let mut wanted: Vec<_> =
        bad.into_iter().map(|(reason, body)| (reason.to_owned(), body)).collect();
    found.sort();
    wanted.sort();
    assert!(found == wanted, "{:?}", found.iter().map(|(reason, _)| reason).collect::<Vec<_>>());
    let listed = machine.run(&["dlq", "list", "--format", "json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 5);
    let one = listed[0]["id"].as_str().unwrap();
    let shown = machine.run(&["dlq", "show", one, "--format", "json"]).json();
    assert_eq!(shown["state"], "open");
    let discarded = machine.run(&["dlq", "discard", "--all"]);
    assert_eq!(discarded.code, Some(0), "{}", discarded.stderr);
    assert_eq!(machine.run(&["dlq", "list", "--format", "json"]).json(), json!([]));
}

/// Nothing is lost: without a forge a pull request's event is kept as a dead letter, and events
/// nobody asks for are acknowledged.
#[tokio::test]
async fn events_without_a_forge_are_kept() {
    let machine = Machine::new();
    let body = machine.text("event.json", json!({"action": "opened"}).to_string());
    for event in ["pull_request", "star"] {
        assert_eq!(machine.run(&["enqueue", &body, "--event", event]).code, Some(0));
    }
    machine.serve_all().await;
    let listed = machine.run(&["dlq", "list", "--format", "json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(
        (&listed[0]["reason"], &listed[0]["workflow"]),
        (&json!("permanent"), &json!("review"))
    );
    assert!(listed[0]["error"].as_str().unwrap().starts_with("no forge is configured"), "{listed}");
    // Sent again while nothing has changed, it comes back as the same letter.
    assert_eq!(machine.run(&["dlq", "replay", "--all"]).code, Some(0));
    assert_eq!(machine.run(&["dlq", "list", "--format", "json"]).json(), json!([]));
    machine.serve_all().await;
    let again = machine.run(&["dlq", "list", "--format", "json"]).json();
    assert_eq!((again.as_array().unwrap().len(), &again[0]["id"]), (1, &listed[0]["id"]));
}

/// §3: a message above the queue's limit is refused by its sender, and nothing is on the queue.
#[tokio::test]
async fn a_message_above_the_limit_is_refused() {
    let machine = Machine::new();
    let job = json!({"workflow": "review", "input": "x".repeat(20 * 1024 * 1024)}).to_string();
    let (code, words) = said(&machine, &["enqueue", "--force", &machine.text("job.json", job)]);
    assert_eq!(code, Some(2));
    assert!(words.contains("bytes with its headers, and this queue takes 20971520"), "{words}");
    assert_eq!(rows(&machine.file()).await.messages, 0);
}

/// §6: a file that is no database, and one whose pages are broken.
#[tokio::test]
async fn a_broken_database_is_said_and_left_alone() {
    let (machine, repo) = (Machine::new(), repository());
    let path = repo.path().display().to_string();
    let review = ["review", "HEAD~1..HEAD", "--repo", &path, "--format", "json"];
    fs::create_dir_all(machine.file().parent().unwrap()).unwrap();
    let garbage = "no database ".repeat(1000);
    fs::write(machine.file(), &garbage).unwrap();
    let words = "store.url: database state/verdict/verdict.db: the file is no SQLite database: \
                 name another file";
    refuses(&machine, &review, words);
    refuses(&machine, &["serve"], words);
    assert_eq!(fs::read_to_string(machine.file()).unwrap(), garbage);

    fs::remove_file(machine.file()).unwrap();
    assert_eq!(machine.run(&review).code, Some(0));
    overwrite_runs(&machine.file()).await;
    let (code, words) = said(&machine, &review);
    assert_eq!(code, Some(3));
    assert!(words.contains("the file is corrupt"), "{words}");
    assert!(words.contains("restore it from a backup, or move it away"), "{words}");
}

/// §6: a database that another process keeps locked: said, and the same command works afterwards.
#[tokio::test]
async fn a_locked_database_is_said_and_nothing_is_lost() {
    let (machine, repo) = (Machine::new(), repository());
    let path = repo.path().display().to_string();
    let review = ["review", "HEAD~1..HEAD", "--repo", &path, "--format", "json"];
    machine.open().await.close().await.unwrap();
    let mut other = SqliteConnectOptions::new().filename(machine.file()).connect().await.unwrap();
    sqlx::query("BEGIN EXCLUSIVE").execute(&mut other).await.unwrap();
    let (code, words) = said(&machine, &review);
    assert_eq!(code, Some(3), "{words}");
    assert!(words.contains("locked by another process"), "{words}");
    sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
    review_of(&machine.run(&review).stdout);
    only_run(&machine);
}

/// §6: no room: whatever the moment, it is said, and with room again the same command ends the same
/// run.
#[tokio::test]
async fn a_full_disk_is_said_and_nothing_is_lost() {
    let repo = repository();
    let path = repo.path().display().to_string();
    let review = ["review", "HEAD~1..HEAD", "--repo", &path, "--format", "json"];
    let whole = Machine::new();
    let wanted = review_of(&whole.run(&review).stdout);
    let mut codes = Vec::<(u32, Option<i32>)>::new();
    for kilobytes in [8, 24, 40, 56, 80, 120, 400] {
        for spared in [true, false] {
            let machine = Machine::new();
            machine.open().await.close().await.unwrap();
            // Ignored, the signal leaves a failing write; otherwise it is one more way to die.
            let ignore = if spared { "trap '' XFSZ; " } else { "" };
            let setup = format!("{ignore}ulimit -c 0; ulimit -f {kilobytes}");
            let done = Machine::finish(machine.command_after(&setup, &review));
            match done.code {
                Some(0) => assert_eq!(review_of(&done.stdout), wanted),
                Some(2 | 3) => assert!(
                    done.stderr.contains("reading or writing failed")
                        || done.stderr.contains("no room left"),
                    "{}",
                    done.stderr
                ),
                code => assert!(!spared && code.is_none(), "{kilobytes}: {done:?}"),
            }
            codes.push((kilobytes, done.code));
            let again = machine.run(&review);
            assert_eq!(again.code, Some(0), "{kilobytes}: {}", again.stderr);
            assert_eq!(review_of(&again.stdout), wanted);
            only_run(&machine);
        }
    }
    println!("{codes:?}");
    assert!(codes.iter().any(|(_, code)| *code == Some(3)), "{codes:?}");
}

/// §5: an address that is taken.
#[tokio::test]
async fn an_address_in_use_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let machine = Machine::new().set("server.listen", &address);
    let done = machine.run(&["serve"]);
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains(&format!("cannot listen on {address}")), "{}", done.stderr);
    assert!(done.stderr.contains("server.listen"), "{}", done.stderr);
}

/// §5: findings at or above the threshold are code 1, and the review is printed all the same.
#[test]
fn findings_above_the_threshold_are_code_one() {
    let (machine, repo) = (Machine::new(), repository());
    let path = repo.path().display().to_string();
    let code = |limit: &str| {
        let args = ["review", "HEAD~1..HEAD", "--repo", &path, "--format", "json"];
        let args = [&args[..], &["--fail-on", limit]].concat();
        let done = machine.run(&args);
        let _: Value = review_of(&done.stdout);
        done.code
    };
    assert_eq!(["none", "low", "high", "critical"].map(code), [Some(0), Some(1), Some(1), Some(0)]);
}
