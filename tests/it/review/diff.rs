//! Hunks and line maps against git itself.

use proptest::prelude::*;
use verdict::forge::diff::{Hunk, PatchParser, new_to_old, old_to_new};

fn lines() -> impl Strategy<Value = Vec<u8>> {
    // Few different lines make many accidental matches; some look like parts of a patch.
    let line =
        prop::sample::select(vec!["a", "b", "", "@@ -1 +1 @@", "-x", "+y", "diff --git a b"]);
    (prop::collection::vec(line, 0..30), any::<bool>()).prop_map(|(lines, end)| {
        let mut text = lines.join("\n").into_bytes();
        if end && !text.is_empty() {
            text.push(b'\n');
        }
        text
    })
}

fn split(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text.split_inclusive(|b| *b == b'\n').collect();
    if lines.last().is_some_and(|l| l.is_empty()) {
        lines.pop();
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Lines outside the hunks are the same on both sides, whatever the context of the patch.
    #[test]
    fn line_maps_agree_with_git(old in lines(), new in lines(), context in 0..4_u32) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("old"), &old).unwrap();
        std::fs::write(folder.path().join("new"), &new).unwrap();
        let output = std::process::Command::new("git")
            .args(["diff", "--no-index", "--no-color", &format!("-U{context}"), "old", "new"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let files = PatchParser::default().parse(&output.stdout).unwrap();
        let hunks: Vec<Hunk> = files.first().map(|f| f.hunks.clone()).unwrap_or_default();
        let (old, new) = (split(&old), split(&new));
        prop_assert_eq!(old == new, hunks.is_empty());

        let mut mapped = 0;
        for number in 1..=u32::try_from(old.len()).unwrap() {
            let Some(at) = old_to_new(&hunks, number) else { continue };
            mapped += 1;
            prop_assert_eq!(old[number as usize - 1], new[at as usize - 1]);
            prop_assert_eq!(new_to_old(&hunks, at), Some(number));
        }
        let added: u32 = hunks.iter().map(|h| h.new_lines).sum();
        prop_assert_eq!(mapped + added as usize, new.len());
        for range in hunks.iter().filter_map(Hunk::added) {
            prop_assert!(range.clone().all(|n| new_to_old(&hunks, n).is_none()));
            prop_assert!(*range.end() as usize <= new.len());
        }
    }

    /// Whatever it is fed, the parser answers.
    #[test]
    fn the_parser_never_panics(patch in prop::collection::vec(prop::sample::select(vec![
        "@@ -1,2 +3,4 @@", "@@ -4294967295,4294967295 +1 @@", "@@", "+", "-", " ", "\\", "x", "",
        "diff --git a b", "index 1..2 3", "Binary files a and b differ",
    ]), 0..20)) {
        let _ = PatchParser::default().parse(patch.join("\n").as_bytes());
        let _ = PatchParser::bare().parse(patch.join("\n").as_bytes());
    }
}

/// A code host's patch of one file: hunks only, with context.
#[test]
fn a_bare_patch_is_read_without_its_context() {
    let patch = "@@ -1,4 +1,5 @@ fn a() {\n kept\n-old\n+new\n+newer\n kept\n kept\n\\ No newline at end of file";
    let files = PatchParser::bare().parse(patch.as_bytes()).unwrap();
    let hunk = Hunk { old_start: 2, old_lines: 1, new_start: 2, new_lines: 2 };
    assert_eq!(files[0].hunks, [hunk]);
    assert!(PatchParser::bare().parse(b"@@ -1,2 +1,2 @@\n kept").is_err());
}
