//! P3, P11: what was said before is not said again; what was fixed is marked; what people dismissed
//! stays dismissed.

use fake_github::{Comment, Fault};
use fake_models::{ModelServer, Reply, When};
use serde_json::json;

use super::Place;
use crate::review::{
    models::support::{JUDGE, asked_by, finds, nothing},
    support::Repo,
    tool_runs,
};

fn on<'c>(comments: &'c [Comment], path: &str) -> Vec<&'c Comment> {
    comments.iter().filter(|comment| comment.path == path && comment.reply_to.is_none()).collect()
}

#[tokio::test]
async fn findings_are_carried_over_and_not_posted_again() {
    let place = Place::new().await;
    assert_eq!(place.review("first").code, Some(0));
    let before = place.pull.review_comments();
    place.push("e.js", "function h() { debugger; }\n");
    assert_eq!(place.review("second").code, Some(0));
    let after = place.pull.review_comments();
    assert_eq!(on(&after, "e.js").len(), 1);
    assert_eq!(after.len(), before.len() + 1, "only what is new: {after:#?}");
    // The same changes on another base: a force-push.
    place.rebase();
    assert_eq!(place.review("third").code, Some(0));
    assert_eq!(place.pull.review_comments().len(), after.len());
    let reviews = place.pull.reviews();
    assert_eq!(reviews.len(), 3);
    let said = format!("Of earlier reviews: {} commented on before.", after.len());
    assert!(reviews[2].body.contains(&said), "{}", reviews[2].body);
    place.nothing_was_refused();
}

#[tokio::test]
async fn what_was_fixed_is_marked_with_the_commit_and_resolved() {
    let place = Place::new().await;
    assert_eq!(place.review("first").code, Some(0));
    place.push("c.js", "function g() { return 1; }\n");
    assert_eq!(place.review("second").code, Some(0));
    let comments = place.pull.review_comments();
    let [fixed] = on(&comments, "c.js")[..] else { panic!("{comments:#?}") };
    let said = format!("**Fixed in {}.**", &place.pull.head()[..12]);
    assert!(fixed.body.contains(&said), "{}", fixed.body);
    assert_eq!(fixed.resolved_by.as_deref(), Some("reviewer"));
    assert!(on(&comments, "b.rs")[0].resolved_by.is_none());
    // It comes back: that is news.
    place.push("c.js", "function g() { debugger; }\n");
    assert_eq!(place.review("third").code, Some(0));
    assert_eq!(on(&place.pull.review_comments(), "c.js").len(), 2);
}

/// P3: what nobody looked for is not taken for fixed.
#[tokio::test]
async fn a_review_without_an_agent_marks_nothing_of_it_as_fixed() {
    let place = Place::new().await;
    assert_eq!(place.review("first").code, Some(0));
    let fixed = || {
        let comments = place.pull.review_comments().into_iter();
        let comments = comments.filter(|comment| comment.body.contains("**Fixed in "));
        comments.map(|comment| comment.path).collect::<Vec<_>>()
    };
    place.push("c.js", "function g() { return 1; }\n");
    let review = ["review", "--github", "octo/demo#1", "--publish"];
    let done = place.machine.run(&[&review[..], &["--agents", "security"]].concat());
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(fixed(), [""; 0]);
    assert_eq!(place.review("all").code, Some(0));
    assert_eq!(fixed(), ["c.js"]);
}

/// P3: what a model finds again is carried over; what it does not find again in the same code is not taken for fixed.
#[tokio::test]
async fn what_a_model_found_is_fixed_only_where_its_line_changed() {
    let text = "def total(items):\n    return sum(items) - 1\n";
    let repo = Repo::new();
    repo.write("pay.py", "def total(items):\n    return sum(items)\n").commit("one");
    repo.write("pay.py", text).commit("two");
    let models = ModelServer::start().unwrap();
    models.script(When::any(), [nothing()]);
    models.script(When::says(JUDGE), [Reply::json(json!({"rulings": []}))]);
    models.script(asked_by("logic"), [finds(&[("pay.py", "return sum(items) - 1")])]);
    let place = Place::of(repo).await;
    let machine = place.machine.set("model.chain", &models.openai("m"));
    let place = Place { machine, ..place };
    let review = |fresh: &str| {
        let done = place.review(fresh);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let comments = place.pull.review_comments();
        let [comment] = on(&comments, "pay.py")[..] else { panic!("{fresh}: {comments:#?}") };
        (comment.line, comment.body.contains("**Fixed in "))
    };
    assert_eq!(review("first"), (Some(2), false));
    place.push("other.py", "x = 1\n");
    assert_eq!(review("found again"), (Some(2), false));
    models.script(asked_by("logic"), [nothing()]);
    let more = "\n\ndef more():\n    return 2\n";
    place.push("pay.py", &format!("{text}{more}"));
    assert_eq!(review("not found again"), (Some(2), false));
    place.push("pay.py", &format!("{}{more}", text.replace("- 1", "- 2")));
    assert_eq!(review("changed"), (None, true));
    place.nothing_was_refused();
}

/// P3: a way of a value that is cut at its start is fixed, though the line where it did harm stays as it is.
#[tokio::test]
async fn what_a_flow_found_is_fixed_where_its_way_is_cut() {
    let text = "def show(request, cursor):\n    name = request.GET['name']\n    cursor.execute(\"SELECT a FROM t WHERE n = '\" + name + \"'\")\n";
    let repo = Repo::new();
    repo.write("show.py", "x = 1\n").commit("one");
    repo.write("show.py", text).commit("two");
    let place = Place::of(repo).await;
    let review = |fresh: &str| {
        assert_eq!(place.review(fresh).code, Some(0));
        let comments = place.pull.review_comments();
        let [comment] = on(&comments, "show.py")[..] else { panic!("{fresh}: {comments:#?}") };
        (comment.line, comment.body.contains("**Fixed in "))
    };
    assert_eq!(review("first"), (Some(3), false));
    place.push("show.py", &text.replace("request.GET['name']", "'constant'"));
    assert_eq!(review("second"), (Some(3), true));
    place.nothing_was_refused();
}

/// P3: what a tool found is not taken for fixed because the tool failed, or because it says nothing of the same line.
#[tokio::test]
async fn what_a_tool_found_is_fixed_only_where_it_looked_again() {
    let place = Place::of(tool_runs::changed()).await;
    let finds = format!("WORDS='Lists are slow'\n{}", tool_runs::LINTER);
    let lint = tool_runs::program(&place.machine, "lint", &finds);
    let tools = json!([{ "name": "lint", "command": [lint, "{files}"], "files": ["*.py"] }]);
    let machine = tool_runs::with_tools(place.machine, tools);
    let place = Place { machine, ..place };
    let tool = |script: &str| tool_runs::program(&place.machine, "lint", script);
    let review = |fresh: &str| {
        let done = place.review(fresh);
        let comments = place.pull.review_comments();
        let [comment] = on(&comments, "a.py")[..] else { panic!("{fresh}: {}", done.stderr) };
        (comment.line, comment.body.contains("**Fixed in "))
    };
    assert_eq!(review("found"), (Some(5), false));
    tool("exit 3");
    place.push("other.py", "x = 1\n");
    assert_eq!(review("failed"), (Some(5), false));
    tool(tool_runs::NOTHING);
    assert_eq!(review("found no more"), (Some(5), false));
    tool("exit 3");
    place.push("a.py", "import list\n\n\ndef total(rows):\n    return sum(rows or [])\n");
    assert_eq!(review("failed on another line"), (None, false));
    tool(&finds);
    assert_eq!(review("looked again"), (None, true));
    place.nothing_was_refused();
}

/// N3: the review of an earlier head says so, once, and names the one that took its place.
#[tokio::test]
async fn the_review_of_an_earlier_head_says_that_it_is_outdated() {
    let place = Place::new().await;
    assert_eq!(place.review("first").code, Some(0));
    let first = place.pull.head();
    place.push("e.js", "function h() { debugger; }\n");
    for fresh in ["second", "again"] {
        assert_eq!(place.review(fresh).code, Some(0));
        let reviews = place.pull.reviews();
        let [earlier, current] = &reviews[..] else { panic!("{reviews:#?}") };
        let (marker, rest) = earlier.body.split_once('\n').unwrap();
        assert!(marker.ends_with(&format!(" at {first} -->")), "{marker}");
        let said = format!("**Outdated.** [The review of {}](", &place.pull.head()[..12]);
        assert!(rest.starts_with(&said) && rest.contains("## verdict"), "{rest}");
        assert_eq!(rest.matches("**Outdated.**").count(), 1, "{rest}");
        assert!(!current.body.contains("**Outdated.**"), "{}", current.body);
    }
    place.nothing_was_refused();
}

/// P3: a finding that stands although the line of its comment changed, so that GitHub folds the comment away, gets no
/// second comment and is in the summary.
#[tokio::test]
async fn a_finding_whose_comment_is_outdated_is_in_the_summary() {
    let repo = Repo::new();
    repo.write("a.py", "def f(name):\n    return name\n").commit("one");
    let text = "def f(name):\n    breakpoint()\n    return name\n";
    repo.write("a.py", text).commit("two");
    let place = Place::of(repo).await;
    assert_eq!(place.review("first").code, Some(0));
    let summary = || place.pull.comments()[0].body.clone();
    let before = place.pull.review_comments();
    let [comment] = on(&before, "a.py")[..] else { panic!("{before:#?}") };
    assert_eq!(comment.line, Some(2));
    assert!(!summary().contains("### `a.py`"), "{}", summary());
    let text = "def f(name):\n    if len(name) > 1:\n        breakpoint()\n    return name\n";
    place.push("a.py", text);
    assert_eq!(place.review("second").code, Some(0));
    let after = place.pull.review_comments();
    let [comment] = on(&after, "a.py")[..] else { panic!("said twice: {after:#?}") };
    assert_eq!(comment.line, None, "it is outdated");
    assert!(!comment.body.contains("**Fixed in "), "{}", comment.body);
    assert!(summary().contains("### `a.py`"), "{}", summary());
    place.nothing_was_refused();
}

/// An App resolves threads only where it may write contents; without, the comment says it.
#[tokio::test]
async fn without_the_permission_only_the_comment_says_that_it_is_fixed() {
    let place = Place::with_app().await;
    assert_eq!(place.review("first").code, Some(0));
    place.push("c.js", "function g() { return 1; }\n");
    assert_eq!(place.review("second").code, Some(0));
    let comments = place.pull.review_comments();
    let [fixed] = on(&comments, "c.js")[..] else { panic!("{comments:#?}") };
    assert!(fixed.body.contains("**Fixed in ") && fixed.resolved_by.is_none(), "{fixed:#?}");
}

/// Of the lines `b.rs`, `c.js` and `d/e.py` each is dismissed in another way, and `a.py` by somebody
/// who may not.
#[tokio::test]
async fn what_people_who_may_write_dismissed_stays_dismissed() {
    let place = Place::with_app().await;
    place.repository.collaborator("maintainer", fake_github::Role::Write);
    assert_eq!(place.review("first").code, Some(0));
    let comments = place.pull.review_comments();
    let only = |path: &str| on(&comments, path)[0].id;
    place.pull.react("maintainer", only("b.rs"), "-1");
    place.pull.reply("maintainer", only("c.js"), "Won’t fix, it is a demo.");
    for comment in on(&comments, "d/e.py") {
        place.pull.resolve("maintainer", comment.id);
    }
    place.pull.reply("passer-by", only("a.py"), "won't fix");
    place.push("e.js", "function h() { return 1; }\n");
    assert_eq!(place.review("second").code, Some(0));
    let summary = place.pull.comments()[0].body.clone();
    let dismissed = 2 + on(&comments, "d/e.py").len();
    assert!(summary.contains(&format!("{dismissed} dismissed before")), "{summary}");
    assert!(summary.contains("**1 finding**"), "a.py is left: {summary}");
    assert_eq!(on(&place.pull.review_comments(), "b.rs").len(), 1);
    place.nothing_was_refused();
}

/// N4: what came later is added to the review that is there.
#[tokio::test]
async fn a_partial_review_is_upgraded_in_place() {
    let place = Place::new().await;
    place.github.fail(Fault::status(422).on("POST", "/repos/*/*/pulls/*/reviews"));
    assert_eq!(place.review("refused").code, Some(0));
    assert_eq!(place.review("again").code, Some(0));
    assert_eq!(place.pull.reviews().len(), 1, "what its body holds is not said again");
}
