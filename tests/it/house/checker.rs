//! The checker, checked: each way to write a path, on sources of a few lines.

use super::{Source, arrows, habits, paths};

/// The violations of sources given as `(path, text)`.
fn arrows(sources: &[(&str, &str)]) -> Vec<String> {
    arrows::violations(&owned(sources))
}

fn owned(sources: &[(&str, &str)]) -> Vec<Source> {
    let source =
        |(path, text): &(&str, &str)| Source { path: (*path).to_owned(), text: (*text).to_owned() };
    sources.iter().map(source).collect()
}

/// A file in `graph` (which may import nothing but `base`) must be caught with each text, on the
/// line given.
#[test]
fn every_way_to_name_another_room_is_seen() {
    let cases = [
        ("use crate::db::Pool;", 1),
        ("use\n  crate::{base::Fault,\n  db::{self, sqlite}};", 3),
        ("use crate::db as d;", 1),
        ("use super::db::Pool;", 1),
        ("use super::{db};", 1),
        ("use self::super::db::*;", 1),
        ("use verdict::db::Pool;", 1),
        ("use ::verdict::db::Pool;", 1),
        ("pub use crate::db::Pool;", 1),
        ("pub(crate) use crate::db::Pool;", 1),
        ("fn f(pool: &crate::db::Pool) {}", 1),
        ("fn f() {\n  let x = super::db::open();\n}", 2),
        ("fn f() { let x = <crate::db::Pool as Default>::default(); }", 1),
        ("fn f() { println!(\"{}\", crate::db::NAME); }", 1),
        ("macro_rules! m { () => { $crate::db::open() } }", 1),
        ("mod inner { use super::super::db::Pool; }", 1),
        ("mod inner { mod deeper { fn f() { super::super::super::db::open() } } }", 1),
        ("#[serde(with = \"x\")] struct S { f: Vec<crate::db::Pool> }", 1),
        ("use crate::r#db::Pool;", 1),
        ("impl<'a> T for crate::db::Pool<'a> {}", 1),
    ];
    for (text, line) in cases {
        let found = arrows(&[("src/graph/mod.rs", text)]);
        assert!(!found.is_empty(), "missed: {text}");
        let start = format!("src/graph/mod.rs:{line}: graph → db");
        assert!(found.iter().all(|violation| *violation == start), "{text}\n{found:?}");
    }
}

#[test]
fn what_leads_nowhere_else_is_left_alone() {
    let cases = [
        "use crate::base::Fault; use super::base; use crate::graph::store; use self::store::Head;",
        "// use crate::db::Pool;\n/// [`crate::db::Pool`]\nfn f() {}",
        "const X: &str = \"crate::db::Pool\"; const Y: &str = r#\"crate::db\"#;",
        "pub(crate) fn f() {} pub(super) fn g() {} pub(in crate::graph) struct S(pub(crate) u8);",
        "use other::db::Pool; use serde::{de, ser}; fn f() { foo::verdict::db::x() }",
        "mod inner { use super::x; use super::super::base::Fault; }",
        "fn f(self) -> impl Sized + use<'_> { self.db(); Self::db() }",
    ];
    for text in cases {
        assert_eq!(arrows(&[("src/graph/mod.rs", text)]), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn the_module_a_file_holds_decides_where_super_leads() {
    assert_eq!(paths::module_of("src/graph/a/b.rs"), ["graph", "a", "b"]);
    assert_eq!(paths::module_of("src/graph/a/mod.rs"), ["graph", "a"]);
    assert!(paths::module_of("src/lib.rs").is_empty());
    let text = "use super::super::db::Pool;";
    assert!(arrows(&[("src/graph/a/b.rs", text)]).is_empty(), "graph::db is its own");
    assert_eq!(arrows(&[("src/graph/a.rs", text)]), ["src/graph/a.rs:1: graph → db"]);
}

#[test]
fn a_re_export_is_no_way_around() {
    let app = ("src/app.rs", "pub use crate::db::Pool as Base;");
    let cli = ("src/cli/mod.rs", "use crate::app::Base;");
    assert_eq!(arrows(&[app, cli]), ["src/cli/mod.rs:1: cli → db"]);

    let forge = ("src/forge/mod.rs", "pub mod local;\npub use local::Git;");
    let local = ("src/forge/local.rs", "pub struct Git;");
    let review = ("src/workflows/review.rs", "use crate::forge::Git;");
    assert_eq!(
        arrows(&[forge, local, review]),
        ["src/workflows/review.rs:1: workflows → forge::local (an adapter, not the port)"]
    );
    let glob = ("src/app.rs", "pub use crate::db::*;");
    assert_eq!(arrows(&[glob]), ["src/app.rs:1: `pub use db::*` hides what it exports"]);
    let twin = ("src/queue/mod.rs", "mod decode; pub use decode::decode;");
    let inner = ("src/queue/decode.rs", "pub fn decode() {}");
    let user = ("src/cli/mod.rs", "use crate::queue::decode;");
    let only_types = "src/cli/mod.rs:1: cli → queue::decode (only types may be imported)";
    assert_eq!(arrows(&[twin, inner, user]), [only_types]);
    let chained = ("src/app/mod.rs", "mod a; pub use a::X;");
    let inner = ("src/app/a.rs", "pub use crate::checkpoint::Y as X;");
    let user = ("src/cli/mod.rs", "fn f(x: crate::app::X) {}");
    assert_eq!(arrows(&[chained, inner, user]), ["src/cli/mod.rs:1: cli → checkpoint"]);
}

#[test]
fn the_root_has_no_other_name_and_no_strangers() {
    for text in ["use crate as k;", "use super::{self as up};", "use crate::{self as k};"] {
        let found = arrows(&[("src/graph/mod.rs", text)]);
        assert_eq!(found, ["src/graph/mod.rs:1: graph → the crate's root"], "{text}");
    }
    let found = arrows(&[("src/graph/mod.rs", "use crate::helpers::x;")]);
    assert_eq!(found, ["src/graph/mod.rs:1: graph → `helpers`, which is no room"]);
    let found = arrows(&[("src/graph/mod.rs", "use super::*;")]);
    assert_eq!(found, ["src/graph/mod.rs:1: graph → the crate's root"]);
}

#[test]
fn adapters_are_for_app_and_some_rooms_give_types_only() {
    let name = "fn f() { crate::queue::embedded::open() }";
    assert!(arrows(&[("src/app.rs", name)]).is_empty());
    assert!(arrows(&[("src/queue/mod.rs", name)]).is_empty());
    assert_eq!(
        arrows(&[("src/worker/mod.rs", name)]),
        ["src/worker/mod.rs:1: worker → queue::embedded (an adapter, not the port)"]
    );
    let taken = "use crate::{graph::store::{RunId, Head}, workflows::find};";
    assert_eq!(
        arrows(&[("src/cli/mod.rs", taken)]),
        ["src/cli/mod.rs:1: cli → workflows::find (only types may be imported)"]
    );
    assert!(arrows(&[("src/runs/mod.rs", taken)]).is_empty());
}

#[test]
fn the_binary_is_its_own_crate() {
    let text = "use verdict::{cli, worker};\nfn f() { crate::g() }";
    assert_eq!(arrows(&[("src/main.rs", text)]), ["src/main.rs:1: main → worker"]);
}

#[test]
fn crates_beside_the_library_are_rooms_too() {
    assert_eq!(paths::module_of("crates/graph/src/lib.rs"), ["graph"]);
    assert_eq!(paths::module_of("crates/graph/src/a/mod.rs"), ["graph", "a"]);
    assert_eq!(paths::module_of("crates/graph/src/base/a.rs"), ["base", "a"]);
    let own = "use crate::{base::Fault, store::Head}; use super::b; use verdict_graph::base;";
    assert!(arrows(&[("crates/graph/src/a.rs", own)]).is_empty());
    let other = "use verdict_graph::store::Head;";
    assert_eq!(
        arrows(&[("crates/analysis/src/a.rs", other)]),
        ["crates/analysis/src/a.rs:1: analysis → graph"]
    );
    assert!(arrows(&[("crates/checkpoint/src/a.rs", other)]).is_empty());
    assert_eq!(
        arrows(&[("crates/checkpoint/src/db/a.rs", "use crate::codec::X;")]),
        ["crates/checkpoint/src/db/a.rs:1: db → checkpoint"]
    );
    let direct = [("src/queue/mod.rs", "use verdict_checkpoint::SqliteStore;")];
    assert_eq!(arrows(&direct), ["src/queue/mod.rs:1: queue → checkpoint"]);
}

#[test]
fn habits_are_seen() {
    let forks = |text| habits::test_forks(&owned(&[("src/x.rs", text)])).len();
    assert_eq!(forks("#[cfg(test)] mod tests { fn f() {} } #[cfg(test)] mod tests;"), 0);
    assert_eq!(forks("#[cfg(test)] #[expect(x, reason = \"test\")] mod tests {}"), 0);
    assert_eq!(forks("#[cfg(unix)] fn f() { test(); any(test) }"), 1, "strict on purpose");
    for text in [
        "#[cfg(test)] fn f() {}",
        "#[cfg(test)] mod helpers {}",
        "#[cfg(not(test))] fn f() {}",
        "fn f() { if cfg!(test) {} }",
        "#[cfg_attr(test, derive(Debug))] struct S;",
        "mod a { impl S { #[cfg(any(test, unix))] fn f() {} } }",
    ] {
        assert_eq!(forks(text), 1, "{text}");
    }
    let tests = |text| habits::sleeps_and_ignores(&owned(&[("tests/x.rs", text)])).len();
    assert_eq!(tests("fn f() { let sleep = \"sleep(1)\"; advance(sleep) } // #[ignore]"), 0);
    assert_eq!(tests("async fn f() { tokio::time::sleep(D).await }"), 1);
    assert_eq!(tests("#[ignore = \"slow\"] #[test] fn f() {}"), 1);
    assert_eq!(tests("#[cfg_attr(unix, ignore)] #[test] fn f() {}"), 1);
    let long = |lines: usize| {
        let text = "\n".repeat(lines);
        habits::too_long(&owned(&[("src/x.rs", &text)])).len()
    };
    assert_eq!((long(400), long(401)), (0, 1));
}
