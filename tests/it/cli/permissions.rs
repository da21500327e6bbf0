//! N1: what verdict keeps is its owner's alone, whatever the caller's umask.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::Path};

use crate::support::Machine;

fn modes(folder: &Path) -> BTreeMap<String, u32> {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.chain([folder.to_owned()]).map(|path| (name(&path), mode(&path))).collect()
}

/// The database, what SQLite makes beside it, and their folder.
#[tokio::test]
async fn nobody_else_can_read_the_state() {
    let machine = Machine::new();
    let mut server = crate::support::Process::start(machine.command_after("umask 022", &["serve"]));
    server.says("serving").await;
    let modes = modes(machine.file().parent().unwrap());
    for (name, mode) in &modes {
        let expected = if name == "verdict" { 0o700 } else { 0o600 };
        assert_eq!(*mode, expected, "{name} in {modes:?}");
    }
    assert!(modes.contains_key("verdict.db") && modes.contains_key("verdict.db-wal"), "{modes:?}");
    server.terminate();
    server.ends().await;
}
