//! `verdict rules`, as people call it.

use serde_json::Value;

use super::support::RULE;
use crate::support::Machine;

fn own(machine: &Machine, name: &str, text: &str) {
    let folder = machine.folder().join(".verdict/rules");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(name), text).unwrap();
}

/// Output, what was said beside it, and the exit code.
fn run(machine: &Machine, args: &[&str]) -> (String, String, Option<i32>) {
    let done = machine.run(args);
    (done.stdout, done.stderr, done.code)
}

/// The rule that docs/rules.md shows keeps its own examples.
#[test]
fn the_rule_of_the_docs_works() {
    let docs = include_str!("../../../docs/rules.md");
    let (_, rule) = docs.split_once("```yaml\nid: no-print").unwrap();
    let rule = format!("id: no-print{}", rule.split("```").next().unwrap());
    let machine = Machine::new();
    own(&machine, "no-print.yml", &rule);
    let (tried, said, code) = run(&machine, &["rules", "test", "no-print"]);
    assert_eq!(
        (tried.as_str(), said.as_str(), code),
        ("1 rules, 2 examples, 0 wrong\n", "", Some(0))
    );
}

#[test]
fn rules_are_listed_explained_and_tried() {
    let machine = Machine::new();
    own(&machine, "no-print.yml", RULE);

    let (listed, said, code) = run(&machine, &["rules", "list", "--format", "json"]);
    assert_eq!((said.as_str(), code), ("", Some(0)));
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let of = |id: &str| listed.iter().find(|rule| rule["id"] == id).unwrap();
    assert_eq!(of("no-print")["file"], "./.verdict/rules/no-print.yml");
    assert_eq!(of("py-debugger")["severity"], "medium");
    assert_eq!(of("py-debugger")["file"], Value::Null);
    assert_eq!(of("caller-left-behind")["severity"], "high");
    for id in ["bidi-control", "large-binary", "bad-suppression", "bad-settings", "bad-rule"] {
        assert_ne!(of(id)["problem"], "", "{id}");
    }
    assert_eq!(of("secret-github-token")["cwe"], 798);

    let (explained, _, code) = run(&machine, &["rules", "explain", "no-print"]);
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(explained, @r"
    no-print: Printing is for scripts
    style · medium · confidence 0.90 · Python
    from ./.verdict/rules/no-print.yml

    Nobody reads it.
    Use the logger.

    reported:
        print(1)

    left alone:
        log(1)
    ");

    let (explained, _, code) = run(&machine, &["rules", "explain", "error-check-removed"]);
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(explained, @r"
    error-check-removed: Unchecked error: the error of this call is no longer handled
    logic · high · confidence 0.75 · Go

    The check of an error was taken away, and the call that returns it stays.
    Check the error again, or say why it cannot matter.
    ");

    let (_, said, code) = run(&machine, &["rules", "explain", "py-debuger"]);
    assert_eq!(said, "verdict: there is no rule `py-debuger`; did you mean `py-debugger`?\n");
    assert_eq!(code, Some(2));
}

/// Every built-in rule keeps its examples in the binary, and a broken one of the repository is
/// told with its line.
#[test]
fn what_is_wrong_with_a_rule_is_told() {
    let machine = Machine::new();
    own(&machine, "no-print.yml", RULE);
    let (tried, _, code) = run(&machine, &["rules", "test"]);
    assert!(tried.ends_with(" 0 wrong\n"), "{tried}");
    assert_eq!(code, Some(0));

    own(&machine, "no-print.yml", &RULE.replace("invalid: ['print(1)']", "invalid: ['log(1)']"));
    own(&machine, "worse.yml", &RULE.replace("severity: medium", "severity: grave"));
    let (tried, _, code) = run(&machine, &["rules", "test", "no-print"]);
    insta::assert_snapshot!(tried, @r"
    rule file `./.verdict/rules/worse.yml`, line 4: unknown variant `grave`, expected one of info, low, medium, high, critical
    ./.verdict/rules/no-print.yml: `no-print` in Python: 0 findings in place of 1 in
    log(1)
    1 rules, 2 examples, 2 wrong
    ");
    assert_eq!(code, Some(1));
}
