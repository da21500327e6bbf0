//! Pull requests that are awkward to review. Each gets one review, GitHub refuses nothing of it, and every changed file
//! is in its coverage.

use std::{
    collections::BTreeSet,
    fs::{Permissions, set_permissions},
    os::unix::fs::{PermissionsExt as _, symlink},
};

use fake_github::PullRequest;

use super::{Place, changed};
use crate::review::support::Repo;

/// A change, on a branch of its name.
struct Case {
    name: &'static str,
    /// The branch that it is to be merged into.
    base: &'static str,
    make: fn(&Repo),
    /// Where there is a comment in the end.
    comments: &'static [(&'static str, u64)],
}

const CASES: &[Case] = &[
    Case {
        name: "renames",
        base: "main",
        make: |repo| {
            std::fs::create_dir(repo.path().join("new")).unwrap();
            repo.git(["mv", "old/a.py", "new/a.py"]);
            repo.git(["mv", "old/b.txt", "new/c.txt"]);
        },
        comments: &[],
    },
    Case {
        name: "binary",
        base: "main",
        make: |repo| {
            repo.write("changed.bin", b"\0\x01\x03").write("new.bin", b"\0\xff\xfe");
        },
        comments: &[],
    },
    Case {
        name: "crlf",
        base: "main",
        make: |repo| {
            repo.write("crlf.js", "f();\r\ndebugger;\r\ng();\r\n");
        },
        comments: &[("crlf.js", 2)],
    },
    Case {
        name: "not-utf8",
        base: "main",
        make: |repo| {
            repo.write("latin.js", b"// caf\xe9\nf();\ndebugger; // \xe9\n");
        },
        comments: &[("latin.js", 3)],
    },
    Case {
        name: "unicode",
        base: "main",
        make: |repo| {
            repo.write("naïve folder/日本語 🦀.js", "debugger;\n");
            repo.write("quo\"te's [x] & `y`.js", "debugger;\n");
        },
        comments: &[("naïve folder/日本語 🦀.js", 1), ("quo\"te's [x] & `y`.js", 1)],
    },
    Case {
        name: "deletions",
        base: "main",
        make: |repo| {
            let kept = |n: &usize| ![10, 11, 12, 40].contains(n);
            repo.write("long.js", lines().filter(kept).map(line).collect::<String>());
        },
        comments: &[],
    },
    // `@@ -1 +1 @@`, and no line end.
    Case {
        name: "omitted-counts",
        base: "main",
        make: |repo| {
            repo.write("one.js", "debugger;");
        },
        comments: &[("one.js", 1)],
    },
    // Hunks far apart, and one that only adds at the end.
    Case {
        name: "hunks",
        base: "main",
        make: |repo| {
            let text = lines().map(|n| if n == 20 { "debugger;\n".to_owned() } else { line(n) });
            repo.write("long.js", text.chain(["debugger;\n".to_owned()]).collect::<String>());
        },
        comments: &[("long.js", 20), ("long.js", 61)],
    },
    Case {
        name: "modes",
        base: "main",
        make: |repo| {
            let script = repo.path().join("one.js");
            set_permissions(script, Permissions::from_mode(0o755)).unwrap();
            symlink("crlf.js", repo.path().join("link.js")).unwrap();
        },
        comments: &[],
    },
    Case {
        name: "emptied",
        base: "main",
        make: |repo| {
            repo.write("one.js", "").write("empty.js", "");
        },
        comments: &[],
    },
    Case {
        name: "removed",
        base: "main",
        make: |repo| {
            repo.remove("crlf.js").remove("changed.bin").remove("old/a.py");
        },
        comments: &[],
    },
    Case {
        name: "minified",
        base: "main",
        make: |repo| {
            repo.write("packed.js", "debugger;".repeat(100_000));
        },
        comments: &[],
    },
    Case {
        name: "module",
        base: "main",
        make: |repo| {
            let commit = repo.git(["rev-parse", "HEAD"]);
            repo.git(["update-index", "--add", "--cacheinfo", &format!("160000,{commit},module")]);
            std::fs::create_dir(repo.path().join("module")).unwrap();
        },
        comments: &[],
    },
    // On top of another pull request: only its own commit is its change.
    Case {
        name: "stacked",
        base: "crlf",
        make: |repo| {
            repo.write("stacked.js", "debugger;\n");
        },
        comments: &[("stacked.js", 1)],
    },
];

fn lines() -> std::ops::RangeInclusive<usize> {
    1..=60
}

fn line(number: usize) -> String {
    format!("f({number});\n")
}

async fn place() -> Place {
    let repo = Repo::new();
    repo.write("old/a.py", "x = 1\n".repeat(20)).write("old/b.txt", "text\n".repeat(20));
    repo.write("changed.bin", b"\0\x01\x02").write("crlf.js", "f();\r\ng();\r\n");
    repo.write("latin.js", b"// caf\xe9\nf();\n").write("one.js", "f();");
    repo.write("long.js", lines().map(line).collect::<String>());
    repo.commit("base");
    repo.write("plain.js", "debugger;\n").commit("change");
    Place::of(repo).await.reviewed_by_app()
}

impl Place {
    /// Commits a change on a new branch, which only this machine has so far.
    fn commit_on(&self, branch: &str, base: &str, make: fn(&Repo)) {
        self.repo.git(["checkout", "--quiet", "-b", branch, base]);
        make(&self.repo);
        self.repo.commit("change");
    }

    /// Reviews a pull request and publishes the review; answers the paths in its coverage.
    fn covered(&self, pull: &PullRequest) -> BTreeSet<String> {
        let address = format!("octo/demo#{}", pull.number());
        let args = ["review", "--github", &address, "--publish", "--format", "json"];
        let report = self.machine.run(&args).json();
        let rows = report["coverage"].as_array().unwrap().iter();
        rows.map(|row| row["path"].as_str().unwrap().to_owned()).collect()
    }

    /// One review and one ended check of the head, with comments on these lines.
    fn is_reviewed(&self, name: &str, pull: &PullRequest, comments: &[(&str, u64)]) {
        let reviews = pull.reviews();
        let [review] = &reviews[..] else { panic!("{name}: {reviews:#?}") };
        assert!(review.body.lines().next().unwrap().contains(&pull.head()), "{name}: {review:#?}");
        let on = review.comments.iter().map(|one| (one.path.as_str(), one.line.unwrap()));
        let on: BTreeSet<_> = on.collect();
        assert_eq!(on, comments.iter().copied().collect(), "{name}");
        let checks = pull.checks();
        let ended = checks.iter().all(|check| check.status == "completed");
        assert!(!checks.is_empty() && ended, "{name}: {checks:#?}");
    }
}

#[tokio::test]
async fn every_awkward_change_is_reviewed_once_and_covered() {
    let place = place().await;
    for Case { name, base, make, .. } in CASES {
        place.commit_on(name, base, *make);
    }
    place.repository.update();
    for Case { name, base, comments, .. } in CASES {
        let pull = place.repository.open_pull(name, base);
        assert_eq!(place.covered(&pull), changed(&place.repo, name, base), "{name}");
        place.is_reviewed(name, &pull, comments);
        place.nothing_was_refused();
    }
}

/// The head's repository is not needed: GitHub keeps the commits where the pull request is.
#[tokio::test]
async fn a_pull_request_whose_fork_is_gone_is_reviewed() {
    let place = place().await;
    let fork = place.repository.fork("eve");
    fork.follow(place.repo.path());
    place.commit_on("forked", "main", |repo| {
        repo.write("forked.js", "debugger;\n");
    });
    fork.update();
    let pull = place.repository.pull_request("forked", "main").from(&fork).by("eve").open();
    fork.delete();
    assert_eq!(place.covered(&pull), changed(&place.repo, "forked", "main"));
    place.is_reviewed("forked", &pull, &[("forked.js", 1)]);
    place.nothing_was_refused();
}

/// What was closed meanwhile gets no review.
#[tokio::test]
async fn a_closed_pull_request_gets_no_review() {
    let place = place().await;
    place.pull.close();
    let done = place.review("closed");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(place.pull.reviews().is_empty() && place.pull.comments().is_empty());
    let checks = place.pull.checks();
    assert!(checks.iter().all(|check| check.status == "completed"), "{checks:#?}");
    place.nothing_was_refused();
}
