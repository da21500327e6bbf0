//! The checks that need no grammar.

use std::collections::BTreeMap;

use verdict::{
    analysis::{LineSet, MaskedText, Ruleset, SourceText, analyse, checks},
    forge::Selection,
    workflows::review::{Limits, report},
};

use super::support::{Repo, deps, found, resolve, review};

fn rules(path: &str, text: &str) -> Vec<(String, u32)> {
    let (text, touched) = (&MaskedText::from(text), LineSet::all());
    let found = analyse(&Ruleset::built_in(), SourceText { path, text, touched: &touched });
    found.into_iter().map(|f| (f.rule, f.start_line)).collect()
}

fn one(rule: &str, line: u32) -> Vec<(String, u32)> {
    vec![(rule.to_owned(), line)]
}

#[test]
fn conflict_markers_need_all_three() {
    let all = "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> topic\n";
    assert_eq!(rules("a.cfg", all), one("conflict-marker", 2));
    assert_eq!(rules("a.cfg", &format!("{all}{all}")), one("conflict-marker", 2), "one of a file");
    assert_eq!(rules("a.cfg", "a\n<<<<<<< HEAD\nb\n"), []);
    assert_eq!(rules("README.rst", "Title\n=======\n"), []);
}

/// A text that a test reads may be the outcome of a merge; code is not.
#[test]
fn what_rust_compiles_for_tests_counts_as_a_test() {
    let call = "fn f() { c.set_verify(SslVerifyMode::NONE); }\n";
    let sure = |before: &str| {
        let text = &MaskedText::from(format!("{before}{call}"));
        let touched = &LineSet::all();
        let found = analyse(&Ruleset::built_in(), SourceText { path: "src/a.rs", text, touched });
        found.iter().find(|f| f.rule == "rust-tls-unchecked").unwrap().confidence
    };
    for told in ["", "#[cfg(not(test))]\n", "#[cfg(any(test, unix))]\n", "#[inline]\n"] {
        assert_eq!(sure(told), sure(""), "{told}");
    }
    for test in [
        "#[test]\n",
        "#[tokio::test(flavor = \"multi_thread\")]\n// slow\n#[ignore]\n",
        "#[cfg(all(test, unix))]\n",
        "#[cfg(all(feature = \"tls\", test))]\n#[allow(unused)]\n",
    ] {
        assert!(sure(test) < sure(""), "{test}");
    }
}

#[test]
fn conflict_markers_of_test_data_are_less_sure() {
    let sure = |path: &str| {
        let fence = if path.ends_with(".md") { "```\n" } else { "" };
        let text = &MaskedText::from(format!(
            "{fence}<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> topic\n{fence}"
        ));
        let touched = &LineSet::all();
        analyse(&Ruleset::built_in(), SourceText { path, text, touched })[0].confidence
    };
    assert_eq!(sure("tests/a.py"), sure("src/a.txt"));
    assert!(sure("tests/merged/a.txt") < sure("tests/a.py"));
    assert!(sure("guide/merging.md") < sure("tests/a.py"));
}

#[test]
fn hidden_characters_are_named() {
    assert_eq!(rules("a.c", "if (a\u{202e}b)\n"), one("bidi-control", 1));
    assert_eq!(rules("a.c", "x\u{200b}y\n"), one("invisible-character", 1));
    assert_eq!(rules("a.py", "is_\u{0430}dmin = True\n"), one("look-alike-letter", 1));
    assert_eq!(rules("a.py", "имя = 1\nβ_x = 2\n"), []);
    assert_eq!(rules("a.c", "\"ünïcødé 👩‍👩‍👧\"\n"), []);
    assert_eq!(rules("a.md", "x\u{200b}y\n"), []);
    assert_eq!(rules("qt_he.ts", "<?xml version=\"1.0\"?>\n<TS>\u{202e}</TS>\n"), []);
}

#[test]
fn work_left_undone_needs_a_reference() {
    assert_eq!(rules("a.c", "x; // TODO tidy up\n"), one("todo-without-reference", 1));
    for fine in [
        "// TODO(ada): tidy",
        "// TODO #12",
        "// TODO ABC-12",
        "// see https://x.org TODO",
        "todoList // TODOS",
        "TODO = 1",
    ] {
        assert_eq!(rules("a.c", fine), [], "{fine}");
    }
}

#[test]
fn files_as_a_whole() {
    let facts = checks::FileFacts {
        path: "a.md",
        binary: false,
        content_changed: true,
        size: Some(10),
        became_executable: true,
        text: Some("# x"),
    };
    let rules = |facts| checks::file(facts).into_iter().map(|f| f.rule).collect::<Vec<_>>();
    assert_eq!(rules(facts), ["unexpected-executable"]);
    assert!(rules(checks::FileFacts { text: Some("#!/bin/sh"), ..facts }).is_empty());
    assert!(rules(checks::FileFacts { path: "run", ..facts }).is_empty());
    let large = checks::FileFacts {
        binary: true,
        path: "a.bin",
        size: Some(5 << 20),
        became_executable: false,
        text: None,
        ..facts
    };
    assert_eq!(rules(large), ["large-binary"]);
    assert!(rules(checks::FileFacts { size: Some(4 << 20), ..large }).is_empty());
    let picture = checks::FileFacts { path: "a.png", ..large };
    assert!(rules(picture).is_empty());
    assert_eq!(rules(checks::FileFacts { size: Some(20 << 20), ..picture }), ["large-binary"]);
}

/// What is meant in a test is not worth a word there.
#[test]
fn tests_are_judged_more_softly() {
    let touched = LineSet::all();
    let confidence = |path| {
        let text = &MaskedText::from("requests.get(u, verify=False)\n");
        let source = SourceText { path, text, touched: &touched };
        analyse(&Ruleset::built_in(), source)[0].confidence.get()
    };
    assert!(confidence("src/a.py") >= 50 && confidence("tests/a.py") < 50);
}

/// What only tests read may be of any kind: nobody runs it.
#[test]
fn data_of_tests_is_judged_more_softly() {
    let touched = LineSet::all();
    let confidence = |path| {
        let text = &MaskedText::from("def f():\n    pass\n\ndef f():\n    return 1\n");
        let found = analyse(&Ruleset::built_in(), SourceText { path, text, touched: &touched });
        found.iter().find(|f| f.rule == "py-redefined-function").unwrap().confidence
    };
    for code in ["tests/a.py", "tests/data/test_a.py", "data/a.py"] {
        assert_eq!(confidence(code), confidence("src/a.py"), "{code}");
    }
    for data in ["tests/data/cases/a.py", "pkg/testdata/a.py"] {
        assert!(confidence(data) < confidence("src/a.py"), "{data}");
    }
}

/// Of something that takes several lines a rule is about those on which its expression fits.
#[test]
fn a_finding_is_about_the_lines_that_it_speaks_of() {
    let found = |path, text: &str, line: u32| {
        let (text, touched) = (&MaskedText::from(text), [line..=line].into_iter().collect());
        let found = analyse(&Ruleset::built_in(), SourceText { path, text, touched: &touched });
        found.into_iter().map(|f| (f.rule, f.start_line)).collect::<Vec<_>>()
    };
    let lock = "class A { void F() {\n  lock (typeof(A)) {\n    G();\n  }\n} }\n";
    assert_eq!(found("A.cs", lock, 2), [("cs-lock-on-shared".to_owned(), 2)]);
    assert_eq!(found("A.cs", lock, 3), []);
    let run = "FROM a:1.2\nRUN fetch 1.2.3 \\\n  && chmod -R 777 /app \\\n  && clean\n";
    assert_eq!(found("Dockerfile", run, 3), [("df-world-writable".to_owned(), 3)]);
    assert_eq!(found("Dockerfile", run, 2), []);
}

/// What another tool was told to let pass was thought about.
#[test]
fn what_another_tool_lets_pass_is_judged_more_softly() {
    let touched = LineSet::all();
    let confidence = |end| {
        let text = &MaskedText::from(format!("requests.get(u, verify=False){end}\n"));
        let source = SourceText { path: "a.py", text, touched: &touched };
        analyse(&Ruleset::built_in(), source)[0].confidence.get()
    };
    assert!(confidence("") >= 50 && confidence("  # noted") >= 50);
    assert!(confidence("  # nosec B501") < 50 && confidence("  # noqa: S501") < 50);
}

/// A comment that names what is dangerous in the line below it.
#[test]
fn what_a_comment_explains_is_judged_more_softly() {
    let touched = LineSet::all();
    let confidence = |above: &str| {
        let text = format!(
            "package a\nvar c = tls.Config{{\n\t{above}\n\tInsecureSkipVerify: true,\n}}\n"
        )
        .into();
        let source = SourceText { path: "a.go", text: &text, touched: &touched };
        analyse(&Ruleset::built_in(), source)[0].confidence.get()
    };
    assert!(confidence("") >= 50 && confidence("// the connection") >= 50);
    assert!(confidence("// InsecureSkipVerify: the name is another one, the roots are ours.") < 50);
}

/// What a function puts together of its own making needs no escaping; what was handed to it does.
#[test]
fn own_values_are_no_injection() {
    let judged = |path: &str, rule: &str, text: &str| {
        let (text, touched) = (&MaskedText::from(text), LineSet::all());
        let found = analyse(&Ruleset::built_in(), SourceText { path, text, touched: &touched });
        found.iter().any(|f| f.rule == rule && f.confidence.get() >= 50)
    };
    let python = |body: &str| judged("a.py", "sql-injection", body);
    assert!(python("cur.execute(f\"SELECT a FROM t WHERE n = '{n}'\")\n"), "no function around");
    assert!(python("def f(cur, n):\n    cur.execute(f\"SELECT a FROM t WHERE n = '{n}'\")\n"));
    assert!(python(
        "def f(cur, names):\n    for n in names:\n        m = n.lower()\n        \
         cur.execute(f\"SELECT a FROM t WHERE n = '{m}'\")\n"
    ));
    assert!(python(
        "def view(request):\n    n = request.GET['n']\n    \
         cur.execute(f\"SELECT a FROM t WHERE n = '{n}'\")\n"
    ));
    assert!(!python(
        "def upgrade():\n    now = datetime.utcnow()\n    \
         c.execute(\"UPDATE t SET created = '%s'\" % now)\n"
    ));
    let shell = |body: &str| judged("a.js", "shell-injection", body);
    assert!(shell("app.get('/', (req, res) => { execSync(`ping ${req.query.host}`); });"));
    assert!(shell("const run = name => { const c = name; execSync(`rm ${c}`); };"));
    assert!(!shell(
        "const dir = path.join(__dirname, 'x');\n(async () => { execSync(`ls ${dir}`); })();"
    ));
    let head = "package a\nimport \"os/exec\"\n";
    let go = |body: &str| judged("a.go", "shell-injection", &format!("{head}{body}"));
    assert!(go("func F(name string) { exec.Command(\"sh\", \"-c\", \"rm \"+name) }"));
    assert!(!go(
        "func F() {\n\tdir := os.TempDir()\n\texec.Command(\"sh\", \"-c\", \"ls \"+dir)\n}"
    ));
    let java = |body: &str| judged("A.java", "sql-injection", &format!("class A {{ {body} }}"));
    assert!(java("void f(String n) { st.executeQuery(\"SELECT a FROM t WHERE n = \" + n); }"));
    assert!(!java(
        "void f() {\n  int n = version();\n  \
         st.executeQuery(\"SELECT a FROM t WHERE n = \" + n);\n}"
    ));
    let ruby = |body: &str| judged("a.rb", "sql-injection", body);
    assert!(ruby("def f\n  User.where(\"name = '#{params[:name]}'\")\nend\n"));
    assert!(ruby("def f(name)\n  User.where(\"name = '#{name}'\")\nend\n"));
    assert!(!ruby("def f\n  now = Time.now\n  User.where(\"seen < '#{now}'\")\nend\n"));
}

/// What ended is told by the day of the change: a base image a year later, what cannot be used any more at once.
#[tokio::test]
async fn what_ends_is_told_once_it_has() {
    let repo = Repo::new();
    // Its commits are of 2024-01-02.
    repo.write("a.Dockerfile", "FROM python:3.6\n").write("b.Dockerfile", "FROM python:3.7\n");
    repo.write("c.yml", "Type: AWS::Lambda::Function\nRuntime: nodejs14.x\n");
    repo.write("d.yml", "Type: AWS::Lambda::Function\nRuntime: nodejs16.x\n").commit("versions");
    let of_2024 = repo.review("HEAD^!").await;
    let ended = report::findings(&of_2024).into_iter().map(|finding| {
        let (ended, _) = finding.body.split_once(" Holes").unwrap();
        (finding.path.as_str(), ended)
    });
    assert_eq!(
        ended.collect::<BTreeMap<_, _>>(),
        BTreeMap::from([
            ("a.Dockerfile", "`python:3.6` ended on 2021-12-23."),
            ("c.yml", "`nodejs14.x` ended on 2023-12-04."),
        ])
    );

    repo.write("e.Dockerfile", "FROM debian:10\n");
    let now = resolve(&repo.path(), Selection::WorkTree).await.unwrap();
    let now = review(&deps(Limits::default()), now).await;
    assert_eq!(found(&now), ["df-base-end-of-life e.Dockerfile:1-1"]);
}

/// What is not worth telling of the repository's own owner is told of strangers.
#[tokio::test]
async fn what_the_owner_has_elsewhere_is_no_strangers() {
    let repo = Repo::new();
    repo.write("a.Dockerfile", "FROM acme/base\n")
        .write("b.Dockerfile", "FROM others/base\n")
        .commit("images");
    let both = ["df-base-latest a.Dockerfile:1-1", "df-base-latest b.Dockerfile:1-1"];
    assert_eq!(found(&repo.review("HEAD^!").await), both);
    repo.git(["config", "remote.origin.url", "git@example.org:Acme/tool.git"]);
    assert_eq!(found(&repo.review("HEAD^!").await), both[1..]);
}
