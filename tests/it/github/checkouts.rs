//! What is fetched is kept in a folder that processes share, and that outlives any of them.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::Place;
use crate::server::host::Shaky;

/// Processes that review pull requests of one repository for the first time, at once.
const PROCESSES: usize = 6;

/// All of them find no repository yet, if nothing keeps them apart: making one takes a while here.
#[tokio::test]
async fn processes_that_share_a_cache_fetch_one_repository_at_once() {
    let place = Place::new().await;
    let shaky = Shaky::on(place.machine);
    shaky.trouble("case \" $* \" in *' init '*) sleep 2 ;; esac");
    let place = Place { machine: shaky.machine, ..place };
    let pulls = (0..PROCESSES).map(|number| {
        let branch = format!("branch{number}");
        place.branch(&branch);
        place.push_to(&branch, "e.js", &format!("function h{number}() {{ debugger; }}\n"));
        format!("octo/demo#{}", place.repository.open_pull(&branch, "main").number())
    });
    let pulls: Vec<_> = pulls.collect();
    let start = |pull: &String| place.machine.start(&["review", "--github", pull]);
    let processes: Vec<_> = pulls.iter().map(start).collect();
    for mut process in processes {
        let status = process.ends().await;
        assert_eq!(status.code(), Some(0), "{}", process.said().await);
    }
}

/// A place whose cache of one repository is filled, and where that is.
async fn cached() -> (Place, PathBuf) {
    let place = Place::new().await;
    let cache = place.machine.folder().join("cache");
    let machine = place.machine.set("github.cache_path", &cache.display().to_string());
    let place = Place { machine, ..place };
    assert_eq!(place.review("first").code, Some(0));
    let only = |folder: &Path| fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    (place, only(&only(&cache)))
}

/// R4: the lock of a git process that was killed keeps nobody out for good.
#[tokio::test]
async fn a_lock_that_was_left_behind_is_removed() {
    let (place, cached) = cached().await;
    for name in ["shallow.lock", "config.lock"] {
        let lock = File::create(cached.join(name)).unwrap();
        lock.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    place.push("c.js", "function g() { return 1; }\n");
    let done = place.review("second");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(!cached.join("shallow.lock").exists());
}

/// R4: a process that died between making a repository and setting it up spoils it for nobody.
#[tokio::test]
async fn a_repository_left_half_made_is_made_whole() {
    let (place, made) = cached().await;
    fs::remove_dir_all(&made).unwrap();
    place.repo.git(["init", "--quiet", "--bare", &made.display().to_string()]);
    let done = place.review("second");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
}
