//! A repository's own rules and settings of single rules; suppressions in the source.

use verdict::workflows::review::report;

use super::support::{RULE, Repo, found};

/// P1: rules of the base side count; what the change proposes as a rule does not.
#[tokio::test]
async fn own_rules_are_those_of_the_base() {
    let repo = Repo::new();
    repo.write(".verdict/rules/no-print.yml", RULE).write("README.md", "x\n").commit("base");
    let proposed = RULE.replace("no-print", "no-exit").replace("print(", "exit(");
    repo.write(".verdict/rules/no-exit.yml", proposed);
    repo.write("a.py", "print(1)\nexit(1)\n").commit("change");
    let state = repo.review("HEAD^!").await;
    assert_eq!(found(&state), ["no-print a.py:1-1"]);
}

/// P1: a file that is no rule is reported with path, line and cause, and the others hold.
#[tokio::test]
async fn a_bad_rule_is_reported_and_the_others_hold() {
    for (bad, line, cause) in [
        ("id: x\nlanguages: [Klingon]\n".to_owned() + after_languages(), "line 2: ", "`Klingon`"),
        (RULE.replace("pattern: print($$$A)", "kind: no_such_kind"), "line 10: ", "`no_such_kind`"),
        (RULE.replace("advice:", "advise:"), "line 8: ", "unknown key `advise`"),
        (RULE.replace("no-print", "py-debugger"), "line 1: ", "`py-debugger` is taken"),
        ("id: [".to_owned(), "line ", ""),
    ] {
        let repo = Repo::new();
        repo.write(".verdict/rules/good.yml", RULE).write(".verdict/rules/bad.yml", &bad);
        repo.commit("base");
        repo.write("a.py", "print(1)\n").commit("change");
        let state = repo.review("HEAD^!").await;
        let shown = report::findings(&state);
        assert!(shown.iter().any(|f| f.rule == "no-print"), "{bad}");
        let complaint = shown.iter().find(|f| f.rule == "bad-rule").unwrap();
        assert_eq!(complaint.path, ".verdict/rules/bad.yml");
        let body = &complaint.body;
        assert!(body.starts_with(line) && body.contains(cause), "{bad}\n{body}");
    }
}

fn after_languages() -> &'static str {
    RULE.split_once("[Python]\n").unwrap().1
}

/// P1: a rule can be turned off or weighed anew, and a rule nobody knows is told.
#[tokio::test]
async fn settings_weigh_single_rules() {
    let settings = "[review.rules]\npy-debugger = \"off\"\npy-is-literal = \"critical\"\n";
    let repo = Repo::new();
    repo.write(".verdict.toml", settings).commit("base");
    repo.write("a.py", "breakpoint()\nx is 'a'\n").commit("change");
    let state = repo.review("HEAD^!").await;
    assert_eq!(found(&state), ["py-is-literal a.py:2-2"]);
    assert_eq!(report::findings(&state)[0].severity.word(), "critical");
    assert_eq!(state.judgement.unwrap().left_out.off, 1);

    for (settings, cause) in [
        ("[review.rules]\npy-debuger = \"off\"\n", "line 2: rules: there is no rule `py-debuger`"),
        ("[review.rules]\npy-debugger = \"loud\"\n", "line 2: `loud` is not one of info, low"),
    ] {
        repo.write(".verdict.toml", settings).commit("base");
        repo.write("b.py", settings.replace('[', "# [")).commit("change");
        let state = repo.review("HEAD^!").await;
        let shown = report::findings(&state);
        let complaint = shown.iter().find(|f| f.rule == "bad-settings").unwrap();
        assert!(complaint.body.starts_with(cause), "{}", complaint.body);
    }
}

/// A comment with a reason tells a finding away, and is counted; one that suppresses nothing is
/// told itself.
#[tokio::test]
async fn suppressions_need_a_reason_and_a_rule() {
    let repo = Repo::new();
    repo.write("README.md", "x\n").commit("base");
    let text = "\
breakpoint()  # verdict:ignore py-debugger the tool stops here
# verdict:ignore py-debugger the tool stops here
breakpoint()
breakpoint()
breakpoint()  # verdict:ignore py-debugger
breakpoint()  # verdict:ignore py-debuger the tool stops here
breakpoint()  # verdict:ignore py-is-literal the tool stops here
print('verdict:ignore nothing at all')
";
    repo.write("a.py", text).commit("change");
    let state = repo.review("HEAD^!").await;
    let mut rules = found(&state);
    rules.sort();
    assert_eq!(
        rules,
        [
            "bad-suppression a.py:5-5",
            "bad-suppression a.py:6-6",
            "py-debugger a.py:4-4",
            "py-debugger a.py:5-5",
            "py-debugger a.py:6-6",
            "py-debugger a.py:7-7",
        ]
    );
    assert_eq!(state.judgement.as_ref().unwrap().left_out.suppressed, 2);
    let text = report::text(&state, &report::ReportContext::default(), false);
    assert!(text.contains("left out: 2 suppressed in the source"), "{text}");
}

/// A secret is masked whatever a comment says, and the comment is counted.
#[tokio::test]
async fn a_suppressed_secret_stays_masked() {
    let repo = Repo::new();
    repo.write("README.md", "x\n").commit("base");
    let key = format!("{}{}", "AKIA", "J4QZ7MVRT2PLWX5K");
    let line = format!("k = '{key}'  # verdict:ignore secret-aws-access-key revoked long ago\n");
    repo.write("a.py", line).commit("change");
    let state = repo.review("HEAD^!").await;
    assert_eq!(found(&state), [""; 0]);
    assert_eq!(state.judgement.as_ref().unwrap().left_out.suppressed, 1);
    assert!(!serde_json::to_string(&state).unwrap().contains(&key));
}

/// P1, R3: a rule whose cost grows with a power of the text comes to an end, the review names it, and
/// the other rules are not affected.
#[tokio::test]
async fn greedy_rules_are_cut_short_and_named() {
    let repo = Repo::new();
    let call = "{kind: call, stopBy: end, has: ";
    let nested = format!("{}{{kind: lambda, stopBy: end}}{}", call.repeat(8), "}".repeat(8));
    for n in 0..3 {
        let greedy = RULE
            .replace("no-print", &format!("greedy-{n}"))
            .replace("pattern: print($$$A)", &format!("kind: module\n  has: {nested}"));
        repo.write(&format!(".verdict/rules/greedy-{n}.yml"), greedy);
    }
    repo.write(".verdict/rules/no-print.yml", RULE).commit("base");
    let deep = format!("{}{}", "f(".repeat(150), ")".repeat(150));
    repo.write("a.py", format!("{deep}\nprint(1)\n")).commit("change");
    let state = repo.review("HEAD^!").await;
    assert_eq!(found(&state), ["no-print a.py:2-2"]);
    let text = report::text(&state, &report::ReportContext::default(), false);
    assert!(text.contains("cut short: greedy-0, greedy-1, greedy-2"), "{text}");
}
