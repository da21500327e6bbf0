//! Texts that are deep, wide or hard in every language: an answer for each, and a stack and a
//! memory that do not grow with them.

use verdict::analysis::{Examined, Lang, LineSet, MaskedText, Ruleset, SourceText, examine};

use super::{bombs::size, rows};
use crate::review::support::{Repo, found};

/// Makes the grammars of languages parse whose rules would find nothing to look for.
const PARSED: &str = "\n# verdict:ignore py-debugger because it is a test\n";

fn examined(path: &str, text: &str) -> Examined {
    let (text, touched) = (&MaskedText::from(text), LineSet::all());
    examine(&Ruleset::built_in(), SourceText { path, text, touched: &touched })
}

/// On a thread with a stack as small as those that reviews are made on.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    thread.spawn(work).unwrap().join().unwrap();
}

#[test]
fn deep_texts_are_answered_in_every_language() {
    on_a_small_stack(|| {
        for language in Lang::all() {
            let path = language.file_name();
            let mut skipped = 0;
            for (open, close) in [
                ("(\n", ")\n"),
                ("[", "]\n"),
                ("f(", ")\n"),
                ("\"${", "}\""),
                ("!\n", ""),
                ("- ", "\n"),
            ] {
                for depth in [450, size(4_000, 50_000)] {
                    let nested = format!("{}x{}", open.repeat(depth), close.repeat(depth));
                    skipped += usize::from(examined(path, &(nested + PARSED)).skipped.is_some());
                }
            }
            let ladder: String = (0..600).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
            examined(path, &(ladder + PARSED));
            println!("{path}: {skipped} skipped");
        }
    });
}

/// As deep as is looked at, the rules that compare and search subtrees have stack enough.
#[test]
fn the_deepest_text_that_is_read_fits_the_stack() {
    on_a_small_stack(|| {
        let mut read = 0;
        for depth in (100..=1_000).step_by(100) {
            let deep = format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
            let python = format!("x = a\nif {deep} == {deep}:\n    breakpoint()\n");
            let script = format!("if ({deep} === {deep}) {{ a = a; debugger; }}\n");
            for (path, text) in [("a.py", python), ("a.js", script)] {
                let done = examined(path, &text);
                let found = done.findings.iter().any(|f| f.rule.ends_with("-debugger"));
                assert_eq!(found, done.skipped.is_none(), "{path} {depth}");
                read += usize::from(found);
            }
        }
        assert!((4..20).contains(&read), "{read}");
    });
}

/// What ends a process in the scanners of three grammars is kept from them.
#[test]
fn scanners_are_given_what_they_have_room_for() {
    let deep: String = (0..=260).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    let python: String = (0..520).map(|n| format!("{}if x:\n", " ".repeat(n))).collect();
    let python = format!("{python}{}breakpoint(f'{{x}}')\n", " ".repeat(520));
    let ruby = format!("binding.pry\nf(<<{}, <<B)\n", "A".repeat(240));
    for (path, text) in [("a.yml", deep.clone()), ("a.yml", "- ".repeat(260)), ("a.py", python)] {
        let skipped = examined(path, &format!("{text}{PARSED}on: push\n")).skipped;
        assert!(skipped.is_none_or(|why| why == "nested too deeply"), "{path}");
    }
    let skipped = examined("a.rb", &ruby).skipped;
    assert_eq!(skipped.as_deref(), Some("too hard to parse"));
}

/// A text that would keep its grammar busy for an hour is given up, at full size, after a minute; a
/// smaller one of its kind is read.
#[test]
fn hard_texts_are_given_up() {
    let times = size(200, 60_000);
    let deep = format!("{}{}", "<a>\n".repeat(times), "</a>\n".repeat(times));
    let done = examined("a.sh", &format!("eval \"$1\"\n{deep}"));
    assert_eq!(done.skipped.as_deref(), (times > 200).then_some("too hard to parse"));
}

/// What was not looked at is told with its reason, and what needs no grammar is still found.
#[tokio::test]
async fn a_text_too_deep_is_told_so() {
    let repo = Repo::new();
    repo.write("a.py", "x = 1\n").commit("base");
    let deep = format!("x = {}1{}\nbreakpoint()\n", "(\n".repeat(3_000), ")\n".repeat(3_000));
    let marks = "<<<<<<< a\n=======\n>>>>>>> b\n";
    repo.write("a.py", format!("{deep}{marks}")).write("b.py", "breakpoint()\n").commit("change");
    let state = repo.review("HEAD^!").await;
    assert_eq!(rows(&state), ["a.py Skipped nested too deeply", "b.py Done"]);
    let line = 6_003;
    let expected =
        [format!("conflict-marker a.py:{line}-{line}"), "py-debugger b.py:1-1".to_owned()];
    assert_eq!(found(&state), expected);
}

/// Words in a string tell nothing away, in a comment they do; so in every language with comments.
#[tokio::test]
async fn only_comments_tell_findings_away() {
    let repo = Repo::new();
    repo.write("README.md", "x\n").commit("base");
    repo.write("quoted.py", "s = '# verdict:ignore py-debugger it is said so'; breakpoint()\n");
    repo.write("above.py", "'''\n# verdict:ignore py-debugger it is said so\n'''; breakpoint()\n");
    repo.write("after.py", "breakpoint()  # verdict:ignore py-debugger it is a tool\n");
    repo.write(
        "both.py",
        "s = '# verdict:ignore x y'; breakpoint()  # verdict:ignore py-debugger it is a tool\n",
    );
    repo.write("quoted.js", "const s = '// verdict:ignore js-debugger it is so'; debugger;\n");
    repo.write(
        "template.js",
        "const s = `\n// verdict:ignore js-debugger it is so\n`; debugger;\n",
    );
    repo.write("block.js", "/* verdict:ignore js-debugger it is so */\ndebugger;\n");
    repo.write("string.py", "s = '# verdict:ignore no-such-rule at all'\n");
    repo.commit("change");
    let state = repo.review("HEAD^!").await;
    let mut findings = found(&state);
    findings.sort();
    let expected = [
        "js-debugger quoted.js:1-1",
        "js-debugger template.js:3-3",
        "py-debugger above.py:3-3",
        "py-debugger quoted.py:1-1",
    ];
    assert_eq!(findings, expected);
}
