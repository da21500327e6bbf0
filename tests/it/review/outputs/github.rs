//! Annotations: workflow commands as a runner reads them.

use verdict::workflows::review::report::github;

use super::{fixture, reviewed, saying};
use crate::support::Machine;

#[test]
fn findings_are_annotations() {
    let done = reviewed(&Machine::new(), &fixture(), &["--format", "github"]);
    assert_eq!(done.code, Some(0));
    insta::assert_snapshot!(done.stdout, @r###"
    ::error file=app/db.py,line=11,endLine=13,title=high%3A SQL injection%3A a value from outside becomes part of a statement::A value that holds a quote, or a word of SQL, changes what the statement does. (CWE-89)%0A%0ALeave placeholders in the statement and pass the values beside it.%0A%0AThe way of the value: line 4, parameter `name` → line 11, reaches `cur.execute`.%0A%0Asecurity/sql-injection · confidence 0.60
    ::warning file=app/db.py,line=10,endLine=10,title=medium%3A Return in finally%3A an error is lost::`return`, `break` or `continue` in `finally` ends the block, and an exception on its way out is dropped without a trace. (CWE-584)%0A%0AMove it after the `try` statement.%0A%0Alogic/py-return-in-finally · confidence 0.93
    ::notice file=app/db.py,line=5,endLine=5,title=low%3A None is compared by equality::A class may define what `==` means, so this can be true of something that is not None.%0A%0AUse `is None`.%0A%0Astyle/py-compare-none · confidence 0.90
    "###);
    insta::assert_snapshot!(done.stderr, @r###"
    verdict: changes_requested · 3 findings · 1 high · 1 medium · 1 low; 1 of 3 changed files reviewed, 12 lines
    "###);
}

/// The escapes of the runner: `%`, ends of lines, and in properties what ends them.
#[tokio::test]
async fn commands_are_escaped() {
    let (mut state, about) = saying("50%: a, b\n::error::x", "one\r\n::add-mask::two%0A").await;
    state.judgement.as_mut().unwrap().findings[0].path = "a,b:c%\n.py".into();
    let text = github(&state, &about);
    insta::assert_snapshot!(text, @r###"
    ::error file=a%2Cb%3Ac%25%0A.py,line=11,endLine=13,title=high%3A 50%25%3A a%2C b%0A%3A%3Aerror%3A%3Ax::one%0A::add-mask::two%250A%0A%0Asecurity/sql-injection · confidence 0.60
    "###);
    assert_eq!(text.lines().count(), 1);
}

/// What is missing is said first: a step that shows nothing else must not look clean.
#[tokio::test]
async fn a_missing_part_is_a_warning() {
    let (mut state, mut about) = saying("t", "b").await;
    let judgement = state.judgement.as_mut().unwrap();
    judgement.findings.clear();
    judgement.missing = vec!["a.py: gone".into(), "style: out of reach".into()];
    about.error = Some("run 1 failed".into());
    insta::assert_snapshot!(github(&state, &about), @r###"
    ::error title=The review failed::run 1 failed
    ::warning title=The review is incomplete::a.py: gone%0Astyle: out of reach
    "###);
}
