//! docs/operations.md: the recipes for backup and restore of SQLite, as they stand there.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{
    crash::fixture::repository,
    support::{Done, Machine, eventually, rows},
};

const DOCS: &str = include_str!("../../../docs/operations.md");

/// The recipe whose first line begins so, on this machine's database.
fn recipe(machine: &Machine, title: &str) -> Done {
    let opening = format!("```sh\n# {title}");
    let (_, rest) = DOCS.split_once(&opening).unwrap_or_else(|| panic!("no recipe: {title}"));
    let (block, _) = rest.split_once("```").unwrap();
    let own = |line: &str| match line.split_once('=') {
        Some(("DB", _)) => format!("DB={}", machine.file().display()),
        Some(("BACKUP", _)) => format!("BACKUP={}", machine.folder().join("backup.db").display()),
        _ => line.to_owned(),
    };
    let lines: Vec<_> = block.lines().skip(1).map(own).collect();
    let mut command = machine.command_after(&format!("set -e\n{}\nexit", lines.join("\n")), &[]);
    let program = Path::new(env!("CARGO_BIN_EXE_verdict")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", program.display()));
    Machine::finish(command)
}

fn listed(machine: &Machine) -> Value {
    machine.run(&["runs", "list", "--format", "json"]).json()
}

/// 17.13: a backup taken under a running server brings runs and waiting messages back, after the
/// database was destroyed.
#[tokio::test]
async fn a_backup_of_a_running_server_is_restored() {
    let (repo, machine) = (repository(), Machine::new());
    let job = serde_json::json!({"workflow": "review", "input": {"repo": repo.path(), "base": "HEAD~1", "head": "HEAD"}});
    let job = machine.text("job.json", job.to_string());
    assert_eq!(machine.run(&["enqueue", &job]).code, Some(0));
    machine.serve_all().await;
    let reviewed = listed(&machine);
    assert_eq!(reviewed[0]["status"], "completed", "{reviewed}");
    // It waits on the queue: whoever serves takes no work.
    let mut gateway = machine.start(&["serve", "--role", "gateway"]);
    gateway.says("serving").await;
    let other = machine.text("other.json", r#"{"workflow":"delivery","input":{"request":"x"}}"#);
    assert_eq!(machine.run(&["enqueue", &other]).code, Some(0));

    let done = recipe(&machine, "backup:");
    assert_eq!((done.code, done.stdout.trim()), (Some(0), "ok"), "{done:?}");
    gateway.terminate();
    assert_eq!(gateway.ends().await.code(), Some(0));
    machine.serve_all().await;
    assert_eq!(listed(&machine).as_array().unwrap().len(), 2);
    fs::write(machine.file(), "no database").unwrap();

    let done = recipe(&machine, "restore:");
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(listed(&machine), reviewed);
    assert_eq!(rows(&machine.file()).await.messages, 1);
    // The message that waited is worked on.
    let mut server = machine.serve().await;
    eventually("the other run fails", async || {
        let all = listed(&machine);
        all.as_array().unwrap().iter().any(|run| run["status"] == "failed").then_some(())
    })
    .await;
    server.terminate();
    assert_eq!(server.ends().await.code(), Some(0));
}
