//! Every kind of change git knows, and every kind of text and path, each with its row of coverage.

use super::{Import, anchored, rows, verdict_of};
use crate::review::support::{Repo, found};

const BREAK: &str = "x = 1\nbreakpoint()\n";
/// Another, so that what goes is not taken for what comes.
const OTHER_BREAK: &str = "y = 1\nimport pdb; pdb.set_trace()\n";

#[tokio::test]
async fn every_kind_of_entry_is_accounted_for() {
    let repo = Repo::new();
    Import::new(&repo)
        .commit()
        .file("original.py", BREAK.repeat(5))
        .file("to-link.py", "x = 1\n")
        .entry("120000", "from-link.py", "original.py")
        .entry("120000", "link", "a")
        .file("to-module", "x\n")
        .module("from-module.py", '1')
        .module("module", '1')
        .module("gone-module", '1')
        .file("mode.py", BREAK)
        .file("mode-and-text.py", "x = 1\n")
        .file("emptied.py", OTHER_BREAK)
        .file("gone.py", OTHER_BREAK)
        .entry("120000", "gone-link", "a")
        .commit()
        .file("copy.py", BREAK.repeat(5))
        .entry("120000", "to-link.py", "/etc/passwd")
        .file("from-link.py", BREAK)
        .entry("120000", "link", "../../../../etc/passwd")
        .entry("120000", "new-link", "breakpoint()")
        .module("to-module", '2')
        .file("from-module.py", BREAK)
        .module("module", '2')
        .delete("gone-module")
        .delete("gone.py")
        .delete("gone-link")
        .entry("100755", "mode.py", BREAK)
        .entry("100755", "mode-and-text.py", BREAK)
        .file("emptied.py", "")
        .file("empty.py", "")
        .finish();
    let state = repo.review("HEAD^!").await;
    insta::assert_snapshot!(rows(&state).join("\n"), @r"
    copy.py Done
    emptied.py Done
    empty.py Skipped no line changed
    from-link.py Done
    from-module.py Done
    gone-link Skipped deleted
    gone-module Skipped deleted
    gone.py Skipped deleted
    link Skipped symbolic link
    mode-and-text.py Done
    mode.py Skipped no line changed
    module Skipped submodule
    new-link Skipped symbolic link
    to-link.py Skipped symbolic link
    to-module Skipped submodule
    ");
    insta::assert_snapshot!(found(&state).join("\n"), @r"
    py-debugger copy.py:2-2
    py-debugger copy.py:4-4
    py-debugger copy.py:6-6
    py-debugger copy.py:8-8
    py-debugger copy.py:10-10
    py-debugger from-link.py:2-2
    py-debugger from-module.py:2-2
    py-debugger mode-and-text.py:2-2
    ");
    anchored(&repo, &state);
    assert_eq!(verdict_of(&state), "comments");
}

#[tokio::test]
async fn every_kind_of_text_is_read_by_gits_lines() {
    let repo = Repo::new();
    let lines = "a = 1\nb = 2\nc = 3\n";
    Import::new(&repo)
        .commit()
        // Where only the end of the last line changed it is no news, and less sure.
        .file(".verdict.toml", "[review]\nmin_confidence = 0.4\n")
        .file("crlf.py", lines)
        .file("end-lost.py", "a = 1\nbreakpoint()\n")
        .file("end-won.py", "a = 1\nbreakpoint()")
        .file("nul.py", lines)
        .file("was-nul.py", b"a\0b\n")
        .commit()
        .file("crlf.py", "a = 1\r\nb = 2\r\nbreakpoint()\r\n")
        .file("end-lost.py", "a = 1\nbreakpoint()")
        .file("end-won.py", "a = 1\nbreakpoint()\n")
        .file("nul.py", b"breakpoint()\n\0")
        .file("was-nul.py", BREAK)
        .file("late-nul.py", [BREAK.repeat(600).as_bytes(), b"\0"].concat())
        .file("bom.py", "\u{feff}breakpoint()\n")
        .file("lone-cr.py", "a = 1\rbreakpoint()\n")
        .file("utf-16.py", [0xff, 0xfe, b'a', 0])
        .file("latin-1.py", b"# caf\xe9\nbreakpoint()\n")
        .file("separators.py", "s = 'a\u{2028}b\u{85}c\u{b}d'\nbreakpoint()\n")
        .file("minified.js", format!("{};debugger\n", "var a=1;".repeat(130_000)))
        .file("long-lines.py", format!("# {}\n", "é".repeat(9_000)).repeat(50))
        .finish();
    let state = repo.review("HEAD^!").await;
    insta::assert_snapshot!(rows(&state).join("\n"), @r"
    bom.py Done
    crlf.py Done
    end-lost.py Done
    end-won.py Done
    late-nul.py Skipped binary
    latin-1.py Done not valid UTF-8; the invalid bytes were replaced
    lone-cr.py Done
    long-lines.py Done
    minified.js Skipped minified (a line is too long to be read)
    nul.py Skipped binary
    separators.py Done
    utf-16.py Skipped binary
    was-nul.py Skipped binary
    ");
    insta::assert_snapshot!(found(&state).join("\n"), @r"
    py-debugger bom.py:1-1
    py-debugger crlf.py:3-3
    py-debugger latin-1.py:2-2
    py-debugger lone-cr.py:1-1
    py-debugger separators.py:2-2
    py-debugger end-lost.py:2-2
    py-debugger end-won.py:2-2
    ");
    anchored(&repo, &state);
}

/// No path is mistaken for another, for an option, or for part of a patch.
#[tokio::test]
async fn every_kind_of_path_is_told_apart() {
    let repo = Repo::new();
    let deep = format!("{}a.py", "d/".repeat(1_000));
    let long = format!("{}/a.py", "n".repeat(9_000));
    let paths: [&[u8]; 14] = [
        b"\xfe.py",
        b"\xff.py",
        b"--output=x.py",
        b":(exclude)a.py",
        b"a b.py",
        b"a\tb.py",
        b"a\nb.py",
        b"a\\b.py",
        "\"quoted\".py".as_bytes(),
        "ünï/çødé.py".as_bytes(),
        b"@@ -1 +1 @@.py",
        b"*[a-z]?.py",
        deep.as_bytes(),
        long.as_bytes(),
    ];
    let base = paths.iter().fold(Import::new(&repo).commit(), |to, path| to.file(path, "a = 1\n"));
    let each = paths.iter().enumerate();
    each.fold(base.commit(), |to, (index, path)| {
        to.file(path, format!("{}breakpoint()\n", "a = 1\n".repeat(index + 1)))
    })
    .finish();
    let state = repo.review("HEAD^!").await;
    let findings = found(&state);
    for (index, path) in paths.iter().enumerate() {
        let shown = match *path {
            b"\xfe.py" => "\\xfe.py".to_owned(),
            b"\xff.py" => "\\xff.py".to_owned(),
            path => String::from_utf8(path.to_vec()).unwrap(),
        };
        let line = index + 2;
        let expected = format!("py-debugger {shown}:{line}-{line}");
        assert!(findings.contains(&expected), "{expected}\n{findings:?}");
    }
    assert_eq!((findings.len(), rows(&state).len()), (paths.len(), paths.len()));
    assert!(rows(&state).iter().all(|row| row.ends_with(" Done")));
    anchored(&repo, &state);
}

/// Attributes and module settings that a change brings along, or that stand in the work tree, hide
/// nothing of it.
#[tokio::test]
async fn attributes_hide_nothing() {
    let attributes = "* -diff -text binary linguist-generated=true linguist-vendored\n\
                      *.py diff=odd filter=odd export-ignore working-tree-encoding=UTF-16\n\
                      [attr]odd -diff\n";
    let modules = "[submodule \"m\"]\n\tpath = m\n\turl = ./m\n\tignore = all\n";
    let repo = Repo::new();
    Import::new(&repo)
        .commit()
        .file(".gitattributes", attributes)
        .file(".gitmodules", modules)
        .file("a.py", "x = 1\n")
        .module("m", '1')
        .commit()
        .file("sub/.gitattributes", attributes)
        .file("a.py", BREAK)
        .file("sub/a.py", BREAK)
        .module("m", '2')
        .finish();
    // As they lie in the work tree, and as somebody's own settings have it.
    repo.write(".gitattributes", attributes).write(".gitmodules", modules);
    for (key, value) in [
        ("diff.ignoreSubmodules", "all"),
        ("submodule.m.ignore", "all"),
        ("diff.odd.binary", "true"),
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.suppressBlankEmpty", "true"),
        ("diff.renames", "copies"),
        ("diff.renameLimit", "1"),
        ("diff.relative", "true"),
        ("diff.orderFile", "/no/such/file"),
        ("diff.context", "7"),
        ("diff.interHunkContext", "9"),
        ("diff.wordRegex", "."),
        ("diff.colorMoved", "zebra"),
        ("color.ui", "always"),
        ("core.quotePath", "false"),
        ("core.bigFileThreshold", "1"),
        ("core.precomposeUnicode", "true"),
        ("core.ignoreCase", "true"),
    ] {
        repo.git(["config", key, value]);
    }
    let state = repo.review("HEAD^!").await;
    let expected = ["a.py Done", "m Skipped submodule", "sub/.gitattributes Done", "sub/a.py Done"];
    assert_eq!(rows(&state), expected);
    assert_eq!(found(&state), ["py-debugger a.py:2-2", "py-debugger sub/a.py:2-2"]);
    anchored(&repo, &state);
}
