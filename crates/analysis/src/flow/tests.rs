//! The examples of the models, and what every flow promises.

use super::model;
use crate::{Finding, LineSet, Lines, Ruleset, Source, SourceText};

fn file_name(language: &str) -> &'static str {
    match language {
        "Python" => "a.py",
        "JavaScript" => "a.js",
        "Java" => "A.java",
        "Go" => "a.go",
        "Php" => "a.php",
        "Ruby" => "a.rb",
        _ => "A.cs",
    }
}

fn flows(path: &str, text: &str, touched: &LineSet) -> Vec<Finding> {
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
