//! Checks that look at both sides, or at the change as a whole.

use verdict::analysis::globs::{is_test, is_vendored};

use super::support::{Repo, found};

const PACKAGE: &str =
    "{\n  \"version\": \"1.0.0\",\n  \"dependencies\": {\n    \"a\": \"^1.0.0\"\n  }\n}\n";

/// A manifest names another version, and its lock file stays.
#[tokio::test]
async fn a_lock_file_is_not_left_behind() {
    let repo = Repo::new();
    repo.write("web/package.json", PACKAGE).write("web/yarn.lock", "a 1\n").commit("base");
    repo.write("web/package.json", PACKAGE.replace("^1.0.0", "^2.0.0")).commit("dependency");
    assert_eq!(found(&repo.review("HEAD^!").await), ["lock-not-updated web/package.json:0-0"]);
    repo.write("web/yarn.lock", "a 2\n").commit("the lock follows");
    assert_eq!(found(&repo.review("HEAD~2..HEAD").await), [""; 0]);
    repo.write("web/package.json", PACKAGE.replace("1.0.0\",\n  \"d", "1.0.1\",\n  \"d"));
    repo.commit("no dependency");
    repo.git(["mv", "web/yarn.lock", "web/pnpm-lock.yaml"]);
    repo.write("web/package.json", PACKAGE.replace("^1.0.0", "^3.0.0")).commit("the lock moves");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    repo.write("package.json", PACKAGE).commit("without a lock");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
}

/// A licence notice at the top is missed, wherever it moves within the top it is not.
#[tokio::test]
async fn a_licence_header_is_missed() {
    let repo = Repo::new();
    let text = "// Copyright (c) 2020 Ada\n// Licensed under the MIT licence\nfn f() {}\n";
    repo.write("a.rs", text).write("b.rs", text).commit("base");
    repo.write("a.rs", "fn f() {}\n\nfn g() {}\n").write("b.rs", format!("//! B.\n{text}"));
    repo.commit("change");
    assert_eq!(found(&repo.review("HEAD^!").await), ["licence-header-dropped a.rs:0-0"]);
    repo.write("b.rs", "// See LICENCE, by Ada and others.\nfn f() {}\n").write("c.po", text);
    repo.write("LICENSES/x.rs", text).commit("other words");
    repo.write("c.po", "x\n").write("LICENSES/x.rs", "x\n").commit("texts about licences");
    assert_eq!(found(&repo.review("HEAD~2..HEAD").await), [""; 0]);
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    repo.write("d.py", "# Copyright (c) 2020 Ada\n\nfirst = compute(1)\nsecond = compute(2)\n");
    repo.commit("one more");
    repo.write("d.py", "import other\n\nresult = other.everything()\n");
    repo.commit("written anew");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    repo.write("e.rs", text).write("f.rs", text).commit("two more");
    repo.write("e.rs", "fn f() {}\n").write("f.rs", "fn f() {}\n").commit("both go: on purpose");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
}

/// A test that is switched off needs a word of why.
#[tokio::test]
async fn tests_switched_off_need_a_reason() {
    let repo = Repo::new();
    repo.write("README.md", "x\n").commit("base");
    repo.write(
        "tests/a.test.js",
        "it.skip('a', () => {});\n// broken on Windows\nit.skip('b', () => {});\n\
         test.skip(!browser, 'needs a browser');\ntest.skip(\n  !browser,\n  'needs a browser',\n);\n\
         it.skip(\n  'c',\n  () => {},\n);\n",
    );
    repo.write("tests/test_a.py", "@pytest.mark.skip\ndef test_a(): pass\n\n@pytest.mark.skip(reason='slow')\ndef test_b(): pass\n");
    repo.write("src/a.js", "it.skip('a', () => {});\n");
    repo.write("ATest.java", "// Breaks on CI.\n@Test\n@Disabled\nvoid a() {}\n");
    repo.write("a_test.go", "if testing.Short() {\n\tt.Skip()\n}\n");
    repo.write("DTest.java", "@Disabled\n@Test\n// Until the server is mended.\nvoid a() {}\n");
    repo.write("tests/d.rs", "// Needs a network.\n#[ignore]\n#[tokio::test]\nasync fn a() {}\n");
    repo.write(
        "tests/d.test.js",
        "if (process.env.CI) {\n  run();\n} else {\n  it.skip('d', run);\n}\n",
    );
    repo.commit("change");
    assert_eq!(
        found(&repo.review("HEAD^!").await),
        [
            "test-switched-off tests/a.test.js:1-1",
            "test-switched-off tests/a.test.js:9-9",
            "test-switched-off tests/test_a.py:1-1"
        ]
    );
    repo.write("BTest.java", "@Test\n@Ignore\nvoid b() {}\n").commit("base");
    repo.write("BTest.java", "@Test\n@Disabled\nvoid b() {}\n")
        .commit("in another framework's word");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    let two =
        |first: &str, second: &str| format!("{first}void a() {{}}\n\n{second}void b() {{}}\n");
    repo.write("CTest.java", two("@Ignore\n", "")).commit("base");
    repo.write("CTest.java", two("", "@Disabled\n")).commit("another test");
    assert_eq!(found(&repo.review("HEAD^!").await), ["test-switched-off CTest.java:3-3"]);
    let begun = "it.skip('d', () => {\n  // needs a replica set\n});\nit.skip('e', () => {\n  // check(e);\n});\n";
    repo.write("tests/b.test.js", begun).commit("words, and code");
    assert_eq!(found(&repo.review("HEAD^!").await), ["test-switched-off tests/b.test.js:4-4"]);
    let ignored = |count: usize| "#[ignore]\nfn t() {}\n".repeat(count);
    repo.write("tests/many.rs", ignored(13)).write("tests/few.rs", ignored(12)).commit("base");
    let one_more = |count: usize| format!("{}#[ignore]\nfn u() {{}}\n", ignored(count));
    repo.write("tests/many.rs", one_more(13))
        .write("tests/few.rs", one_more(12))
        .commit("one more");
    assert_eq!(found(&repo.review("HEAD^!").await), ["test-switched-off tests/few.rs:25-25"]);
}

/// Folders and names by which code counts as a test, a sample or a tool for them.
#[test]
fn tests_are_known_by_their_place() {
    for path in [
        "contrib/a.sh",
        "buildscripts/a.sh",
        "Dockerfile.devcontainer",
        "testsuite/a.c",
        "a/smokes/a.py",
        "fuzz/a.rs",
        "a/roller-testsupport/a.java",
        "a/test-utils/a.js",
        "try/a_try.rb",
    ] {
        assert!(is_test(path), "{path}");
    }
    for path in ["django/contrib/auth.py", "build/a.sh", "Dockerfile", "latest/a.c", "utils/a.js"] {
        assert!(!is_test(path), "{path}");
    }
}

/// Folders and names by which code counts as somebody else's.
#[test]
fn libraries_are_known_by_their_place() {
    for path in [
        "lib/six.py",
        "ext/requests/api.py",
        "library/ezc/a.php",
        "a/vendor/b.go",
        "plpa-1.3.2/src/a.c",
        "jruby/gems/thread_safe-0.3.4-java/A.java",
    ] {
        assert!(is_vendored(path), "{path}");
    }
    for path in [
        "api-1.0/a.py",
        "six.py",
        "lib/sixty.py",
        "requests/api.py",
        "ezc.php",
        "/vendor.go",
        "a//b.go",
    ] {
        assert!(!is_vendored(path), "{path}");
    }
}

/// What only moved within the file, or was indented or quoted otherwise, is no news; what was added to it is.
#[tokio::test]
async fn moved_lines_are_no_news() {
    let repo = Repo::new();
    let old = "def f(a):\n    if a == None: g('x')\n";
    repo.write("a.py", old).commit("base");
    repo.write("a.py", "def f(a):\n    while True:\n        if a == None: g(\"x\")\n");
    repo.commit("indented and quoted");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    repo.write("a.rb", "binding.pry\n").commit("another");
    repo.write("a.rb", "binding.pry # for now\n").commit("explained");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    let twice =
        "def f(a):\n    while True:\n        if a == None: g('x')\n        if a == None: g('x')\n";
    repo.write("a.py", old).commit("back");
    repo.write("a.py", twice).commit("one more");
    assert_eq!(found(&repo.review("HEAD^!").await).len(), 1);
}

/// What a file does on purpose is no news where it does so once more: a rule of security or style spoke of it before. A
/// rule of the repository's own counts each time.
#[tokio::test]
async fn habits_of_a_file_are_no_news() {
    let repo = Repo::new();
    let get =
        |name: &str| format!("def {name}(url):\n    return requests.get(url, verify=False)\n");
    let own = "id: no-g\nlanguages: [Python]\ncategory: security\nseverity: low\nconfidence: 0.9\n\
               title: No g\nproblem: p\nadvice: a\nrule: { pattern: g($A) }\n";
    let first = format!("import requests\n\n{}\ng(1)\n", get("a"));
    repo.write(".verdict/rules/no-g.yml", own).write("a.py", &first).commit("base");
    repo.write("a.py", format!("{first}\n{}\ng(2)\n", get("b"))).commit("as before");
    assert_eq!(found(&repo.review("HEAD^!").await), ["no-g a.py:11-11"]);
    repo.write("c.py", "a = b == None\n").commit("a style");
    repo.write("c.py", "a = b == None\n\n\nc = d == None\n").commit("as before");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    repo.write("d.py", "a = b is 'x'\n").commit("a slip");
    repo.write("d.py", "a = b is 'x'\n\n\nc = d is 'x'\n").commit("and another");
    assert_eq!(found(&repo.review("HEAD^!").await), ["py-is-literal d.py:4-4"]);
    repo.write("b.py", format!("import requests\n\n{}", get("b"))).commit("elsewhere");
    assert!(found(&repo.review("HEAD^!").await).iter().any(|it| it.contains(" b.py:4-4")));
}

/// Code that stood in another file is no news where it stands now. What it has not around it any more is.
#[tokio::test]
async fn code_of_another_file_is_no_news() {
    let repo = Repo::new();
    let code = "    if a == None:\n        return 1\n";
    repo.write("a.py", format!("def f(a):\n{code}")).write("c.py", "x = 1\n").commit("base");
    repo.write("a.py", "y = 1\n").write("b.py", format!("z = 1\n\ndef f(b, a):\n{code}"));
    repo.write("c.py", "x = 1\ndef g(a):\n    if a == None: return 2\n").commit("moved");
    assert_eq!(found(&repo.review("HEAD^!").await), ["py-compare-none c.py:3-3"]);
    let twice = format!("z = 1\n\ndef f(b, a):\n{code}\ndef h(b, a):\n{code}");
    repo.git(["reset", "-q", "--hard", "HEAD^"]);
    repo.write("a.py", "y = 1\n").write("b.py", twice).commit("moved, and copied");
    assert_eq!(found(&repo.review("HEAD^!").await).len(), 1);
    // A script in another language of its kind.
    let page = "import tls from 'node:tls';\n\nexport function open(host) {\n  return tls.connect({ host, rejectUnauthorized: false });\n}\n";
    repo.write("d.js", page).commit("base");
    repo.remove("d.js").write("d.ts", page.replace("(host)", "(host: string)")).commit("typed");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    repo.write("e.ts", page.replace("(host)", "(id: string, host: string)")).commit("one more");
    assert_eq!(found(&repo.review("HEAD^!").await).len(), 1);
}

/// What stands in a copy of a whole file is known, secrets as well, but for what a request reaches there and what debugging left;
/// the copy with a line of its own is read as any other.
#[tokio::test]
async fn the_copy_of_a_file_is_no_news() {
    let repo = Repo::new();
    let known = "def f(a):\n    if a == None:\n        return 1\n";
    let hole = "def find(db, request):\n    name = request.GET['name']\n    db.execute('select 1 from t where name = ' + name)\n";
    let token = format!("token: ghp_{}\n", "a7Qx2Vb9Kd4Wm6Tz1Rn8Yc3Lp5Hs0GfJu2Ei");
    let left = "breakpoint()\n";
    let all = [("a.py", known), ("hole.py", hole), ("left.py", left), ("key.yml", &token)];
    all.into_iter().for_each(|(path, text)| _ = repo.write(path, text));
    repo.commit("base");
    all.into_iter().for_each(|(path, text)| _ = repo.write(&format!("sub/{path}"), text));
    repo.write("sub/c.py", format!("{known}\n\nx = 1\n")).commit("copied");
    let mut said = found(&repo.review("HEAD^!").await);
    said.sort();
    assert_eq!(
        said,
        [
            "py-compare-none sub/c.py:2-2",
            "py-debugger sub/left.py:1-1",
            "sql-injection sub/hole.py:3-3"
        ]
    );
}

/// What was edited when it moved is no news if the rules said the same of it before; what the edit brought is.
#[tokio::test]
async fn code_edited_while_it_moved_is_no_news() {
    let repo = Repo::new();
    let old =
        "def find(db, name):\n    return db.execute('select 1 from t where name = ' + name)\n";
    let hash = "def key(password):\n    return hashlib.md5(password.encode()).hexdigest()\n";
    repo.write("a.py", format!("import hashlib\n\n{old}\n{hash}")).commit("base");
    let new = old.replace("(db,", "(self, db,").replace("select 1", "select 2");
    let new = new.replace("    return db", "        return db").replace("def f", "    def f");
    let hashed = hash.replace("password.encode()", "password.encode(), usedforsecurity=True");
    let both = format!("import hashlib\n\nclass A:\n{new}\n{hashed}");
    repo.remove("a.py").write("b/c.py", both).commit("moved");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    let bound = old.replace("' + name)", "%s', [name])");
    repo.git(["reset", "-q", "--hard", "HEAD^"]);
    repo.write("a.py", bound).commit("bound");
    repo.remove("a.py").write("b/c.py", new).commit("moved, and no longer bound");
    assert_eq!(found(&repo.review("HEAD^!").await), ["sql-injection b/c.py:2-2"]);
}

/// A secret that moves to another file is no news; one that comes with it is.
#[tokio::test]
async fn a_secret_of_another_file_is_no_news() {
    let repo = Repo::new();
    let key = |end: &str| format!("ghp_{}{end}", "a7Qx2Vb9Kd4Wm6Tz1Rn8Yc3Lp5");
    let (old, new) = (key("Hs0GfJu2Ei"), key("Bk4NvXo7Pq"));
    repo.write("a.yml", format!("a: 1\nb: 2\nc: 3\ntoken: {old}\n")).commit("base");
    repo.write("a.yml", "a: 1\nb: 2\nc: 3\n");
    repo.write("ci/b.yml", format!("old_token: {old}\nnew_token: {new}\n"))
        .commit("moved, and one more");
    assert_eq!(found(&repo.review("HEAD^!").await), ["secret-github-token ci/b.yml:2-2"]);
}

/// A flow that the file had before is no news where one of its lines is edited, or gains another; one more of its kind is,
/// and one whose check went.
#[tokio::test]
async fn flows_that_were_there_are_no_news() {
    let repo = Repo::new();
    let old = "def f(request, db):\n    n = request.GET['n']\n    db.execute('select 1 from t where n = ' + n)\n";
    repo.write("a.py", old).commit("base");
    repo.write("a.py", old.replace("select 1", "select 2")).commit("edited");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    let gained = old.replace("    db.execute(", "    db.execute(\n        ");
    repo.write("a.py", gained.replace("+ n)", "+ n,\n        1)")).commit("more of a call");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    let twice = format!("{old}\n\n{}", old.replace("def f", "def g"));
    repo.write("a.py", old).commit("back");
    repo.write("a.py", twice).commit("one more");
    assert_eq!(found(&repo.review("HEAD^!").await), ["sql-injection a.py:8-8"]);
    // A value that did the same harm before does no other by going on; one that is read anew does.
    let more = "    db.execute('select 2 from u where n = ' + n)\n";
    repo.write("a.py", old).commit("back again");
    repo.write("a.py", format!("{old}{more}")).commit("the same value once more");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    repo.write("a.py", old).commit("back once more");
    repo.write("a.py", format!("{old}    n = request.GET['m']\n{more}")).commit("another value");
    assert_eq!(found(&repo.review("HEAD^!").await), ["sql-injection a.py:5-5"]);
    let checked = old.replace("['n']\n", "['n']\n    if not n.isdigit():\n        return\n");
    repo.write("a.py", checked).commit("checked");
    repo.write("a.py", old.replace("select 1", "select 3")).commit("no longer checked");
    assert_eq!(found(&repo.review("HEAD^!").await), ["sql-injection a.py:3-3"]);
}

/// What stood on a line before it was edited is no news, and neither is a secret that the file held before.
#[tokio::test]
async fn what_was_there_before_is_no_news() {
    let repo = Repo::new();
    let (one, two) = ("kX9mQ2vL7pR4tW8zB3nC", "Zt5Rw1Yb6Ns8Hd3Kf0Qg");
    let old = format!(
        "KEY = '1'\nAPI_KEY = '{one}'\ndef f(a, b):\n    return requests.get(a.url, params=b)\n"
    );
    repo.write("a.py", &old).commit("base");
    let edited = old.replace("a.url,", "a.place.url,").replace("API_KEY = ", "OTHER_API_KEY = ");
    repo.write("a.py", &edited).commit("edited");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    let other =
        edited.replace(one, two).replace("get(a.place.url, params=b)", "post(LIMITS, data=b)");
    repo.write("a.py", &other).commit("something else in their place");
    assert_eq!(
        found(&repo.review("HEAD^!").await),
        ["secret-hardcoded-credential a.py:2-2", "py-request-without-timeout a.py:4-4"]
    );
    let long = "def f(a):\n    return requests.get(\n        a.url,\n    )\n";
    let more = |last: &str| long.replace("url,\n", &format!("url,\n{last}"));
    repo.write("a.py", long).commit("a call of some lines");
    repo.write("a.py", more("        headers=a.headers,\n")).commit("with more lines");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    repo.write("a.py", more("        verify=False,\n")).commit("that are a fault of their own");
    assert_eq!(found(&repo.review("HEAD^!").await), ["py-requests-no-verify a.py:4-4"]);
}

/// Other words within a block are none about it, and another block is.
#[tokio::test]
async fn a_block_that_began_before_is_no_news() {
    let repo = Repo::new();
    let text = |row: &str, cell: &str| {
        let inner = |name: &str, text: &str| {
            format!("  const {name} = () => (\n    <li>\n      {text}\n    </li>\n  );\n")
        };
        format!(
            "function List() {{\n{}{}  return <ul><Row /><Cell /></ul>;\n}}\n",
            inner("Row", row),
            cell
        )
    };
    repo.write("a.jsx", text("Save it", "")).commit("base");
    repo.write("a.jsx", text("{t('save')}", "")).commit("translated");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    repo.write("a.jsx", text("{t('save')}", "  const Cell = () => <b>x</b>;\n")).commit("one more");
    assert_eq!(found(&repo.review("HEAD^!").await), ["js-component-in-component a.jsx:7-7"]);
}

/// A value that is read in another way is no news below, unless what cleaned it goes.
#[tokio::test]
async fn another_way_to_read_a_value_is_no_news() {
    let repo = Repo::new();
    let text = |read: &str| {
        format!(
            "function f(req, res) {{\n  const name = {read};\n  res.redirect(name);\n}}\napp.get('/', f);\n"
        )
    };
    repo.write("a.js", text("req.input('name')")).commit("base");
    repo.write("a.js", text("req.header('name')")).commit("another framework");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    for check in ["clean(req.query.name)", "pick(req, 'name')", "req.safe('name')"] {
        repo.write("a.js", text(check)).commit("a check");
        repo.write("a.js", text("req.header('name')")).commit("the check goes");
        assert_eq!(found(&repo.review("HEAD^!").await), ["open-redirect a.js:2-2"], "{check}");
    }
    repo.write("b.js", text("'/home'")).commit("a constant");
    repo.write("b.js", text("req.query.name")).commit("the visitor's");
    assert_eq!(found(&repo.review("HEAD^!").await), ["open-redirect b.js:2-2"]);
}

/// What a comment above tells a linter to leave was thought about.
#[tokio::test]
async fn what_a_linter_was_told_to_leave_is_no_news() {
    let repo = Repo::new();
    let call = "requests.get('https://a.example', verify=False, timeout=3)\n";
    repo.write("a.py", "").write("b.py", "").commit("base");
    repo.write("a.py", format!("print(1)\n{call}"));
    repo.write("b.py", format!("# nosemgrep\n{call}")).commit("two calls");
    assert_eq!(found(&repo.review("HEAD^!").await), ["py-requests-no-verify a.py:2-2"]);
}
