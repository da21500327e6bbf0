//! Process groups, as `/proc` shows them.

use std::{fs, process::Command};

/// The living processes of the group: its number is its leader's. A corpse that nobody has reaped
/// yet does not live.
pub fn living(group: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid| group_of(*pid) == Some(group)).collect()
}

fn group_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let state = fields.next()?;
    let group = fields.nth(1)?.parse().ok()?;
    (state != "Z" && state != "X").then_some(group)
}

/// Whether every thread of the process is stopped.
pub fn stopped(pid: &str) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    threads.flatten().all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, fields)| fields.starts_with('T'))
    })
}

/// Sends a signal to a process, or with a minus to a group.
pub fn signal(name: &str, target: &str) {
    let _ =
        Command::new("sh").args(["-c", &format!("kill -s {name} {target} 2>/dev/null")]).status();
}
