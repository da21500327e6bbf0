//! docs/evidence.md: where each rule was right and where it was wrong, by docs/findings.md and docs/cases.tsv, and
//! the defaults that follow. `VERDICT_WRITE_DOCS=1` writes the page anew.

use std::{collections::BTreeMap, fmt::Write as _, fs};

use verdict::{
    analysis::flow,
    workflows::review::{RuleBook, settings::Settings},
};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/evidence.md");

const FINDINGS: &str = include_str!("../../../docs/findings.md");

/// What `tests/cases` printed: rule, right, wrong.
const CASES: &str = include_str!("../../../docs/cases.tsv");

/// What ends the reason of a verdict about something that is not shown any more.
const MENDED: [&str; 3] = ["now)", "let pass)", "no longer reported)"];

/// After so many repositories, in less than a third of them right, a rule is not shown by default.
const ENOUGH: usize = 8;

/// Shown whatever was judged: one that is missed costs more than many that are read in vain.
const GRAVE: [&str; 1] = ["secret-private-key"];

/// What was judged of a rule.
#[derive(Default)]
struct Evidence {
    right: u32,
    wrong: u32,
    /// What is not shown any more.
    mended: u32,
    /// Right and wrong in cases with known answers.
    cases: (u32, u32),
    /// Those that are shown, by repository: how many more are right than wrong.
    repositories: BTreeMap<String, i32>,
}

/// By rule, from the cases and the rows of "Every finding": sample, agent, rule, commit, place, title, verdict, reason.
fn evidence() -> BTreeMap<String, Evidence> {
    let mut all: BTreeMap<String, Evidence> = BTreeMap::new();
    for line in FINDINGS.lines().filter(|line| line.starts_with("| ")) {
        let line = line.replace("\\|", "/");
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [_, _, rule, commit, _, _, verdict @ ("yes" | "no"), reason] = cells[..] else {
            continue;
        };
        let of_rule = all.entry(rule.to_owned()).or_default();
        if MENDED.iter().any(|end| reason.ends_with(end)) {
            of_rule.mended += 1;
            continue;
        }
        let repository = commit.split(' ').next().unwrap_or(commit).to_owned();
        let more_right = of_rule.repositories.entry(repository).or_default();
        let (count, one) =
            if verdict == "yes" { (&mut of_rule.right, 1) } else { (&mut of_rule.wrong, -1) };
        *count += 1;
        *more_right += one;
    }
    for line in CASES.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [rule, right, wrong] = cells[..] else { panic!("docs/cases.tsv: {line}") };
        all.entry(rule.to_owned()).or_default().cases =
            (right.parse().unwrap(), wrong.parse().unwrap());
    }
    all
}

fn page() -> String {
    let evidence = evidence();
    let least = Settings::default().min_confidence;
    let mut page = String::from(
        "# What is known of each rule\n\n\
        Findings on real changes and in whole trees, each judged by a reader ([findings.md](findings.md)): worth acting on, or not. The last column counts those \
        that a mending has taken away since, which say nothing about the rule as it is. A rule below the default threshold is shown \
        where `min_confidence` is lower. After eight repositories, in less than a third of them right, a rule is not shown by default, however often one of them repeats it, but for private keys, of which one that is missed costs too much; \
        a flow is as sure as its source and its way.\n\n\
        Beside them: 2,195 places in texts with known answers, with which ast-grep's essentials, Bandit, eslint-plugin-security, \
        gitleaks and OWASP's benchmark for Python are tested; half of each; and 35,000 in [texts of this project](../tests/texts), whose writers did \
        not look at the rules. `tests/cases` counts them ([cases.tsv](cases.tsv)). A text is harmless for one rule only, so another may rightly \
        speak of it.\n\n\
        | rule | agent | by default | right | wrong | taken away | right in cases | wrong in cases |\n\
        |---|---|---|---|---|---|---|---|\n",
    );
    let mut unseen = Vec::new();
    for rule in RuleBook::new(&[]).unwrap().list() {
        let Some(Evidence { right, wrong, mended, cases, .. }) = evidence.get(&rule.id) else {
            unseen.push(format!("`{}`", rule.id));
            continue;
        };
        let (id, agent, (found, harmless)) = (&rule.id, rule.category.word(), cases);
        let shown = if rule.confidence >= least { "shown" } else { "below the threshold" };
        writeln!(
            page,
            "| `{id}` | {agent} | {shown} | {right} | {wrong} | {mended} | {found} | {harmless} |"
        )
        .unwrap();
    }
    writeln!(page, "\nNot met yet, but in examples of their own: {}.", unseen.join(", ")).unwrap();
    page
}

/// P14: the page says what was judged.
#[test]
fn the_page_says_what_was_judged() {
    let page = page();
    if std::env::var_os("VERDICT_WRITE_DOCS").is_some() {
        fs::write(PAGE, &page).unwrap();
    }
    let there = fs::read_to_string(PAGE).unwrap_or_default();
    assert!(there == page, "docs/evidence.md is old: set VERDICT_WRITE_DOCS=1 and run this again");
}

/// What was mostly wrong is not shown by default. Where a value comes from and what is done on its way tell how sure each finding
/// of a flow is, so that no number stands for all of them.
#[test]
fn defaults_follow_what_was_judged() {
    let (evidence, least) = (evidence(), Settings::default().min_confidence);
    let is_flow = |id: &str| flow::rules().any(|rule| rule.id == id);
    for rule in RuleBook::new(&[]).unwrap().list().into_iter().filter(|rule| !is_flow(&rule.id)) {
        let Some(Evidence { repositories, .. }) = evidence.get(&rule.id) else { continue };
        let right = repositories.values().filter(|more_right| **more_right >= 0).count();
        let wrong = repositories.len() - right;
        let mostly_wrong = repositories.len() >= ENOUGH && right * 2 < wrong;
        let grave = GRAVE.contains(&&*rule.id);
        assert!(!mostly_wrong || grave || rule.confidence < least, "{}: {right}:{wrong}", rule.id);
    }
}
