//! The texts of `tests/texts`, whose writers did not look at the rules: how much of what is marked as a flaw is found,
//! and how much of what only looks like one is reported.

use std::{collections::BTreeMap, fs, path::Path};

use jiff::civil::date;
use serde::Deserialize;
use verdict::{
    analysis::{Finding, LineSet, MaskedText, Ruleset, SourceText, examine},
    workflows::review::settings::Settings,
};

/// A text, and what stands on some of its lines.
#[derive(Deserialize)]
struct Text {
    name: String,
    language: String,
    text: String,
    expect: Vec<Expected>,
}

#[derive(Deserialize)]
struct Expected {
    line: u32,
    polarity: String,
}

/// Where a text stands.
fn path(text: &Text) -> String {
    let ending = match text.language.as_str() {
        "workflow" => return format!(".github/workflows/{}.yml", text.name),
        "dockerfile" => return format!("{}/Dockerfile", text.name),
        "python" => "py",
        "javascript" => "js",
        "typescript" => "ts",
        "ruby" => "rb",
        "rust" => "rs",
        "csharp" => "cs",
        "kotlin" => "kt",
        "bash" => "sh",
        "terraform" => "tf",
        other => other,
    };
    format!("src/{}.{ending}", text.name)
}

/// P14: found of the flawed lines, and reported of the harmless ones, of each file of texts.
#[test]
fn what_is_known_of_texts_stays_found() {
    let (rules, least) = (&Ruleset::built_in(), Settings::default().min_confidence);
    // As a review of this day sees them.
    let today = date(2026, 11, 27);
    let mut counted = BTreeMap::new();
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/texts")).unwrap() {
        let file = file.unwrap().path();
        let name = file.file_stem().unwrap().display().to_string();
        let of_file = counted.entry(name).or_insert([[0, 0], [0, 0]]);
        for line in fs::read_to_string(&file).unwrap().lines() {
            let text: Text = serde_json::from_str(line).unwrap();
            let source = SourceText {
                path: &path(&text),
                text: &MaskedText::from(text.text.as_str()),
                touched: &LineSet::all(),
            };
            let mut found = examine(rules, source).findings;
            found.retain(|finding| finding.confidence >= least);
            found.retain(|finding| finding.unless.since.is_none_or(|since| since <= today));
            for Expected { line, polarity } in &text.expect {
                let (marked, slack) = if polarity == "positive" {
                    (&mut of_file[0], 2)
                } else {
                    (&mut of_file[1], 0)
                };
                let near = |f: &Finding| f.start_line <= line + slack && f.end_line >= *line;
                marked[0] += u32::from(found.iter().any(near));
                marked[1] += 1;
            }
        }
    }
    let told = |(file, [[found, flawed], [wrong, harmless]]): (&String, &[[u32; 2]; 2])| {
        format!("{file}: {found} of {flawed} found, {wrong} of {harmless} wrong\n")
    };
    insta::assert_snapshot!(counted.iter().map(told).collect::<String>());
}
