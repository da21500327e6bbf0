//! Markdown: what a reader of a pull request sees.

use verdict::workflows::review::{
    judge::LeftOut,
    report::{Code, ReportContext, markdown},
};

use super::fixture;
use crate::review::support::Repo;

fn about() -> ReportContext {
    ReportContext { run: "0123456789abcdef0123456789abcdef".into(), ..ReportContext::default() }
}

#[tokio::test]
async fn a_comment_on_a_pull_request() {
    let repo = fixture();
    let mut state = repo.review("HEAD^!").await;
    let code = Code::read(&crate::review::support::deps(Default::default()).forges, &state).await;
    let judgement = state.judgement.as_mut().unwrap();
    judgement.left_out = LeftOut { over_cap: 3, ..LeftOut::default() };
    judgement.missing = vec!["app/x.py: its content is not in the repository".into()];
    insta::assert_snapshot!(markdown(&state, &ReportContext { code, ..about() }), @r###"
    ## verdict: changes requested

    **3 findings**: 1 high · 1 medium · 1 low

    ### `app/db.py`

    #### high · lines 11–13 · SQL injection: a value from outside becomes part of a statement

    `security/sql-injection` · confidence 0.60

    ```py
        cur.execute(
            f"SELECT * FROM t WHERE name = '{name}'"
        )
    ```

    A value that holds a quote, or a word of SQL, changes what the statement does. (CWE-89)

    Leave placeholders in the statement and pass the values beside it.

    The way of the value: line 4, parameter `name` → line 11, reaches `cur.execute`.

    #### medium · line 10 · Return in finally: an error is lost

    `logic/py-return-in-finally` · confidence 0.93

    ```py
            return name
    ```

    `return`, `break` or `continue` in `finally` ends the block, and an exception on its way out is dropped without a trace. (CWE-584)

    Move it after the `try` statement.

    #### low · line 5 · None is compared by equality

    `style/py-compare-none` · confidence 0.90

    ```py
        if name == None:
    ```

    A class may define what `==` means, so this can be true of something that is not None.

    Use `is None`.

    ```diff
    -    if name == None:
    +    if name is None:
    ```

    Left out: 3 over the cap.

    **Missing from this review:**

    - app/x.py: its content is not in the repository

    <details><summary>Coverage: 1 of 3 changed files reviewed, 12 lines</summary>

    | status | file | lines | reason |
    |---|---|---:|---|
    | skipped | `logo.png` | 0 | binary |
    | skipped | `old.txt` | 0 | deleted |
    | reviewed | `app/db.py` | 12 |  |

    </details>

    <sub>verdict 0.1.0 · `271ba01096f1..4c832942f39d` · run `0123456789abcdef0123456789abcdef`</sub>
    "###);
}

#[tokio::test]
async fn a_clean_review() {
    let repo = Repo::new();
    repo.write("a.py", "x = 1\n").commit("base");
    repo.write("a.py", "x = 2\n").commit("change");
    insta::assert_snapshot!(markdown(&repo.review("HEAD^!").await, &about()), @r###"
    ## verdict: nothing to say

    <details><summary>Coverage: 1 of 1 changed files reviewed, 1 line</summary>

    | status | file | lines | reason |
    |---|---|---:|---|
    | reviewed | `a.py` | 1 |  |

    </details>

    <sub>verdict 0.1.0 · `09dbe18e96e4..f73167fa3c4c` · run `0123456789abcdef0123456789abcdef`</sub>
    "###);
}

/// A comment that is too long is refused whole: what does not fit is counted.
#[tokio::test]
async fn a_comment_has_an_end() {
    let mut state = fixture().review("HEAD^!").await;
    let judgement = state.judgement.as_mut().unwrap();
    let finding = judgement.findings[0].clone();
    judgement.findings = vec![finding; 2_000];
    judgement.missing = (0..5_000).map(|n| format!("f{n}.py: gone")).collect();
    let file = state.ingested.as_ref().unwrap().files[0].clone();
    state.ingested.as_mut().unwrap().files = vec![file; 5_000];
    let text = markdown(&state, &about());
    assert!(text.len() < 65_536, "{}", text.len());
    let shown = text.matches("#### high").count();
    assert!(shown > 50, "{shown}");
    assert!(text.contains(&format!("**And {} findings do not fit", 2_000 - shown)), "{shown}");
    assert!(text.contains("- … and ") && text.contains("more files"));
}
