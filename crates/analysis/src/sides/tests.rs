//! Tests removed or emptied while what they test stays.

use std::{collections::HashSet, ops::Range, sync::OnceLock};

use ast_grep_language::SupportLang as S;
use regex::Regex;

use super::{
    Claim, Unless,
    about::{TEST, TEST_EMPTY, TEST_FILE},
    compared::{Compared, Said},
    syntax::{Syntax, Token},
};
use crate::{Finding, Lang, checks::At};

/// A test with a name.
#[derive(Debug, Clone)]
struct Test {
    name: String,
    all: Range<usize>,
}

/// Whether a line declares a test.
pub(super) fn declares(line: &str) -> bool {
    static TEST: OnceLock<Option<Regex>> = OnceLock::new();
    let test = TEST.get_or_init(|| {
        Regex::new(
            r#"(?x)\bdef\s+test_ | ^\s*(it|test|specify|scenario|context|describe)(\.\w+)*\s*[\(\s]\s*['"`]
              | ^func\s+(Test|Benchmark|Fuzz|Example) | ^\s*\#\[(\w+::)*(test|rstest|test_case)\b
              | @(Test|ParameterizedTest|RepeatedTest)\b | ^\s*\[(Fact|Theory|Test|TestCase|TestMethod)\b
              | function\s+test | ^\s*(TEST|TEST_F|TEST_P|TEST_CASE|TEST_IMPL)\s*\( | parametrize"#,
        )
        .ok()
    });
    test.as_ref().is_some_and(|t| t.is_match(line))
}

pub(super) fn look(compared: &Compared<'_>) -> Vec<Claim> {
    let inline = compared.language == Lang::Known(S::Rust);
    if !(compared.test || inline) || compared.pair.removed.is_empty() {
        return Vec::new();
    }
    let (old, new) = (all(&compared.base), all(&compared.head));
    let mut claims: Vec<Claim> = removed(compared, &old, &new).into_iter().collect();
    claims.extend(old.iter().filter_map(|test| emptied(compared, test, &new)));
    claims
}

/// The tests of one side.
fn all(syntax: &Syntax<'_>) -> Vec<Test> {
    let functions = syntax.functions.iter().filter(|f| {
        let before = syntax.of(&(f.all.start..f.parameters.start));
        let marked = before.windows(2).any(|w| {
            matches!(w[0].text, "@" | "[" | "::")
                && matches!(
                    w[1].text,
                    "Test"
                        | "ParameterizedTest"
                        | "Fact"
                        | "Theory"
                        | "TestMethod"
                        | "TestCase"
                        | "test"
                        | "rstest"
                )
        });
        let named = match syntax.language {
            Lang::Known(S::Go) => ["Test", "Fuzz"].iter().any(|w| f.name().starts_with(w)),
            Lang::Known(S::Python | S::Ruby) => f.name().starts_with("test_"),
            Lang::Known(S::Php) => f.name().starts_with("test"),
            _ => false,
        };
        marked || named
    });
    let functions = functions.map(|f| Test { name: f.path.join("."), all: f.all.clone() });
    let calls = syntax.calls.iter().filter_map(|call| {
        let callee = syntax.of(&call.callee);
        let test = matches!(callee.first()?.text, "it" | "test" | "specify") && callee.len() == 1;
        let arguments = syntax.of(&call.arguments);
        let name = arguments.iter().find(|t| !matches!(t.text, "(" | "\"" | "`"))?;
        let text = arguments.iter().take(2).any(|t| matches!(t.text, "\"" | "`"));
        (test && text).then(|| Test { name: name.text.to_owned(), all: call.all.clone() })
    });
    functions.chain(calls).collect()
}

/// About the first of the tests that are gone, when none came.
fn removed(compared: &Compared<'_>, old: &[Test], new: &[Test]) -> Option<Claim> {
    let base = &compared.base;
    let names = |tests: &[Test]| tests.iter().map(|t| t.name.clone()).collect::<HashSet<_>>();
    let (olds, news) = (names(old), names(new));
    if news.iter().any(|n| !olds.contains(n)) {
        return None;
    }
    let gone: Vec<&Test> = old
        .iter()
        .filter(|t| !news.contains(&t.name))
        .filter(|t| {
            let (first, last) = base.line_span(&t.all);
            (first..=last).filter(|l| compared.removed(*l)).count() * 5
                >= (last - first + 1) as usize * 4
        })
        .collect();
    let first = gone.first()?;
    let calls: Vec<String> = gone.iter().flat_map(|t| used(base, t)).collect();
    let more = match gone.len() {
        1 => String::new(),
        count => format!(" So are {} others in this file.", count - 1),
    };
    let said = Said::body(format!(
        "`{}` is gone, no test came with this change, and nothing it uses was removed.{more}",
        first.name.replace('`', "'")
    ));
    let line = base.line_span(&first.all).0;
    let finding = compared.finding_on_base(&TEST, (line, line), said);
    let unless = Unless { tests: true, gone: calls, ..Unless::default() };
    Some(Claim { finding, unless })
}

/// The names a test uses, its own aside.
fn used(base: &Syntax<'_>, test: &Test) -> Vec<String> {
    let own = test.name.rsplit('.').next().unwrap_or("");
    let names = base.of(&test.all).iter().filter(|t| t.name && t.text != own);
    let names = names.map(|t| t.text.to_owned());
    names.collect::<HashSet<_>>().into_iter().collect()
}

fn asserts(token: &Token<'_>) -> bool {
    let low = token.text.to_ascii_lowercase();
    let words = [
        "assert",
        "expect",
        "should",
        "verify",
        "require",
        "check",
        "must",
        "fail",
        "error",
        "fatal",
        "raise",
        "throw",
        "refute",
        "snapshot",
        "is_expected",
        "panic",
        "unwrap",
        "compare",
        "equal",
        "eventually",
        "wait",
        "ensure",
        "validate",
        "suite",
        "match",
    ];
    words.iter().any(|w| low.contains(w)) || token.text == "?"
}

/// Whether the token is the test's name, which may well say what it should do.
fn names(test: &Test, token: &Token<'_>) -> bool {
    test.name.ends_with(token.text.trim_matches(['"', '\'', '`']))
}

fn emptied(compared: &Compared<'_>, before: &Test, new: &[Test]) -> Option<Claim> {
    let (base, head) = (&compared.base, &compared.head);
    let now = new.iter().find(|t| t.name == before.name)?;
    let assertion = base
        .of(&before.all)
        .iter()
        .find(|t| asserts(t) && compared.removed(t.line) && !names(before, t))?;
    let (old, new) = (base.of(&before.all), head.of(&now.all));
    let kept = new.iter().any(|t| asserts(t) && !names(before, t));
    let calls =
        head.calls.iter().filter(|c| now.all.contains(&c.all.start) && c.all.start > now.all.start);
    let added = calls.clone().any(|c| compared.added(head.line_span(&c.callee).0));
    if kept || added || calls.count() == 0 || old.len() < new.len() {
        return None;
    }
    let line = head.line_span(&now.all).0;
    let said = Said::body(format!(
        "Its assertions went (the first was in line {} of the base) and the rest stays: it passes \
         whatever the code does.",
        assertion.line
    ));
    let finding = compared.finding(&TEST_EMPTY, (line, line), said);
    Some(Claim { finding, unless: Unless::default() })
}

/// Where the file may be that a file of tests is about, by its name; most likely first.
pub fn subjects(path: &str) -> Vec<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let Some((stem, extension)) = name.rsplit_once('.') else { return Vec::new() };
    let own = ["_test", ".test", ".spec", "_spec", "Test", "Tests"];
    let stripped = own.iter().find_map(|end| stem.strip_suffix(end)).filter(|s| !s.is_empty());
    let Some(subject) = stripped.or_else(|| stem.strip_prefix("test_")) else { return Vec::new() };
    let file = format!("{subject}.{extension}");
    let beside = |folder: &str| match folder {
        "" => file.clone(),
        folder => format!("{folder}/{file}"),
    };
    let mut found = vec![beside(folder)];
    if let Some(parent) = folder.strip_suffix("__tests__") {
        found.push(beside(parent.trim_end_matches('/')));
    }
    for (tests, sources) in [
        ("src/test/", "src/main/"),
        ("tests/", "src/"),
        ("tests/", ""),
        ("test/", "lib/"),
        ("test/", "src/"),
        ("test/", ""),
        ("test/", "app/"),
        ("spec/", "lib/"),
        ("spec/", "app/"),
        ("tests/", "lib/"),
    ] {
        if let Some(rest) = format!("{folder}/").strip_prefix(tests) {
            found.push(format!("{sources}{rest}{file}"));
        } else if tests == "src/test/" && folder.contains(tests) {
            found.push(beside(&folder.replace(tests, sources)));
        }
    }
    found
}

/// About a file of tests that is gone while `subject` stays.
pub fn file_removed(path: &str, subject: &str) -> Finding {
    let body = format!(
        "Its name says that it tests `{subject}`, which stays, and no other test gains a line in this \
         change.\n\n{}",
        TEST_FILE.advice
    );
    let at = At { path, number: 0, line: "" };
    let confidence = TEST_FILE.confidence.get();
    at.finding(
        TEST_FILE.id,
        TEST_FILE.category,
        TEST_FILE.severity,
        confidence,
        TEST_FILE.title,
        &body,
    )
}
