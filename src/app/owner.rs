//! A name for this process that tells, later and on this machine, whether it still lives.
//!
//! `HOST:PID@START.PLACE`: the start time tells a process from a later one with its number, and the
//! place is a hash of the boot and the process namespace, outside of which numbers mean nothing.

use std::{fs, io, process};

use crate::base::hash_hex;

/// This process's name.
pub fn this_process() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = Some(host.trim()).filter(|host| !host.is_empty()).unwrap_or("host");
    let pid = process::id();
    let start = start_of(pid).ok().flatten().unwrap_or_default();
    format!("{host}:{pid}@{start}.{}", place().unwrap_or_default())
}

/// Whether the process of this name is known to have ended. `false` wherever that cannot be told:
/// on another machine, in another container, after another boot.
pub fn known_dead(owner: &str) -> bool {
    let Some((pid, start, owner_place)) = parts(owner) else { return false };
    match place() {
        Some(here) if here == owner_place => match start_of(pid) {
            Ok(now) => now != Some(start),
            // This process has no descriptor left to look with, for example.
            Err(_) => false,
        },
        _ => false,
    }
}

fn parts(owner: &str) -> Option<(u32, u64, &str)> {
    let (_, rest) = owner.rsplit_once(':')?;
    let (pid, rest) = rest.split_once('@')?;
    let (start, place) = rest.split_once('.')?;
    Some((pid.parse().ok()?, start.parse().ok()?, place))
}

/// When the process started, in clock ticks since boot; `None` if there is none, or it is a corpse.
///
/// # Errors
/// When that cannot be told now.
fn start_of(pid: u32) -> io::Result<Option<u64>> {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => Ok(start_in(&stat)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // It ended while it was read.
        Err(error) if error.raw_os_error() == Some(NO_SUCH_PROCESS) => Ok(None),
        Err(error) => Err(error),
    }
}

/// `ESRCH`.
const NO_SUCH_PROCESS: i32 = 3;

fn start_in(stat: &str) -> Option<u64> {
    // The name, in parentheses, may hold anything; the fields proper begin behind the last one.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let state = fields.next()?;
    if state == "Z" || state == "X" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

fn place() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    let mut hash = hash_hex(&[boot.trim().as_bytes(), namespace.to_str()?.as_bytes()]);
    hash.truncate(8);
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives() {
        assert!(!known_dead(&this_process()));
    }

    #[test]
    fn a_child_is_known_dead_once_it_has_ended() {
        let mut child = process::Command::new("sleep").arg("60").spawn().unwrap();
        let (pid, place) = (child.id(), place().unwrap());
        let name = format!("host:{pid}@{}.{place}", start_of(pid).unwrap().unwrap());
        assert!(!known_dead(&name));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(known_dead(&name));
    }

    #[test]
    fn a_number_used_again_is_another_process() {
        let place = place().unwrap();
        assert!(known_dead(&format!("host:{}@1.{place}", process::id())));
    }

    #[test]
    fn strangers_are_never_known_dead() {
        for name in ["", "pod-7", "a:b@c.d", "host:1@1.00000000", "host:999999999@5.ffffffff"] {
            assert!(!known_dead(name), "{name}");
        }
    }
}
