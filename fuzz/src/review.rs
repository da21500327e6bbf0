//! What is fuzzed of the review: the patch parser and the anchors, with git as the oracle; rules and
//! settings of a repository; suppressions, secrets, and every grammar.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
    process::Command,
};

use fastrand::Rng;
use verdict::{
    analysis::{
        Confidence, Finding, LineSet, Lines, MaskedText, Ruleset, Severity, Side, Source,
        SourceText, examine, examples, secrets, suppressions::Suppressions,
    },
    forge::diff::{FilePatch, Hunk, PatchParser, new_to_old, old_to_new},
    workflows::review::{
        judge::{self, Placed},
        past::Past,
        settings::Settings,
    },
};

/// A patch: an answer, the same whether lines come whole or cut, and line maps that hold together.
pub fn patch(bytes: &[u8]) {
    let whole = PatchParser::default().parse(bytes);
    let mut cut = PatchParser::default();
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let lines = text.split(|byte| *byte == b'\n').filter(|_| !text.is_empty());
    let lines: Result<Vec<()>, _> =
        lines.map(|line| cut.line(&line[..line.len().min(PatchParser::PREFIX)])).collect();
    let cut = lines.and_then(|_| cut.finish());
    if !text.split(|byte| *byte == b'\n').any(|line| line.len() > PatchParser::PREFIX) {
        assert_eq!(whole, cut);
    }
    for files in [whole, cut, PatchParser::bare().parse(bytes)].into_iter().flatten() {
        files.iter().for_each(|file| maps(&file.hunks));
    }
}

/// Whatever the hunks, lines are mapped without a panic, and there and back where both ways lead.
fn maps(hunks: &[Hunk]) {
    let edges = hunks.iter().flat_map(|h| [h.old_start, h.new_start, h.old_lines, h.new_lines]);
    for line in
        edges.flat_map(|n| [n.saturating_sub(1), n, n.saturating_add(1)]).chain([1, u32::MAX])
    {
        let there = old_to_new(hunks, line);
        let back = new_to_old(hunks, line);
        if hunks.is_empty() {
            assert_eq!((there, back), (Some(line), Some(line)));
        }
    }
    for hunk in hunks {
        assert!(hunk.old_lines + hunk.new_lines > 0, "{hunk:?}");
        assert_eq!(hunk.added().is_some(), hunk.new_lines > 0);
        assert_eq!(hunk.removed().is_some(), hunk.old_lines > 0);
    }
}

/// How many pairs of texts one input makes.
const PAIRS: usize = 25;

/// Random edits of random texts, in part made of the input's own lines: what git says about them is
/// read so that the new text can be put together from it, and findings stand where they quote.
pub fn edits(bytes: &[u8]) {
    let mut hash = DefaultHasher::new();
    bytes.hash(&mut hash);
    let mut rng = Rng::with_seed(hash.finish());
    let pairs: Vec<(Vec<u8>, Vec<u8>)> = (0..PAIRS).map(|_| pair(&mut rng, bytes)).collect();
    let folder = tempfile::tempdir().expect("a folder can be made");
    for (index, (old, new)) in pairs.iter().enumerate() {
        write(&folder.path().join("old"), index, old);
        write(&folder.path().join("new"), index, new);
    }
    let algorithm = ["histogram", "myers", "patience", "minimal"][rng.usize(..4)];
    let output = Command::new("git")
        .args(["diff", "--no-index", "--no-color", "--no-ext-diff", "--no-textconv"])
        .arg(format!("--diff-algorithm={algorithm}"))
        .arg(format!("-U{}", rng.u8(..4)))
        .args(["old", "new"])
        .current_dir(folder.path())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .expect("git can be started");
    let mut files =
        PatchParser::default().parse(&output.stdout).expect("git writes patches").into_iter();
    for (old, new) in pairs.iter().filter(|(old, new)| old != new) {
        let file = files.next().expect("every changed file is in the patch");
        if file.binary {
            assert!(old.contains(&0) || new.contains(&0));
            continue;
        }
        agrees(&file, old, new);
        anchored(&mut rng, &file.hunks, old, new);
    }
    assert!(files.next().is_none());
}

fn write(folder: &Path, index: usize, text: &[u8]) {
    std::fs::create_dir_all(folder).expect("a folder can be made");
    std::fs::write(folder.join(format!("{index:03}")), text).expect("a file can be written");
}

/// A text and what became of it.
fn pair(rng: &mut Rng, bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let few: [&[u8]; 10] = [
        b"a",
        b"b",
        b"",
        b"\r",
        b"@@ -1 +1 @@",
        b"-x",
        b"+y",
        b"diff --git a b",
        b"\\ No",
        b"\xff",
    ];
    let own: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').take(40).collect();
    let line = |rng: &mut Rng| match rng.u8(..3) {
        0 => own[rng.usize(..own.len())],
        _ => few[rng.usize(..few.len())],
    };
    let old: Vec<&[u8]> = (0..rng.usize(..60)).map(|_| line(rng)).collect();
    let mut new = old.clone();
    for _ in 0..rng.u8(..6) {
        let at = rng.usize(..=new.len());
        let to = rng.usize(at..=new.len()).min(at + 8);
        match rng.u8(..4) {
            0 => drop(new.drain(at..to)),
            1 => {
                let moved: Vec<&[u8]> = new.drain(at..to).collect();
                let back = rng.usize(..=new.len());
                drop(new.splice(back..back, moved).collect::<Vec<_>>());
            }
            2 => drop(new.splice(at..at, new[at..to].to_vec()).collect::<Vec<_>>()),
            _ => {
                let lines: Vec<&[u8]> = (0..rng.u8(..5)).map(|_| line(rng)).collect();
                drop(new.splice(at..to, lines).collect::<Vec<_>>());
            }
        }
    }
    (joined(rng, &old), joined(rng, &new))
}

fn joined(rng: &mut Rng, lines: &[&[u8]]) -> Vec<u8> {
    let mut text = lines.join(&b'\n');
    if rng.u8(..4) > 0 && !text.is_empty() {
        text.push(b'\n');
    }
    text
}

fn split(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The new text is the old one with the hunks' lines in place of those they removed.
fn agrees(file: &FilePatch, old: &[u8], new: &[u8]) {
    let (old, new) = (split(old), split(new));
    let (mut made, mut at): (Vec<&[u8]>, usize) = (Vec::new(), 0);
    for hunk in &file.hunks {
        let first = hunk.removed().map_or(hunk.old_start, |range| range.start() - 1) as usize;
        made.extend(&old[at..first]);
        if let Some(added) = hunk.added() {
            assert_eq!(*added.start() as usize, made.len() + 1, "{hunk:?}");
            made.extend(&new[*added.start() as usize - 1..*added.end() as usize]);
        }
        at = first + hunk.old_lines as usize;
    }
    made.extend(&old[at..]);
    assert_eq!(made, new);
    for number in 1..=u32::try_from(old.len()).expect("a short text") {
        if let Some(to) = old_to_new(&file.hunks, number) {
            assert_eq!(old[number as usize - 1], new[to as usize - 1]);
            assert_eq!(new_to_old(&file.hunks, to), Some(number));
        }
    }
}

/// What quotes a line of the head stands on a line that reads so; on the very one when it names it.
fn anchored(rng: &mut Rng, hunks: &[Hunk], old: &[u8], new: &[u8]) {
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let (base, head) = (Lines::new(&old), Lines::new(&new));
    let mut right = Vec::new();
    for range in hunks.iter().filter_map(Hunk::added) {
        right.extend(range.map(|number| finding(number, head.get(number).expect("added"))));
    }
    for number in 1..=base.count() {
        let quote = base.get(number).expect("it is there");
        right.extend(old_to_new(hunks, number).map(|to| finding(to, quote)));
    }
    let texts = HashMap::from([("a".to_owned(), new.clone().into_owned())]);
    let settings = Settings { max_findings: usize::MAX, ..Settings::default() };
    let (kept, left_out) =
        judge::select(Placed::of(right.clone(), &texts), &settings, &Past::default());
    assert_eq!((kept.len() + left_out.merged, left_out.unanchored), (right.len(), 0));
    // From memory of the base, lines off by what the change moved, or by anything.
    let off =
        (1..=base.count()).map(|n| finding(rng.u32(..=n + 60), base.get(n).expect("it is there")));
    let (moved, _) = judge::select(Placed::of(off.collect(), &texts), &settings, &Past::default());
    for kept in kept.iter().chain(&moved).filter(|finding| !finding.is_whole_file()) {
        let line = head.get(kept.start_line).expect("a finding stands on a line there is");
        assert_eq!(line.trim(), kept.quote.trim());
        assert!(kept.end_line >= kept.start_line);
    }
}

fn finding(line: u32, quote: &str) -> Finding {
    Finding {
        fingerprint: format!("{line:016x}"),
        agent: "logic".into(),
        rule: format!("rule-{line}"),
        path: "a".into(),
        side: Side::Right,
        start_line: line,
        end_line: line,
        severity: Severity::High,
        confidence: Confidence::hundredths(90),
        title: format!("title {line}"),
        body: String::new(),
        suggestion: None,
        quote: quote.chars().take(Finding::QUOTE_CHARS).collect(),
        source: Source::Rule,
        flow: Vec::new(),
        unless: Default::default(),
    }
}

/// A repository's own rule: taken and tried, or refused with a cause and a line that is there.
pub fn own_rule(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut set = Ruleset::default();
    match set.add("rule.yml", text) {
        Ok(rule) => {
            assert!(set.contains(&rule.id));
            drop(examples::check(&set, &rule));
        }
        Err(error) => {
            let lines = u32::try_from(text.lines().count()).expect("a short text");
            assert!(!error.cause.trim().is_empty() && error.line <= lines + 1, "{error:?}");
        }
    }
}

/// A repository's review settings: taken and written again, or refused with a cause and a line.
pub fn review_settings(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Settings::parse(text, &["style", "logic"]) {
        Ok(settings) => {
            let json = serde_json::to_string(&settings).expect("settings can be kept");
            let back: Settings = serde_json::from_str(&json).expect("and read again");
            assert_eq!(back, settings);
            drop(settings.unknown_rules(text, |_| false));
        }
        Err(problems) => {
            let lines = u32::try_from(text.lines().count()).expect("a short text");
            for problem in &problems {
                let place = problem.line <= lines + 1;
                assert!(!problem.cause.trim().is_empty() && place, "{problem:?}");
            }
            assert!(!problems.is_empty());
        }
    }
}

/// A file, its name in the first line: its suppressions cover lines there are.
pub fn suppressions(bytes: &[u8]) {
    let (path, text) = named(bytes);
    let told = Suppressions::of(&path, &text);
    let count = Lines::new(&text).count();
    let covered = |n: &u32| told.covers(*n, "py-debugger") || told.covers(*n, "js-debugger");
    let marks = text.matches("verdict:ignore").count();
    assert!((0..=count + 2).filter(covered).count() <= 2 * marks);
}

/// A text: masking keeps its length, its lines and everything outside, and leaves nothing to mask.
pub fn masking(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let masked = secrets::mask(text.clone());
    assert_eq!(masked.text.len(), text.len());
    let differs = |(a, b): (u8, u8)| a != b && (b != b'*' || matches!(a, b'\n' | b'\r'));
    assert!(!text.bytes().zip(masked.text.bytes()).any(differs));
    let lines = Lines::new(&masked.text);
    for finding in masked.findings("a", &LineSet::all()) {
        assert!((1..=lines.count()).contains(&finding.start_line));
    }
    let again = secrets::mask(masked.text.to_string());
    assert_eq!(again.text, masked.text, "what is masked once is masked");
}

/// A file, its name in the first line: every finding stands on a line and quotes it, the same each
/// time.
pub fn source(bytes: &[u8]) {
    let (path, text) = named(bytes);
    let (text, touched) = (MaskedText::from(text), LineSet::all());
    let source = SourceText { path: &path, text: &text, touched: &touched };
    let rules = Ruleset::built_in();
    let examined = examine(&rules, source);
    let lines = Lines::new(&text);
    for finding in &examined.findings {
        assert!(finding.start_line <= finding.end_line && finding.fingerprint.len() == 16);
        let line = lines.get(finding.start_line).expect("a finding stands on a line there is");
        assert!(line.starts_with(&finding.quote), "{finding:?}");
        assert!(finding.end_line <= lines.count(), "{finding:?}");
    }
    assert_eq!(examine(&rules, source), examined);
}

/// A file name in the first line, its text after it.
fn named(bytes: &[u8]) -> (String, String) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    match text.split_once('\n') {
        Some((path, text)) => (path.to_owned(), text.to_owned()),
        None => (String::new(), text),
    }
}
