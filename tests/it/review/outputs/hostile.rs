//! Whatever a change holds, it is shown as text: a reader of Markdown, asked for its structure,
//! finds no more of it than for harmless words.

use proptest::{prelude::*, test_runner::Config};
use pulldown_cmark::{Event, Options, Parser, Tag};
use verdict::workflows::review::report::{github, markdown};

use super::saying;

const ESC: char = '\u{1b}';

/// Things that act somewhere.
const NASTY: &[&str] = &[
    "<script>alert(1)</script>",
    "<img src=x onerror=y>",
    "<!-- gone",
    "</details>",
    "[link](https://example.org)",
    "![image](https://example.org/x.png)",
    "[ref]: https://example.org",
    "<https://example.org>",
    "https://example.org/a_b",
    "www.example.org",
    "@octocat",
    "a@example.org",
    "fixes #1",
    "owner/repo#12",
    "GH-7",
    "!9",
    "/close",
    "# heading",
    "- item",
    "+ item",
    "* item",
    "1. item",
    "1) item",
    "> quote",
    "===",
    "---",
    "***",
    "___",
    "```",
    "~~~",
    "``` `` `",
    "`code`",
    "`|`",
    "``a`<b>@octocat``",
    "@x``a`@octocat``",
    "`a``b`",
    "| a | b |",
    "|---|---|",
    "**bold** __bold__ *i* _i_ ~~s~~",
    "$x$ $$y$$",
    "&amp; &lt;b&gt; &#64;octocat",
    "\\",
    "\\`",
    "\u{202e}evil\u{2066}",
    "\u{200b}\u{feff}",
    "\u{1b}[31m",
    "::error::x",
    "##[error]x",
    "%0A::error::x",
    "\r",
    "\n",
    "\n\n",
    "\n    indented",
    "\t",
    " ",
    "",
    "word",
];

/// What is not text, in order, and the text outside code.
fn structure(markdown: &str) -> (Vec<String>, String) {
    let (mut parts, mut prose, mut code) = (Vec::new(), String::new(), 0);
    for event in Parser::new_ext(markdown, Options::all() - Options::ENABLE_SMART_PUNCTUATION) {
        match event {
            Event::Start(tag) => {
                code += usize::from(matches!(tag, Tag::CodeBlock(_)));
                if !matches!(tag, Tag::Paragraph) {
                    parts.push(format!("{tag:?}"));
                }
            }
            Event::End(tag) => {
                code -= usize::from(matches!(tag, pulldown_cmark::TagEnd::CodeBlock));
                prose.push('\n');
            }
            Event::Text(text) if code == 0 => prose.push_str(&text),
            Event::SoftBreak | Event::HardBreak => prose.push('\n'),
            Event::Code(_) => prose.push('·'),
            Event::Text(_) => {}
            Event::InlineHtml(tag) if &*tag == "<code>" => code += 1,
            Event::InlineHtml(tag) if &*tag == "</code>" => code -= 1,
            other => parts.push(format!("{other:?}")),
        }
    }
    (parts, prose)
}

#[test]
fn nothing_of_a_change_acts_in_a_comment() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (base, about) = runtime.block_on(saying("", ""));
    let written = |[title, body, path, quote]: [&str; 4]| {
        let mut state = base.clone();
        let judgement = state.judgement.as_mut().unwrap();
        judgement.missing = vec![format!("x {body}")];
        let finding = &mut judgement.findings[0];
        finding.title = format!("t {title}");
        finding.body = format!("b\n{body}");
        (finding.path, finding.quote) = (format!("p{path}"), quote.to_owned());
        finding.suggestion = Some(format!("{quote}+"));
        finding.end_line = finding.start_line;
        let file = &mut state.ingested.as_mut().unwrap().files[0];
        file.change.path = format!("p{path}");
        file.skipped = Some(format!("r {body}"));
        (markdown(&state, &about), github(&state, &about))
    };
    let (expected, _) = structure(&written(["a word", "a word", "a/path.x", "a line"]).0);
    assert!(expected.len() > 10, "{expected:?}");
    let words = || proptest::collection::vec(proptest::sample::select(NASTY), 1..6);
    let text = || words().prop_map(|words| words.join(" ")).boxed();
    let glued = || words().prop_map(|words| words.concat()).boxed();
    let soup = || r"[`@a\\<>\[\]()!#1/ |*_~&;.:-]{0,30}".boxed();
    let any = || prop_oneof![text(), glued(), soup(), ".{0,40}".boxed()];
    let config = Config { cases: 1_000, failure_persistence: None, ..Config::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let outcome = runner.run(&(any(), any(), any(), any()), |(title, body, path, quote)| {
        let (text, annotations) = written([&title, &body, &path, &quote]);
        check(&text, &expected)?;
        // The same as annotations: each line is one whole command.
        for line in annotations.lines() {
            let sound = ["::error ", "::warning ", "::notice "];
            prop_assert!(sound.iter().any(|word| line.starts_with(word)), "{line}");
            prop_assert!(!line.contains(['\r', ESC]), "{line:?}");
        }
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

/// Whether nothing of a text acts: it has the structure of a harmless one, and its words are words.
pub fn acts_nowhere(text: &str, harmless: &str) -> Result<(), TestCaseError> {
    check(text, &structure(harmless).0)
}

fn check(text: &str, expected: &[String]) -> Result<(), TestCaseError> {
    let (parts, prose) = structure(text);
    let kind = |part: &String| part.split(['(', '{', '<']).next().unwrap_or_default().to_owned();
    let kinds = |parts: &[String]| -> Vec<String> { parts.iter().map(kind).collect() };
    prop_assert_eq!(kinds(&parts), kinds(expected), "{}", text);
    for html in parts.iter().filter(|part| part.contains('<')) {
        let ours = ["<sub>", "</sub>", "<details>", "</details>"];
        prop_assert!(ours.iter().any(|tag| html.contains(tag)), "{} in {}", html, text);
    }
    let mention = prose.contains('@') || prose.contains("://") || prose.contains("www.");
    prop_assert!(!mention, "{}", prose);
    let hidden = ['\u{202e}', '\u{2066}', '\u{200b}', '\u{feff}', '\u{1b}'];
    prop_assert!(!text.contains(hidden), "{:?}", text);
    let numbered = prose.split('#').skip(1).any(|rest| rest.starts_with(char::is_numeric));
    prop_assert!(!numbered, "{}", prose);
    let command = |line: &str| {
        line.strip_prefix('/').is_some_and(|rest| rest.starts_with(char::is_alphanumeric))
    };
    prop_assert!(!prose.lines().any(command), "{}", prose);
    Ok(())
}

/// By hand, the ones that people try first.
#[tokio::test]
async fn what_acts_is_shown_as_code() {
    for (said, shown) in [
        ("thanks @octocat, fixes #1", "thanks `@octocat,` fixes `#1`"),
        ("see https://example.org/x", "see `https://example.org/x`"),
        ("[a](b) <b> ![c](d)", "\\[a\\](b) \\<b\\> !\\[c\\](d)"),
        ("/close", "`/close`"),
        ("1. one", "1\\. one"),
        ("- one", "\\- one"),
        ("use `a @b` and ``c`d``", "use `a @b` and ``c`d``"),
        ("an `open tick", "an \\`open tick"),
        ("\u{202e}x", "\\\\u{202e}x"),
    ] {
        let (state, about) = saying("t", said).await;
        let text = markdown(&state, &about);
        assert!(text.contains(&format!("\n{shown}\n")), "{said}: {text}");
    }
}
