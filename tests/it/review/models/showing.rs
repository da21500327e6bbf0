//! What of a file models are shown.

use super::support::{Site, asked_by, files, finds, report};

/// P4: a changed function is shown with the lines that call it, and with the beginnings of those it calls, wherever they stand in the
/// file; nothing else of the file is shown, and a finding may lie on such a line.
#[test]
fn callers_and_definitions_are_shown() {
    let site = Site::new();
    let rest =
        |n: usize| (0..40).map(|line| format!("REST_{n}_{line} = {line}\n")).collect::<String>();
    let text = |total: &str| {
        format!(
            "def price(item):\n    return item.price\n\n\n{}\n\ndef total(items):\n    return {total}\n\n\n{}\n\n\
             def receipt(items):\n    lines = [str(item) for item in items]\n    return lines, total(items)\n",
            rest(1),
            rest(2),
        )
    };
    site.repo.write("src/shop.py", text("sum(price(item) for item in items)")).commit("shop");
    site.repo.write("src/shop.py", text("[price(item) for item in items]")).commit("change");
    site.models
        .script(asked_by("logic"), [finds(&[("src/shop.py", "return lines, total(items)")])]);
    let report = report(&site.review());
    let calls = site.models.calls();
    let call = calls.iter().find(|call| call.says("Your side is logic")).unwrap();
    let shown = files(call);
    let [file] = &shown[..] else { panic!("{}", call.prompt) };
    let shows = |words: &str| file.rows.iter().any(|row| row.contains(words));
    for words in ["+     return [price", "def price(item):", "return lines, total(items)"] {
        assert!(shows(words), "{words}: {}", call.prompt);
    }
    for words in ["return item.price", "lines = [str", "REST_1_20 ", "REST_2_20 "] {
        assert!(!shows(words), "{words}: {}", call.prompt);
    }
    let findings = report["findings"].as_array().unwrap().iter();
    let on: Vec<_> =
        findings.filter(|f| f["source"] == "model").map(|f| &f["start_line"]).collect();
    assert_eq!(on, [95], "{report:#}");
}
