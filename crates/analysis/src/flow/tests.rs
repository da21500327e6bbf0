//! The examples of the models, and what every flow promises.

use super::model;
use crate::{Finding, LineSet, Lines, MaskedText, Ruleset, Source, SourceText};

fn file_name(language: &str) -> &'static str {
    match language {
        "Python" => "a.py",
        "JavaScript" => "a.js",
        "Java" => "A.java",
        "Go" => "a.go",
        "Php" => "a.php",
        "Ruby" => "a.rb",
        "Kotlin" => "A.kt",
        "Scala" => "A.scala",
        _ => "A.cs",
    }
}

fn flows(path: &str, text: &str, touched: &LineSet) -> Vec<Finding> {
    let text = &MaskedText::from(text);
    let found = Ruleset::built_in().scan(SourceText { path, text, touched }, &Lines::new(text));
    let shown = |f: &Finding| f.source == Source::Flow && f.confidence.get() >= 50;
    found.into_iter().filter(shown).collect()
}

/// P14: each bad example has exactly one flow of its kind that is shown by default, each good one
/// none; every language has both.
#[test]
fn every_model_keeps_its_examples() {
    let mut wrong = Vec::new();
    for (language, examples) in model::examples().unwrap() {
        assert!(!examples.is_empty(), "{language} has no examples");
        for example in examples {
            assert!(!example.bad.is_empty() && !example.good.is_empty(), "{}", example.harm);
            let bad = example.bad.iter().map(|text| (text, 1));
            for (text, expected) in bad.chain(example.good.iter().map(|text| (text, 0))) {
                let found = flows(file_name(language), text, &LineSet::all());
                let found = found.iter().filter(|f| f.rule == example.harm).count();
                if found != expected {
                    wrong.push(format!("{language} {}: {found}\n{text}", example.harm));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const FLOW: &str = "def show(request):\n    name = request.GET['name']\n    query = \"select a from t where n = '\" + name + \"'\"\n    log('x')\n    cursor.execute(query)\n";

/// A flow is reported where the change touches it: at the sink, else at the step nearest to it.
#[test]
fn only_flows_that_the_change_touches_are_reported() {
    let at = |line: u32| {
        let found = flows("a.py", FLOW, &[line..=line].into_iter().collect());
        found.iter().map(|f| f.start_line).collect::<Vec<_>>()
    };
    assert_eq!((at(2), at(3), at(4), at(5)), (vec![2], vec![3], vec![], vec![5]));
}

/// The finding names each step from the source to the sink.
#[test]
fn a_finding_shows_the_way() {
    let found = flows("a.py", FLOW, &LineSet::all());
    let steps: Vec<_> = found[0].flow.iter().map(|s| (s.line, s.note.as_str())).collect();
    let expected = [
        (2, "`request.GET`: from the request"),
        (2, "set: `name`"),
        (3, "set: `query`"),
        (5, "reaches `cursor.execute`"),
    ];
    assert_eq!(steps, expected);
    assert!(found[0].body.contains(" → line 3, set: `query` → "), "{}", found[0].body);
}

/// Confidence follows the source, and a check lowers it.
#[test]
fn confidence_follows_the_source() {
    let sure = |text: &str| {
        let touched = LineSet::all();
        let text = &MaskedText::from(text);
        let source = SourceText { path: "a.py", text, touched: &touched };
        let found = Ruleset::built_in().scan(source, &Lines::new(text));
        found.iter().find(|f| f.rule == "shell-injection").map(|f| f.confidence.get())
    };
    let request = sure("def f(request):\n    os.system('ls ' + request.GET['d'])\n");
    let parameter = sure("def f(d):\n    os.system('ls ' + d)\n");
    let own = sure("def f():\n    d = 'a'\n    os.system('ls ' + d)\n");
    let checked =
        sure("def f(d):\n    if not d.isalnum():\n        return\n    os.system('ls ' + d)\n");
    assert_eq!((request, parameter, own, checked), (Some(85), Some(60), None, Some(40)));
}

/// What lies too deep is left out, and said so.
#[test]
fn bounds_are_named() {
    let text = format!("x = {}a{}\n", "f(".repeat(300), ")".repeat(300)).into();
    let touched = LineSet::all();
    let source = SourceText { path: "a.py", text: &text, touched: &touched };
    let examined = crate::examine(&Ruleset::built_in(), source);
    assert!(examined.skipped.is_none() && !examined.cut_off.is_empty());
}

/// A path traversal is reported once a value, where it is used first, and names the other lines.
#[test]
fn a_path_is_reported_once_a_value() {
    let text = "def f(request):\n    name = request.GET['name']\n    open(name)\n    os.remove(name)\n    open(request.GET['other'])\n";
    let found = flows("a.py", text, &LineSet::all());
    let lines: Vec<u32> = found.iter().map(|f| f.start_line).collect();
    assert_eq!(lines, [3, 5], "{found:?}");
    assert!(found[0].body.ends_with("on line 4, too."), "{}", found[0].body);
}

/// A parameter counts for less where every call in the file passes a constant.
#[test]
fn what_callers_pass_counts() {
    let run = "import subprocess\ndef run(cmd):\n    subprocess.run(cmd, shell=True)\n";
    let found = |calls: &str| flows("a.py", &format!("{run}{calls}"), &LineSet::all()).len();
    assert_eq!((found(""), found("run('ls')\n"), found("run('ls')\nrun(input())\n")), (1, 0, 1));
}

/// Whatever is left open at the end of a text, a finding ends on a line that there is.
#[test]
fn findings_end_within_their_text() {
    let open =
        "by = params[:sort]\nclass A%r < B = User.order(\"#{by}order(\"#{by} desc\")\n  end\nend\n";
    let found = flows("a.rb", open, &LineSet::all());
    assert!(!found.is_empty());
    let lines = Lines::new(open);
    assert!(found.iter().all(|f| f.end_line <= lines.count()), "{found:?}");
}

/// The type of an event says less than its name, which all of them share.
#[test]
fn events_are_known_by_their_name() {
    let text = "export const list = async (event: APIGatewayProxyEvent) =>\n  db.query(`select a from t where n = '${event.queryStringParameters?.n}'`);\n";
    let found = flows("a.ts", text, &LineSet::all());
    assert_eq!(found.iter().map(|f| f.rule.as_str()).collect::<Vec<_>>(), ["sql-injection"]);
}
