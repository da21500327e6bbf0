//! Histories and repositories of every shape, and revisions nobody should have named so.

use verdict::forge::{Selection, local::GitError};

use super::{anchored, rows};
use crate::review::support::{Repo, deps, found, git_in, resolve, review};

/// Two commits, the second with a finding in line 2 of `a.py`.
fn simple() -> Repo {
    filled(Repo::new())
}

fn filled(repo: Repo) -> Repo {
    repo.write("a.py", "x = 1\n").commit("one");
    repo.write("a.py", "x = 1\nbreakpoint()\n").commit("two");
    repo
}

const FOUND: [&str; 1] = ["py-debugger a.py:2-2"];

#[tokio::test]
async fn merges_are_compared_with_their_first_parent() {
    let repo = Repo::new();
    let root = repo.write("a.py", "x = 1\n").commit("root");
    for name in ["one", "two", "three"] {
        repo.git(["checkout", "-q", "-b", name, &root]);
        repo.write(&format!("{name}.py"), "breakpoint()\n").commit(name);
    }
    repo.git(["checkout", "-q", "main"]);
    repo.write("main.py", "breakpoint()\n").commit("main");
    repo.git(["merge", "-q", "-m", "octopus", "one", "two", "three"]);
    let parents = repo.git(["show", "-s", "--format=%P", "HEAD"]);
    assert_eq!(parents.split(' ').count(), 4);
    let state = repo.review("HEAD^!").await;
    let files = ["one.py", "three.py", "two.py"];
    assert_eq!(found(&state), files.map(|file| format!("py-debugger {file}:1-1")));
    anchored(&repo, &state);
    // What a branch adds, merged or not.
    let state = repo.review("main~1..two").await;
    assert_eq!(found(&state), ["py-debugger two.py:1-1"]);
}

/// With two merge bases either will do, and the same each time.
#[tokio::test]
async fn a_criss_cross_has_one_answer() {
    let repo = Repo::new();
    repo.write("root", "").commit("root");
    repo.git(["branch", "other"]);
    let left = repo.write("left", "1\n").commit("left");
    repo.git(["checkout", "-q", "other"]);
    let right = repo.write("right", "1\n").commit("right");
    repo.git(["merge", "-q", "-m", "one way", &left]);
    repo.git(["checkout", "-q", "main"]);
    repo.git(["merge", "-q", "-m", "other way", &right]);
    repo.write("a.py", "breakpoint()\n").commit("more");
    let all = repo.git(["merge-base", "--all", "other", "main"]);
    assert_eq!(all.lines().count(), 2);
    let range = repo.resolve("other...main").await.unwrap();
    assert!(all.lines().any(|base| base == range.base));
    assert_eq!(repo.resolve("other..main").await.unwrap(), range);
    assert!(found(&repo.review("other...main").await).contains(&"py-debugger a.py:1-1".to_owned()));
}

/// A name is a name, however it looks; a set, a negation or a file is no commit.
#[tokio::test]
async fn names_are_names() {
    let repo = simple();
    let head = repo.git(["rev-parse", "HEAD"]);
    let odd = ["--upload-pack=x", "-n", "v1/ünï;$(touch${IFS}canary)&&'\"`", "main.lock2", "é"];
    for name in odd {
        repo.git(["update-ref", &format!("refs/heads/{name}"), &head]);
        repo.git(["update-ref", &format!("refs/tags/{name}"), &head]);
        for name in [name.to_owned(), format!("refs/tags/{name}")] {
            let range = repo.resolve(&format!("HEAD~1..{name}")).await.unwrap();
            assert_eq!(range.head, head, "{name}");
        }
    }
    for name in ["^HEAD~1", "HEAD^@", "HEAD:a.py", "HEAD^{tree}", "--all", "-", "HEAD\nHEAD"] {
        for range in [format!("{name}..HEAD"), format!("HEAD~1..{name}")] {
            let error = repo.resolve(&range).await.unwrap_err();
            assert!(matches!(error, GitError::UnknownRevision(_)), "{range}: {error}");
        }
    }
    assert!(!repo.path().join("canary").exists());
}

/// What rewrites history on this machine only does not rewrite the review.
#[tokio::test]
async fn replaced_and_grafted_history_is_not_listened_to() {
    let repo = simple();
    let expected = repo.resolve("HEAD^!").await.unwrap();
    let blob = |text: &str| {
        repo.write("other", text);
        repo.git(["hash-object", "-w", "other"])
    };
    let head_blob = repo.git(["rev-parse", "HEAD:a.py"]);
    repo.git(["replace", &head_blob, &blob("y = 1\n")]);
    repo.git(["replace", "HEAD", "HEAD~1"]);
    std::fs::create_dir_all(repo.path().join(".git/info")).unwrap();
    repo.write(".git/info/grafts", format!("{}\n", expected.head));
    assert_eq!(repo.resolve("HEAD^!").await.unwrap(), expected);
    let state = repo.review("HEAD^!").await;
    assert_eq!(found(&state), FOUND);
}

/// The same change in a repository of every make.
#[tokio::test]
async fn repositories_of_every_make_are_the_same() {
    let repo = simple();
    let url = format!("file://{}", repo.path().display());
    let made = |args: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let output = git_in(folder.path(), args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        folder
    };
    let bare = made(&["clone", "-q", "--bare", &url, "."]);
    let shared = made(&["clone", "-q", "-s", repo.path().to_str().unwrap(), "."]);
    let mirror = made(&["clone", "-q", "--mirror", &url, "."]);
    let apart = made(&["clone", "-q", "--separate-git-dir=store", &url, "work"]);
    let tree = made(&["-C", repo.path().to_str().unwrap(), "worktree", "list"]);
    let tree = tree.path().join("tree");
    repo.git(["worktree", "add", "-q", "--detach", tree.to_str().unwrap()]);
    let outer = made(&["init", "-q", "."]);
    let added = git_in(outer.path(), ["submodule", "--quiet", "add", &url, "inner"]);
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    for folder in [
        bare.path().to_owned(),
        shared.path().to_owned(),
        mirror.path().to_owned(),
        apart.path().join("work"),
        tree,
        outer.path().join("inner"),
    ] {
        for selection in [Selection::Default, Selection::Range("HEAD^!".into())] {
            let range = resolve(&folder, selection).await.unwrap();
            assert_eq!(range.head, repo.git(["rev-parse", "HEAD"]), "{}", folder.display());
            let state = review(&deps(verdict::workflows::review::Limits::default()), range).await;
            assert_eq!(found(&state), FOUND, "{}", folder.display());
        }
    }
}

/// Repositories with longer object ids, down to the first commit.
#[tokio::test]
async fn sha_256_is_as_good() {
    let repo = Repo::new();
    std::fs::remove_dir_all(repo.path().join(".git")).unwrap();
    repo.git(["init", "-q", "-b", "main", "--object-format=sha256"]);
    let repo = filled(repo);
    let state = repo.review("HEAD^!").await;
    assert_eq!(found(&state), FOUND);
    assert_eq!(state.target.head.len(), 64);
    let first = repo.review("HEAD~1^!").await;
    assert_eq!(rows(&first), ["a.py Done"]);
    let all = format!("{}..HEAD", first.target.base);
    assert_eq!(found(&repo.review(&all).await), FOUND);
}

/// A finding keeps its name when the commits under it are replaced and its lines move.
#[tokio::test]
async fn fingerprints_survive_a_rebase() {
    let repo = Repo::new();
    let root = repo.write("a.py", "x = 1\n\n\ny = 2\n").commit("root");
    repo.git(["checkout", "-q", "-b", "topic"]);
    let body = "def f(seen=[]):\n    breakpoint()\n    return seen\n\n\nbreakpoint()\n";
    repo.write("a.py", format!("x = 1\n\n\ny = 2\n\n\n{body}")).commit("topic");
    let names = |state: &verdict::workflows::review::ReviewState| {
        let shown = verdict::workflows::review::report::findings(state);
        let mut names: Vec<String> = shown.iter().map(|f| f.fingerprint.clone()).collect();
        names.sort();
        names
    };
    let before = repo.review(&format!("{root}..topic")).await;
    repo.git(["checkout", "-q", "main"]);
    repo.write("a.py", format!("{}x = 1\n\n\ny = 2\n", "import os\n".repeat(50)));
    repo.write("b.py", "z = 3\n").commit("main moves on");
    repo.git(["checkout", "-q", "topic"]);
    repo.git(["rebase", "-q", "main"]);
    let after = repo.review("main..topic").await;
    assert_eq!(names(&before).len(), 2, "{:?}", found(&before));
    assert_ne!(found(&before), found(&after));
    assert_eq!(names(&before), names(&after));
    anchored(&repo, &after);
}
