//! Settings and rules of a repository's own that ask for more than they should.

use super::verdict_of;
use crate::review::support::{RULE, Repo, found};
use verdict::workflows::review::{ReviewState, report::findings};

async fn reviewed(files: &[(String, String)]) -> (Repo, ReviewState) {
    let repo = Repo::new();
    for (path, text) in files {
        repo.write(path, text);
    }
    repo.write("a.py", "x = 1\n").commit("base");
    repo.write("a.py", "x = 1\nbreakpoint()\nprint(1)\n").commit("change");
    let state = repo.review("HEAD^!").await;
    (repo, state)
}

/// What was said about files that cannot be used, by path.
fn complaints(state: &ReviewState) -> Vec<(String, String)> {
    let bad = findings(state).into_iter().filter(|f| f.rule.starts_with("bad-"));
    let mut told: Vec<_> = bad.map(|f| (f.path.clone(), f.body.clone())).collect();
    told.sort();
    told
}

fn rule(id: &str, matcher: &str) -> (String, String) {
    let text = RULE.replace("no-print", id).replace("  pattern: print($$$A)", matcher);
    (format!(".verdict/rules/{id}.yml"), text)
}

/// Rules that would take gigabytes or a stack without end are refused, each with its reason, and
/// the review goes on without them.
#[tokio::test]
async fn greedy_rules_are_refused() {
    let nested =
        |times: usize| format!("  {}{{kind: call}}{}", "{not: ".repeat(times), "}".repeat(times));
    let aliases = (0..9).fold("a0: &a0 [x]\n".to_owned(), |text, n| {
        let all = vec![format!("*a{n}"); 9].join(", ");
        format!("{text}a{}: &a{} [{all}]\n", n + 1, n + 1)
    });
    let huge = |id: &str| rule(id, "  kind: call\n  regex: '(\\w{50}){100}'");
    let files = [
        rule("catastrophe", "  kind: call\n  regex: '(a*)*(a*)*(a*)*b'"),
        huge("huge"),
        rule("nested", &nested(60)),
        rule("deeply-nested", &nested(5_000)),
        (".verdict/rules/aliases.yml".to_owned(), aliases),
        (".verdict/rules/large.yml".to_owned(), format!("{RULE}# {}", "x".repeat(70_000))),
        (".verdict/rules/binary.yml".to_owned(), format!("{RULE}\0")),
        (".verdict/rules/no-print.yml".to_owned(), RULE.to_owned()),
    ];
    let (_repo, state) = reviewed(&files).await;
    let told = complaints(&state);
    let told: Vec<String> = told
        .iter()
        .map(|(path, why)| format!("{path} {}", why.lines().next().unwrap_or_default()))
        .map(|line| line.chars().take(150).collect())
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    .verdict/rules/aliases.yml line 7: budget breached: Nodes { nodes: 250001 }
    .verdict/rules/binary.yml it is not a text of reasonable size
    .verdict/rules/deeply-nested.yml line 10: budget breached: Depth { depth: 65 }
    .verdict/rules/huge.yml line 11: the expression `(\w{50}){100}` takes more than 1 MiB when compiled; repeat less in it
    .verdict/rules/large.yml it is not a text of reasonable size
    .verdict/rules/nested.yml line 10: it matches every kind of node: name one with `kind`
    ");
    let shown = found(&state);
    assert!(shown.contains(&"no-print a.py:3-3".to_owned()), "{shown:?}");
    assert!(shown.contains(&"py-debugger a.py:2-2".to_owned()), "{shown:?}");
}

/// Many expressions that are each in order are too many together.
#[tokio::test]
async fn expressions_are_weighed_together() {
    let each = (0..70).map(|n| rule(&format!("rule-{n:03}"), "  kind: call\n  regex: '\\w{16}'"));
    let files: Vec<_> = each.collect();
    let (_repo, state) = reviewed(&files).await;
    let report = state.ingested.as_ref().unwrap();
    let refused = report.findings.iter().filter(|f| f.body.contains("together are too large"));
    let refused = refused.count();
    assert!((1..70).contains(&refused), "{refused}");
    assert_eq!(report.rules.len() + refused, 70);
}

/// Of a folder of rules without end only the beginning is read, and every other file is named.
#[tokio::test]
async fn a_folder_of_rules_without_end_is_read_so_far() {
    let rules = (0..300).map(|n| {
        let (path, text) = rule(&format!("rule-{n:03}"), "  pattern: print($$$A)");
        (path, format!("{text}# {}\n", "x".repeat(60_000)))
    });
    let files: Vec<_> = rules.collect();
    let (_repo, state) = reviewed(&files).await;
    let change = state.ingested.as_ref().unwrap();
    assert_eq!((change.rules.len(), change.findings.len()), (200, 100));
    assert_eq!(verdict_of(&state), "comments");
}

/// Settings that are nested, endless or enormous leave the defaults in force.
#[tokio::test]
async fn greedy_settings_are_refused() {
    for settings in [
        format!("[review]\nignore = {}{}\n", "[".repeat(50_000), "]".repeat(50_000)),
        "[a.".repeat(10) + &"b.".repeat(60_000),
        format!("[review]\nignore = [\"{}\"]\n", "{a,".repeat(20_000)),
        format!("# {}\n", "x".repeat(300_000)),
        "[review]\nmax_findings = -1\n".to_owned(),
        "\0".to_owned(),
    ] {
        let shown: String = settings.chars().take(40).collect();
        let (_repo, state) = reviewed(&[(".verdict.toml".to_owned(), settings)]).await;
        let told = complaints(&state);
        assert_eq!(told.len(), 1, "{shown}");
        assert!(told[0].1.lines().next().is_some_and(|why| why.len() > 10), "{shown}: {told:?}");
        assert!(found(&state).contains(&"py-debugger a.py:2-2".to_owned()), "{shown}");
    }
}
