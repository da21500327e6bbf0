//! Every built-in rule keeps what its own examples say.

use std::{collections::BTreeSet, fs, path::Path};

use verdict::analysis::{
    LineSet, Lines, MaskedText, Ruleset, SourceText, examples, flow, rules, sides,
};

fn matches(set: &Ruleset, rule: &str, path: &str, text: &str) -> usize {
    let (text, touched) = (&MaskedText::from(text), LineSet::all());
    let source = SourceText { path, text, touched: &touched };
    set.scan(source, &Lines::new(text)).iter().filter(|f| f.rule == rule).count()
}

/// R6: each invalid example yields exactly one finding of its rule in each language, each valid
/// one none; a rule without both is not accepted.
#[test]
fn every_rule_keeps_its_examples() {
    let set = &Ruleset::built_in();
    for built_in in rules::BUILT_IN {
        let (file, rule) = (built_in.file, built_in.read().unwrap());
        assert!(!rule.valid.is_empty() && !rule.invalid.is_empty(), "{file} lacks examples");
        assert_eq!(file, format!("{}/{}.yml", rule.category, rule.id), "a rule lies by its name");
        let (tried, wrong) = examples::check(set, &rule);
        let all = rule.languages.len() * (rule.valid.len() + rule.invalid.len());
        assert_eq!((tried, wrong), (all, vec![]), "{file}");
    }
}

/// Every rule file is listed, here and in the documentation, and every listed rule has a name of its own.
#[test]
fn every_rule_file_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/analysis/src/rules");
    let mut files = BTreeSet::new();
    for category in fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir())
    {
        for file in fs::read_dir(category).unwrap() {
            let path = file.unwrap().path();
            files.insert(path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned());
        }
    }
    let listed: BTreeSet<String> =
        rules::BUILT_IN.iter().map(|rule| rule.file.to_owned()).collect();
    assert_eq!(files, listed);
    let docs = include_str!("../../../docs/rules.md");
    let told = docs.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let told: BTreeSet<&str> = told.map(|(id, _)| id).collect();
    let checks = sides::CHECKS.iter().map(|check| check.id);
    let flows = flow::rules().map(|rule| rule.id);
    let ids: BTreeSet<&str> =
        rules::BUILT_IN.iter().map(|rule| rule.id).chain(checks).chain(flows).collect();
    assert_eq!(told, ids, "docs/rules.md lists the rules");
}

/// Only what the change touches is reported, clipped to it.
#[test]
fn findings_lie_on_touched_lines() {
    let set = &Ruleset::built_in();
    let text = "breakpoint()\nrequests.get(\n    url,\n    verify=False,\n)\nbreakpoint()\n";
    let text = &MaskedText::from(text);
    let touched: LineSet = [3..=4].into_iter().collect();
    let found = set.scan(SourceText { path: "a.py", text, touched: &touched }, &Lines::new(text));
    let places: Vec<_> =
        found.iter().map(|f| (f.rule.as_str(), f.start_line, f.end_line)).collect();
    assert_eq!(places, [("py-requests-no-verify", 4, 4)]);
    assert_eq!(found[0].quote, "    verify=False,");
}

/// Scripts of pages and components are read where they stand, by rules and by following values; data and templates
/// in a page are none.
#[test]
fn scripts_of_pages_and_components_are_read() {
    let set = &Ruleset::built_in();
    let places = |path: &str, text: &str| -> Vec<(String, u32)> {
        let (text, touched) = (&MaskedText::from(text), LineSet::all());
        let found = set.scan(SourceText { path, text, touched: &touched }, &Lines::new(text));
        found.iter().map(|f| (f.rule.clone(), f.start_line)).collect()
    };
    let vue = "<template>\n  <p>{{ a }}</p>\n</template>\n<script setup lang=\"ts\">\nconst a: number = 1;\ndebugger;\n</script>\n";
    assert_eq!(places("a.vue", vue), [("js-debugger".to_owned(), 6)]);
    let svelte = "<script>\n  debugger;\n</script>\n<p>é</p>\n";
    assert_eq!(places("a.svelte", svelte), [("js-debugger".to_owned(), 2)]);
    let page = "<!DOCTYPE html>\n<p>debugger;</p>\n<script type=\"text/template\">debugger;</script>\n<script>\nconst q = new URLSearchParams(location.search).get(\"q\");\ndocument.querySelector(\"#q\").innerHTML = \"<b>\" + q;\n</script>\n";
    assert_eq!(places("a.html", page), [("cross-site-scripting".to_owned(), 6)]);
    assert_eq!(places("a.vue", "<template><p>debugger;</p></template>\n"), []);
}

/// What is a workflow is one wherever it lies; what only speaks of jobs is none.
#[test]
fn workflows_are_told_by_what_they_hold() {
    let set = &Ruleset::built_in();
    let text = "on: issue_comment\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo \"${{ github.event.comment.body }}\"\n";
    assert_eq!(matches(set, "gha-script-injection", "templates/ci.yml", text), 1);
    let other = text.replace("on: issue_comment", "kind: pipeline");
    assert_eq!(matches(set, "gha-script-injection", "templates/ci.yml", &other), 0);
}

/// Templates in JSON are read where they stand, as YAML; other JSON is not, and there is no fix, since none would be JSON.
#[test]
fn templates_in_json_are_read() {
    let own = "id: own\nlanguages: [Yaml]\ncategory: logic\nseverity: low\nconfidence: 0.9\ntitle: a\nproblem: a\nadvice: a\n\
        rule: { kind: block_mapping_pair, pattern: 'Port: $P' }\nfix: 'Port: 1'\nvalid: ['a: 1']\ninvalid: ['Port: 2']\n";
    let own = &Ruleset::parse(&[("own.yml", own)]).unwrap();
    let scan = |set: &Ruleset, path: &str, text: &str| {
        let (text, touched) = (&MaskedText::from(text), LineSet::all());
        set.scan(SourceText { path, text, touched: &touched }, &Lines::new(text))
    };
    let template = "{\n  \"Type\": \"AWS::S3::Bucket\",\n  \"Properties\": {\n    \"AccessControl\": \"PublicRead\",\n    \"Port\": 2\n  }\n}\n";
    let found = scan(&Ruleset::built_in(), "a.json", template);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].rule.as_str(), found[0].start_line), ("cfn-open-to-anybody", 4));
    assert_eq!(found[0].quote.trim(), "\"AccessControl\": \"PublicRead\",");
    let found = scan(own, "a.json", template);
    assert_eq!((found.len(), found[0].start_line, &found[0].suggestion), (1, 5, &None));
    assert_eq!(scan(own, "a.yml", "Port: 2\n")[0].suggestion.as_deref(), Some("Port: 1"));
    assert_eq!(scan(own, "package.json", "{\n  \"Port\": 2\n}\n").len(), 0);
    // What a scanner of YAML does not survive does not reach it.
    let line = |depth: usize| format!("{}\"a\": {{\n", " ".repeat(depth));
    let deep: String = (1..400).map(line).collect();
    assert_eq!(scan(own, "a.json", &format!("{{\n\"openapi\": 3,\n{deep}")).len(), 0);
}

/// An ignore comment in the reviewed text is not obeyed.
#[test]
fn ignore_comments_of_the_change_are_not_obeyed() {
    let set = &Ruleset::built_in();
    assert_eq!(matches(set, "py-debugger", "a.py", "# ast-grep-ignore\nbreakpoint()\n"), 1);
}

/// A broken rule file names itself and the reason at the bottom.
#[test]
fn a_broken_rule_says_what_is_wrong() {
    let text = include_str!("../../../crates/analysis/src/rules/pattern/py-debugger.yml");
    let text = text.replace("kind: ", "kind: no_such_");
    let error = Ruleset::parse(&[("bad.yml", &text)]).err().unwrap().to_string();
    assert!(error.contains("bad.yml") && error.contains("no_such_"), "{error}");
}

/// A repository's own rule may name a list of what ended, if there is one.
#[test]
fn an_own_rule_tells_what_ended() {
    let rule = |list: &str| {
        format!(
            "id: old-image\nlanguages: [Python]\ncategory: logic\nends: {list}\nseverity: low\nconfidence: 0.9\n\
             title: t\nproblem: p\nadvice: a\nrule: {{ kind: string }}\n"
        )
    };
    let set = Ruleset::parse(&[("old-image.yml", &rule("images"))]).unwrap();
    let text = &MaskedText::from("run('node:12')\nrun('node:latest')\n");
    let touched = &LineSet::all();
    let found = set.scan(SourceText { path: "a.py", text, touched }, &Lines::new(text));
    let said: Vec<_> = found.iter().map(|it| (it.start_line, it.body.as_str())).collect();
    assert_eq!(said, [(1, "`node:12` ended on 2022-04-30. p\n\na")]);
    let wrong = Ruleset::parse(&[("old-image.yml", &rule("nothing"))]).err().unwrap();
    assert!(
        wrong.to_string().contains("no list `nothing`; the lists are functions, images"),
        "{wrong}"
    );
}
