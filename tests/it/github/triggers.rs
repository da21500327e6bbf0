//! P2, P13: what starts a review, what does not, and what ends one.

use fake_github::{App, Fault, Role};

use super::{Place, permissions};
use crate::{
    crash::fixture,
    review::support::Repo,
    server::{serve, stop},
    support::{Machine, Process, eventually, rows},
};

/// The events that verdict's App asks for.
const EVENTS: &[&str] = &[
    "pull_request",
    "issue_comment",
    "pull_request_review_comment",
    "check_run",
    "check_suite",
    "merge_group",
];

/// A pull request of a repository on which verdict's App is installed, and a process that takes its
/// webhooks. What happened before it served is unknown to it.
pub struct Served {
    pub place: Place,
    pub app: App,
    pub at: std::net::SocketAddr,
    process: Process,
}

impl Served {
    pub async fn new() -> Self {
        Self::of(Place::new().await).await
    }

    pub async fn of(place: Place) -> Self {
        Self::with(place, |machine| machine).await
    }

    /// The same with other settings.
    pub async fn with(place: Place, settings: impl FnOnce(Machine) -> Machine) -> Self {
        let app = place.github.app("verdict", permissions(), EVENTS);
        app.install("octo");
        place.repository.collaborator("writer", Role::Write);
        let machine = super::fast(&place.github);
        let key = machine.folder().join("app.pem");
        std::fs::write(&key, app.private_key()).unwrap();
        let machine = machine
            .set("github.app_id", &app.id().to_string())
            .set("github.private_key_path", &key.display().to_string())
            .set("github.webhook_secret", "secret")
            .set("github.repair_interval", "0s")
            .set("worker.quiet", "0s");
        let place = Place { machine: settings(machine), ..place };
        let (process, at) = serve(&place.machine, "all").await;
        app.webhook(&format!("http://{at}/webhooks/github"), "secret");
        Self { place, app, at, process }
    }

    /// Returns when every webhook so far was taken and worked on.
    pub async fn settled(&self) {
        self.place.github.webhooks_settled().await;
        eventually("the queue is empty", async || {
            (rows(&self.place.machine.file()).await.messages == 0).then_some(())
        })
        .await;
    }

    /// Waits for so many reviews, and that there are no more.
    pub async fn reviews(&self, count: usize) {
        eventually(&format!("{count} reviews"), async || {
            (self.place.pull.reviews().len() >= count).then_some(())
        })
        .await;
        self.settled().await;
        assert_eq!(self.place.pull.reviews().len(), count);
    }

    /// How many runs there are, of any status.
    pub fn runs(&self) -> usize {
        let runs = self.place.machine.run(&["runs", "list", "--format", "json"]).json();
        runs.as_array().unwrap().len()
    }

    pub async fn stop(self) {
        stop(self.process).await;
        self.place.nothing_was_refused();
    }
}

/// Drafts wait until they are ready, or until somebody asks with the label; a head is reviewed once
/// whatever happens to it.
#[tokio::test]
async fn a_draft_is_reviewed_when_it_is_ready_or_labelled() {
    let site = Served::new().await;
    let pull = &site.place.pull;
    pull.set_draft(true);
    site.place.push("e.js", "function h() { debugger; }\n");
    site.settled().await;
    assert_eq!(site.runs(), 0, "it is a draft");
    pull.label("bug", "writer");
    site.settled().await;
    assert_eq!(site.runs(), 0, "the label asks for nothing");
    pull.label("verdict", "writer");
    site.reviews(1).await;
    pull.set_draft(false);
    pull.close();
    pull.reopen();
    site.settled().await;
    assert_eq!((site.runs(), pull.reviews().len()), (1, 1), "the head was reviewed");
    site.stop().await;
}

/// Bots and the account that reviews are left alone, until somebody asks.
#[tokio::test]
async fn changes_of_bots_are_reviewed_when_somebody_asks() {
    let site = Served::new().await;
    let bot = site.app.login();
    let pull = site.place.repository.pull_request("feature", "main").by(&bot).open();
    site.settled().await;
    assert_eq!(site.runs(), 0);
    let asked = pull.comment("writer", "/verdict review");
    eventually("it is reviewed", async || (pull.reviews().len() == 1).then_some(())).await;
    assert_eq!(pull.reactions(asked), [(bot, "eyes".to_owned())]);
    site.stop().await;
}

/// Commands are taken from people who may write, each comment has a reaction, and an explicit
/// re-review is a run of its own that brings the one review up to date.
#[tokio::test]
async fn commands_are_taken_from_people_who_may_write() {
    let site = Served::new().await;
    let pull = &site.place.pull;
    let stranger = pull.comment("stranger", "/verdict review");
    let talk = pull.comment("writer", "I would not say /verdict review here");
    site.settled().await;
    let by = |content: &str| vec![(site.app.login(), content.to_owned())];
    assert_eq!((site.runs(), pull.reactions(stranger)), (0, by("confused")));
    assert_eq!(pull.reactions(talk), []);
    for run in 1..=2 {
        let asked = pull.comment("writer", "Please:\n\n/verdict review");
        site.reviews(1).await;
        assert_eq!((site.runs(), pull.reactions(asked)), (run, by("eyes")));
    }
    let help = pull.comment("writer", "/verdict help");
    site.settled().await;
    let answers: Vec<_> = pull.comments().into_iter().filter(|c| c.author != "writer").collect();
    let own = answers.iter().find(|c| c.body.contains(&format!("answer to {help} -->")));
    assert!(own.unwrap().body.contains("/verdict explain"), "{answers:?}");
    site.stop().await;
}

/// A rule is explained by name, and below a finding without one.
#[tokio::test]
async fn a_rule_is_explained_where_somebody_asks() {
    let site = Served::new().await;
    let pull = &site.place.pull;
    pull.comment("writer", "/verdict review");
    site.reviews(1).await;
    pull.comment("writer", "/verdict explain js-debugger");
    site.settled().await;
    let explained =
        |body: &str| body.starts_with("<!-- verdict answer") && body.contains("`js-debugger`");
    assert!(pull.comments().iter().any(|comment| explained(&comment.body)));
    let comments = pull.review_comments();
    let finding = comments.iter().find(|comment| comment.body.contains("js-debugger")).unwrap();
    pull.reply("writer", finding.id, "/verdict explain");
    eventually("the reply is answered", async || {
        let comments = pull.review_comments();
        comments.iter().any(|c| c.reply_to == Some(finding.id) && explained(&c.body)).then_some(())
    })
    .await;
    site.stop().await;
}

/// P2, P11: `/verdict resolve` dismisses the finding that it answers, and below the pull request all of them; what was
/// dismissed is left out of the next review. Those who may not write are not obeyed.
#[tokio::test]
async fn findings_are_dismissed_by_a_command() {
    let site = Served::new().await;
    let pull = &site.place.pull;
    pull.comment("writer", "/verdict review");
    site.reviews(1).await;
    let found = pull.review_comments();
    let finding = found.iter().find(|comment| comment.path == "c.js").unwrap();
    let dismissed = || {
        let comments = pull.review_comments().into_iter().filter(|one| one.reply_to.is_none());
        let says = |body: &str| body.contains("-->\n**Dismissed by `writer`.**\n");
        comments.filter(|one| says(&one.body)).map(|one| one.id).collect::<Vec<_>>()
    };
    let refused = pull.reply("stranger", finding.id, "/verdict resolve");
    site.settled().await;
    let by = |content: &str| vec![(site.app.login(), content.to_owned())];
    assert_eq!((pull.reactions(refused), dismissed()), (by("confused"), vec![]));
    let asked = pull.reply("writer", finding.id, "/verdict resolve");
    eventually("it is dismissed", async || (dismissed() == [finding.id]).then_some(())).await;
    site.settled().await;
    assert_eq!(pull.reactions(asked), by("eyes"));
    pull.comment("writer", "/verdict review");
    eventually("it is left out", async || {
        let comments = pull.comments();
        comments.iter().any(|one| one.body.contains("1 dismissed before")).then_some(())
    })
    .await;
    // Once more, and all others.
    pull.comment("writer", "/verdict resolve");
    eventually("all are dismissed", async || (dismissed().len() == found.len()).then_some(()))
        .await;
    pull.review("writer", "", Some(("a.py", 3, "/verdict resolve")));
    eventually("there is nothing to dismiss", async || {
        let comments = pull.review_comments();
        comments.iter().any(|one| one.body.contains("no finding on lines here")).then_some(())
    })
    .await;
    site.stop().await;
}

/// "Re-run" on the check reviews again.
#[tokio::test]
async fn a_check_that_is_run_again_is_a_review() {
    let site = Served::new().await;
    site.place.push("e.js", "function h() { debugger; }\n");
    site.reviews(1).await;
    let check = eventually("the check ends", async || {
        site.place.pull.checks().into_iter().find(|check| check.status == "completed")
    })
    .await;
    site.place.pull.rerequest_check(check.id);
    eventually("it is reviewed again", async || (site.runs() == 2).then_some(())).await;
    site.reviews(1).await;
    site.stop().await;
}

/// P13: the head of a merge group has the verdict of its pull request, and nothing is reviewed.
#[tokio::test]
async fn a_merge_group_has_the_verdict_of_its_pull_request() {
    let site = Served::new().await;
    site.place.push("e.js", "function h() { debugger; }\n");
    site.reviews(1).await;
    let group = site.place.pull.enqueue();
    let copied = eventually("the group has a check", async || {
        group.checks().into_iter().find(|check| check.status == "completed")
    })
    .await;
    site.settled().await;
    let checks = site.place.pull.checks();
    let [own] = &checks[..] else { panic!("{checks:?}") };
    assert_eq!((&copied.name, &copied.conclusion), (&own.name, &own.conclusion));
    assert_eq!((&copied.title, &copied.summary), (&own.title, &own.summary));
    assert_eq!((site.runs(), group.checks().len()), (1, 1));
    site.stop().await;
}

/// A closed pull request needs no review any more.
#[tokio::test]
async fn the_review_of_a_closed_pull_request_is_cancelled() {
    let site = Served::new().await;
    let pull = &site.place.pull;
    let limit = Fault::secondary_limit(Some(std::time::Duration::from_secs(3600)));
    site.place.github.fail(limit.on("POST", "/repos/*/*/pulls/*/reviews").always());
    site.place.push("e.js", "function h() { debugger; }\n");
    let status = async |wanted: &str| {
        let runs = site.place.machine.run(&["runs", "list", "--format", "json"]).json();
        (runs[0]["status"] == wanted).then_some(())
    };
    eventually("it waits for the limit", async || status("parked").await).await;
    pull.close();
    eventually("it is cancelled", async || status("cancelled").await).await;
    assert_eq!(pull.reviews().len(), 0);
    stop(site.process).await;
}

/// P1: what the base branch says about triggers holds, whatever the head says.
#[tokio::test]
async fn the_base_branch_says_what_starts_a_review() {
    let repo = Repo::new();
    repo.write(".verdict.toml", "[triggers]\nautomatic = false\nlabel = \"please\"\n");
    repo.write("a.js", "f();\n").commit("one");
    repo.write(".verdict.toml", "[triggers]\nautomatic = true\n");
    repo.write("a.js", "f();\ndebugger;\n").commit("two");
    let site = Served::of(Place::of(repo).await).await;
    site.place.push("e.js", "function h() { debugger; }\n");
    site.settled().await;
    assert_eq!(site.runs(), 0);
    site.place.pull.label("please", "writer");
    site.reviews(1).await;
    site.stop().await;
}

/// What an organisation keeps in its `.github` repository holds where a repository says nothing.
#[tokio::test]
async fn an_organisation_has_defaults_for_its_repositories() {
    let defaults = Repo::new();
    defaults.write(".verdict.toml", "[triggers]\nautomatic = false\n").commit("defaults");
    let place = Place::new().await;
    place.github.repository("octo/.github", defaults.path());
    let site = Served::of(place).await;
    site.place.push("e.js", "function h() { debugger; }\n");
    site.settled().await;
    assert_eq!(site.runs(), 0);
    site.place.pull.label("verdict", "writer");
    site.reviews(1).await;
    site.stop().await;
}

/// What is not installed anywhere is none of ours: its events are dropped.
#[tokio::test]
async fn events_of_unknown_installations_are_dropped() {
    let site = Served::new().await;
    let repo = fixture::repository();
    site.place.github.repository("other/demo", repo.path());
    let body = serde_json::json!({
        "action": "opened", "number": 1, "installation": {"id": 1},
        "repository": {"full_name": "other/demo"},
    });
    let file = site.place.machine.text("event.json", body.to_string());
    site.place.machine.run(&["enqueue", &file, "--event", "pull_request"]);
    site.settled().await;
    let letters = site.place.machine.run(&["dlq", "list", "--format", "json"]).json();
    assert_eq!((letters, site.runs()), (serde_json::json!([]), 0));
    site.stop().await;
}

/// P2: a head that was overtaken before its review was published, and is current again after a
/// force-push, is reviewed.
#[tokio::test]
async fn a_head_that_is_current_again_is_reviewed() {
    let served = Served::new().await;
    let Served { place, app, at, .. } = &served;
    place.github.fail(Fault::status(502).on("GET", "/repos/*/*/pulls/*/reviews").always());
    place.push("d.js", "function g() { debugger; }\n");
    place.check_shows("The review waits").await;
    let head = place.pull.head();
    // Of the next head nobody hears.
    app.webhook("http://127.0.0.1:9/", "secret");
    place.push("e.js", "function h() { debugger; }\n");
    place.github.clear_faults();
    eventually("the first run ends without a review", async || {
        let checks = place.repository.checks(&head);
        checks.iter().any(|check| check.title.as_deref() == Some("Superseded")).then_some(())
    })
    .await;
    app.webhook(&format!("http://{at}/webhooks/github"), "secret");
    place.repo.git(["reset", "--quiet", "--hard", &head]);
    place.repository.update();
    place.check_shows("Changes requested").await;
    served.reviews(1).await;
    assert_eq!(place.pull.reviews()[0].commit, head);
    served.stop().await;
}

/// P3: a head that is current again after a newer one was reviewed has the summary again, and its review counts: nothing is
/// posted twice.
#[tokio::test]
async fn a_reviewed_head_that_is_current_again_takes_the_newer_ones_place() {
    let served = Served::new().await;
    let place = &served.place;
    place.push("d.js", "function g() { debugger; }\n");
    served.reviews(1).await;
    let head = place.pull.head();
    place.push("e.js", "function h() { debugger; }\n");
    served.reviews(2).await;
    let outdated = || {
        let reviews = place.pull.reviews();
        reviews.iter().map(|review| review.body.contains("**Outdated.**")).collect::<Vec<_>>()
    };
    assert_eq!(outdated(), [true, false]);
    place.repo.git(["reset", "--quiet", "--hard", &head]);
    place.repository.update();
    eventually("the first review counts again", async || {
        (outdated() == [false, true]).then_some(())
    })
    .await;
    served.reviews(2).await;
    served.stop().await;
}
