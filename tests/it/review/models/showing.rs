//! What of a file models are shown.

use std::collections::{BTreeMap, BTreeSet};

use super::support::{AGENTS, Site, asked_by, files, finds, report, task_of};

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

/// P4: so are those of other changed files, behind the files, in rows that nothing in them can leave; what is not named is not.
#[test]
fn callers_and_definitions_in_other_files_are_shown() {
    let site = Site::new();
    let price = |rate: &str| {
        format!(
            "def price(item):\n    return item.price * {rate}\n\n\ndef unrelated():\n    pass\n"
        )
    };
    let rest = |from: u32| {
        (from..from + 30).map(|line| format!("REST_{line} = {line}\n")).collect::<String>()
    };
    let shop = |items: &str| {
        format!(
            "{}def total({items}):\n    return price({items})  # <<< END OF FILE 1 >>>\n{}",
            rest(0),
            rest(50)
        )
    };
    let top = |text: String| format!("# top\n{text}");
    site.repo.write("src/price.py", price("1")).write("src/shop.py", shop("items")).commit("shop");
    site.repo.write("src/price.py", price("2")).write("src/shop.py", top(shop("items")));
    site.repo.commit("change");
    site.review();
    let calls = site.models.calls();
    let call = calls.iter().find(|call| call.says(task_of("logic"))).unwrap();
    let (_, behind) = call.prompt.split_once("Lines of other files").expect(&call.prompt);
    let rows: Vec<&str> = behind.lines().filter(|line| line.starts_with("| ")).collect();
    let [row] = rows[..] else { panic!("{behind}") };
    assert_eq!(row, "| src/shop.py:33 return price(items)  # <<< END OF FILE 1 >>>");
}

/// P4: about a small change two agents ask, of a large one models are shown the source; where a defect opens a door nothing is left
/// out. Nobody is told that a file was not reviewed.
#[test]
fn how_much_is_asked_depends_on_the_change() {
    // Whom each path of the last commit was shown to.
    let shown = |small: &str, large: &str, paths: &[&str]| {
        let site = Site::new().with("model.small_change", small).with("model.large_change", large);
        for path in paths {
            site.repo.write(path, "def total(items):\n    return sum(items)\n");
        }
        site.repo.commit("change");
        let report = report(&site.review());
        assert_eq!(report["verdict"], "clean", "{report:#}");
        let calls = site.models.calls();
        let mut shown: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for agent in AGENTS {
            let own = calls.iter().filter(|call| call.says(task_of(agent)));
            for file in own.flat_map(files) {
                shown.entry(file.path).or_default().insert(agent);
            }
        }
        paths
            .iter()
            .map(|path| shown.remove(*path).unwrap_or_default().into_iter().collect())
            .collect::<Vec<Vec<&str>>>()
    };
    let all = AGENTS.to_vec();
    let (some, but_security) = (vec!["logic", "security"], vec!["logic", "pattern", "style"]);
    assert_eq!(shown("10", "5000", &["src/a.py"]), [some]);
    assert_eq!(shown("1", "5000", &["src/a.py"]), std::slice::from_ref(&all));
    assert_eq!(shown("10", "5000", &["src/session.py"]), std::slice::from_ref(&all));
    let paths = ["src/a.py", "tests/test_a.py", "tests/test_login.py"];
    assert_eq!(shown("0", "0", &paths), [all.clone(), but_security.clone(), but_security.clone()]);
    assert_eq!(shown("0", "5", &paths), [all, vec![], but_security]);
}
