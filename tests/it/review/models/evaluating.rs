//! `verdict eval`: figures over a suite of cases.

use std::path::Path;

use fake_models::Reply;
use serde_json::Value;

use super::support::{Site, answer, asked_by, finding};

/// The suite that ships with the project.
fn suite() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/eval").display().to_string()
}

/// P7: a suite is reviewed several times, with two sets of settings; the figures say which found more, and what it cost.
#[test]
fn two_sets_of_settings_are_compared() {
    let site = Site::new();
    let sees = Reply::by(|call| {
        answer(call, finding(call, "src/price.py", "if not member:").into_iter().collect())
    });
    site.models.script(asked_by("logic"), [sees]);
    let without = site.machine.text("without.toml", "[model]\nmemo = \"1h\"\n");
    let args = ["eval", &suite(), "--times", "2", "--format", "json"];
    let figures = site.machine.run(&args).json();
    let with = &figures[0];
    assert_eq!(
        (with["recall"]["mean"].as_f64(), with["total"]["noise"].as_u64()),
        (Some(1.0), Some(0)),
        "{figures:#}"
    );
    assert!(with["total"]["usage"]["cost"].as_u64().unwrap() > 0);
    let asked = site.models.calls().len();
    assert!(asked >= 2 * 4 * 3, "each repetition asks anew: {asked}");
    // Without a model the case that only a reader understands is missed.
    let bare = Site::new().with("model.chain", "");
    let args = ["eval", &suite(), "--times", "1", "--against", &without, "--format", "json"];
    let figures = bare.machine.run(&args).json();
    assert_eq!(figures.as_array().unwrap().len(), 2);
    let case = |name: &str| {
        let cases = figures[0]["cases"].as_array().unwrap();
        cases.iter().find(|case| case[0] == name).unwrap()[1].clone()
    };
    assert_eq!(
        (&case("wrong-discount")["missed"], &case("sql-injection")["right"]),
        (&Value::from(1), &Value::from(1)),
        "{figures:#}"
    );
    let text = bare.machine.run(&["eval", &suite(), "--times", "1"]).stdout;
    assert!(
        text.contains("F1") && text.contains("clean-rename: 0 of 0 found, 0 not expected"),
        "{text}"
    );
}

/// A suite that is none is an error of usage that names what is wrong with it.
#[test]
fn a_suite_that_cannot_be_read_says_why() {
    let site = Site::new();
    let empty = site.machine.folder().display().to_string();
    let refused = site.machine.run(&["eval", &empty]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("there is no case in it"), "{refused:?}");
}
