//! Ranges and changes from local git: what people write, and repositories that are nasty.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use verdict::{
    base::{Fault, FaultKind},
    forge::{
        Change, Content, EntryKind, Forge, Hunk, Selection, Status, Target,
        local::{GitError, GitOptions, LocalGit},
    },
};

use super::support::{Repo, git_in, resolve};

async fn open(target: &Target) -> Arc<dyn Change> {
    LocalGit::default().open(target).await.unwrap()
}

/// What each way of writing a range means.
#[tokio::test]
async fn ranges_mean_what_the_table_says() {
    let repo = Repo::new();
    let one = repo.write("a", "1\n").commit("one");
    let two = repo.write("a", "2\n").commit("two");
    repo.git(["checkout", "-q", "-b", "topic", &one]);
    let side = repo.write("b", "1\n").commit("side");
    let last = repo.write("b", "2\n").commit("last");
    let top = repo.path().to_str().unwrap().to_owned();

    for (written, base, head) in [
        ("HEAD~1..HEAD", &side, &last),
        ("HEAD~1", &side, &last),
        ("HEAD~1..", &side, &last),
        ("main..topic", &one, &last),
        ("main...topic", &one, &last),
        ("topic^!", &side, &last),
        ("topic..main", &one, &two),
    ] {
        let range = repo.resolve(written).await.unwrap();
        assert_eq!((&range.base, &range.head), (base, head), "{written}");
        assert_eq!(range.repo, top);
    }
    let ends = Selection::Ends { base: "main".into(), head: "topic".into() };
    assert_eq!(resolve(&repo.path(), ends).await.unwrap().base, one);
    // Unsaid: what the branch adds to main; on main itself the last commit.
    let unsaid = resolve(&repo.path(), Selection::Default).await.unwrap();
    assert_eq!((unsaid.base, unsaid.head), (one.clone(), last));
    repo.git(["checkout", "-q", "main"]);
    let unsaid = resolve(&repo.path(), Selection::Default).await.unwrap();
    assert_eq!((unsaid.base, unsaid.head), (one.clone(), two));
    // The first commit has the empty tree for a base.
    let first = repo.resolve(&format!("{one}^!")).await.unwrap();
    let changes = open(&first).await.files().await.unwrap();
    assert_eq!((changes.len(), changes[0].status), (1, Status::Added));
    assert_eq!(repo.resolve(&format!("{}..{one}", first.base)).await.unwrap(), first);
}

/// A folder below the top names the same repository.
#[tokio::test]
async fn a_folder_inside_stands_for_its_repository() {
    let repo = Repo::new();
    repo.write("deep/er/a", "1\n").commit("one");
    let range = resolve(&repo.path().join("deep/er"), Selection::Range("HEAD^!".into())).await;
    assert_eq!(range.unwrap().repo, repo.path().to_str().unwrap());
}

/// Every wrong question gets an answer that names what is wrong, and none is worth repeating.
#[tokio::test]
async fn errors_name_what_is_wrong() {
    let repo = Repo::new();
    let empty = resolve(&repo.path(), Selection::Default).await.unwrap_err();
    assert!(empty.to_string().contains("no commit yet"), "{empty}");
    repo.write("a", "1\n").commit("one");
    repo.write("a", "2\n").commit("two");

    let nowhere = tempfile::tempdir().unwrap();
    let error = resolve(nowhere.path(), Selection::Default).await.unwrap_err();
    assert_eq!(error, GitError::NotARepository(nowhere.path().into()));
    let error = resolve(Path::new("/no/such/folder"), Selection::Default).await.unwrap_err();
    assert!(matches!(error, GitError::NotARepository(_)));

    for (written, expected) in [
        ("nope..HEAD", GitError::UnknownRevision("nope".into())),
        ("HEAD..nope", GitError::UnknownRevision("nope".into())),
        ("--output=x", GitError::UnknownRevision("--output=x".into())),
        ("a..b..c", GitError::BadRange("a..b..c".into())),
        ("", GitError::BadRange(String::new())),
    ] {
        let error = repo.resolve(written).await.unwrap_err();
        assert_eq!(error, expected, "{written}");
        assert!(error.is_usage());
        assert_eq!(Fault::from(error).kind, FaultKind::Permanent);
    }
    for written in ["HEAD..HEAD", "HEAD..HEAD~1", "HEAD"] {
        let error = repo.resolve(written).await.unwrap_err();
        assert!(matches!(error, GitError::EmptyRange(_)), "{written}: {error}");
    }

    repo.git(["checkout", "-q", "--orphan", "other"]);
    repo.write("b", "1\n").commit("unrelated");
    let error = repo.resolve("main...other").await.unwrap_err();
    assert!(matches!(error, GitError::Unrelated(..)), "{error}");
    assert!(repo.resolve("main..other").await.is_ok());

    let missing = GitOptions { program: "/no/such/git".into(), ..GitOptions::default() };
    let error = LocalGit::new(missing).target(&repo.path(), &Selection::Default).await;
    assert!(matches!(error.unwrap_err(), GitError::GitMissing(_)));
}

/// A shallow clone says that it is one instead of taking its edge for the first commit.
#[tokio::test]
async fn a_shallow_clone_says_what_is_missing() {
    let repo = Repo::new();
    repo.write("a", "1\n").commit("one");
    repo.write("a", "2\n").commit("two");
    let clone = tempfile::tempdir().unwrap();
    let url = format!("file://{}", repo.path().display());
    let made = git_in(clone.path(), ["clone", "-q", "--depth=1", &url, "."]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for selection in [Selection::Range("HEAD~1..HEAD".into()), Selection::Range("HEAD^!".into())] {
        let error = resolve(clone.path(), selection).await.unwrap_err();
        assert!(matches!(error, GitError::Shallow(_)), "{error}");
    }
}

/// Every kind of change is reported, none crashes, and hunks count lines as git does.
#[tokio::test]
async fn odd_changes_are_all_reported() {
    let repo = Repo::new();
    let odd =
        ["with space", "quo\"te", "new\nline", "tab\tbed", "ünï çødé", "@@ -1 +1 @@", "-dash"];
    for path in odd {
        repo.write(path, "one\ntwo\n");
    }
    repo.write("moved-from.txt", "1\n2\n3\n4\n5\n6\n7\n8\n").write("gone", "x\n");
    repo.write("binary", b"\0\x01").write("crlf", "a\r\nb\r\n").write("latin", b"caf\xe9\n");
    repo.write("noeof", "a").write("script.md", "x\n").write("becomes-link", "text\n");
    repo.commit("base");
    for path in odd {
        repo.write(path, "one\nTWO\n");
    }
    repo.remove("moved-from.txt").write("moved-to.txt", "1\n2\n3\n4\n5\n6\n7\neight\n");
    repo.remove("gone").write("binary", b"\0\x02").write("crlf", "a\r\nB\r\n");
    repo.write("latin", b"caf\xe9s\n").write("noeof", "a\nb").write("empty", "");
    repo.remove("becomes-link");
    std::os::unix::fs::symlink("crlf", repo.path().join("becomes-link")).unwrap();
    repo.git(["add", "-A"]);
    repo.git(["update-index", "--chmod=+x", "script.md"]);
    let id = repo.git(["rev-parse", "HEAD"]);
    repo.git(["update-index", "--add", "--cacheinfo", &format!("160000,{id},module")]);
    repo.git(["commit", "-q", "-m", "odd"]);

    let range = repo.resolve("HEAD~1..HEAD").await.unwrap();
    let change = open(&range).await;
    let changes = change.files().await.unwrap();
    let of =
        |path: &str| changes.iter().find(|c| c.path == path).unwrap_or_else(|| panic!("{path}"));
    for path in odd {
        let hunk = Hunk { old_start: 2, old_lines: 1, new_start: 2, new_lines: 1 };
        assert_eq!(
            (of(path).status, &of(path).hunks[..]),
            (Status::Modified, &[hunk][..]),
            "{path}"
        );
    }
    let moved = of("moved-to.txt");
    assert_eq!(
        (moved.status, moved.old_path.as_deref()),
        (Status::Renamed, Some("moved-from.txt"))
    );
    assert_eq!(moved.added().collect::<Vec<_>>(), [8..=8]);
    assert_eq!(of("gone").status, Status::Deleted);
    assert!(of("binary").binary && of("binary").hunks.is_empty());
    assert_eq!(of("crlf").added().collect::<Vec<_>>(), [2..=2]);
    assert_eq!(of("noeof").added().collect::<Vec<_>>(), [1..=2]);
    assert_eq!(of("becomes-link").status, Status::TypeChanged);
    assert_eq!(of("becomes-link").head.kind, EntryKind::Symlink);
    assert_eq!(of("script.md").head.kind, EntryKind::Executable);
    assert_eq!(of("module").head.kind, EntryKind::Submodule);
    assert_eq!(of("empty").size, Some(0));
    assert_eq!(changes.len(), odd.len() + 10);

    let blobs: Vec<String> = ["latin", "binary", "crlf"].map(|p| of(p).head.blob.clone()).to_vec();
    let contents = change.contents(&blobs, 6).await.unwrap();
    assert_eq!(contents[0], Content::Text { text: "caf\u{fffd}s\n".into(), lossy: true });
    assert_eq!(contents[1], Content::Binary);
    assert_eq!(contents[2], Content::Text { text: "a\r\nB\r\n".into(), lossy: false });
    assert_eq!(change.contents(&blobs, 5).await.unwrap()[2], Content::TooLarge(6));
    let none = change.contents(&["0".repeat(40)], 5).await.unwrap();
    assert_eq!(none, [Content::Missing]);
}

/// Nothing a repository configures is run, and its attributes hide nothing.
#[tokio::test]
async fn nothing_of_the_repository_is_executed_or_obeyed() {
    let repo = Repo::new();
    repo.write("a.py", "x = 1\n").write(".gitattributes", "*.py -diff diff=evil filter=evil\n");
    repo.commit("base");
    repo.write("a.py", "x = 1\nbreakpoint()\n").commit("change");
    let canary = repo.path().join("canary");
    let touch = format!("touch '{}'; cat", canary.display());
    for key in [
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.smudge",
        "filter.evil.clean",
        "filter.evil.process",
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
    ] {
        repo.git(["config", key, &touch]);
    }
    let range = repo.resolve("HEAD~1..HEAD").await.unwrap();
    let change = open(&range).await;
    let changes = change.files().await.unwrap();
    assert_eq!(changes[0].added().collect::<Vec<_>>(), [2..=2]);
    assert!(!changes[0].binary);
    let content = change.contents(&[changes[0].head.blob.clone()], 100).await.unwrap();
    assert!(matches!(&content[0], Content::Text { text, .. } if text.contains("breakpoint")));
    assert!(change.base_file("a.py", 100).await.unwrap().is_some());
    assert_eq!(change.base_file("nope", 100).await.unwrap(), None);
    assert!(!canary.exists());
}

/// Both sides of a small change are read the first time that one of them is asked for; one that cannot be read keeps nobody
/// from the other.
#[tokio::test]
async fn the_sides_of_a_small_change_are_read_together() {
    let repo = Repo::new();
    repo.write("a.py", "x = 1\n").commit("base");
    repo.write("a.py", "x = 2\n").commit("change");
    let range = repo.resolve("HEAD~1..HEAD").await.unwrap();
    let [known, broken] = [open(&range).await, open(&range).await];
    let file = known.files().await.unwrap().remove(0);
    broken.files().await.unwrap();
    let (base, head) = ([file.base.blob], [file.head.blob]);
    let text = |text: &str| [Content::Text { text: text.to_owned(), lossy: false }];
    assert_eq!(known.contents(&head, 100).await.unwrap(), text("x = 2\n"));

    let (folder, name) = base[0].split_at(2);
    let object = repo.path().join(".git/objects").join(folder).join(name);
    std::fs::remove_file(&object).unwrap();
    std::fs::write(&object, "garbage").unwrap();
    assert_eq!(known.contents(&base, 100).await.unwrap(), text("x = 1\n"));
    assert_eq!(broken.contents(&head, 100).await.unwrap(), text("x = 2\n"));
    let unread = broken.contents(&base, 100).await;
    assert!(!matches!(&unread, Ok(read) if read[..] == text("x = 1\n")), "{unread:?}");
}

/// A change is of the day of its head; what is not committed has none.
#[tokio::test]
async fn a_change_has_the_day_of_its_head() {
    let repo = Repo::new();
    repo.write("a", "1\n").commit("one");
    let committed = repo.resolve("HEAD^!").await.unwrap();
    let day = open(&committed).await.day().await.unwrap();
    assert_eq!(day.map(|day| day.to_string()).as_deref(), Some("2024-01-02"));
    repo.write("b", "1\n");
    let now = resolve(&repo.path(), Selection::WorkTree).await.unwrap();
    assert_eq!(open(&now).await.day().await.unwrap(), None);
}

/// Who owns a repository is told by the address that it came from.
#[tokio::test]
async fn a_change_has_the_owner_of_its_repository() {
    let repo = Repo::new();
    repo.write("a", "1\n").commit("one");
    let target = repo.resolve("HEAD^!").await.unwrap();
    assert_eq!(open(&target).await.owner().await.unwrap(), None);
    let addresses = [
        ("https://example.org/acme/tool.git", Some("acme")),
        ("git@example.org:acme/tool", Some("acme")),
        ("https://example.org/group/acme/tool", Some("acme")),
        ("/srv/acme/tool", None),
    ];
    for (address, owner) in addresses {
        repo.git(["config", "remote.origin.url", address]);
        assert_eq!(open(&target).await.owner().await.unwrap().as_deref(), owner, "{address}");
    }
}

/// What was edited in the second of the last commit, and has its size, differs from it all the same.
#[tokio::test]
async fn an_edit_right_after_a_commit_is_seen() {
    let repo = Repo::new();
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let dated = |path: &str| {
        let file = std::fs::File::options().write(true).open(repo.path().join(path)).unwrap();
        file.set_modified(at).unwrap();
    };
    // The other time that git knows of a file is that of this test.
    repo.git(["config", "core.trustctime", "false"]);
    repo.write("a", "1\n");
    dated("a");
    repo.commit("one");
    repo.write("a", "2\n");
    dated("a");
    dated(".git/index");
    let now = resolve(&repo.path(), Selection::WorkTree).await.unwrap();
    assert_eq!(open(&now).await.files().await.unwrap().len(), 1);
}
