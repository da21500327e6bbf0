//! The dashboard: what people see, and that nobody else's words act there.

use serde_json::json;
use verdict::{base::Fault, graph::RunStatus};

use super::{Answer, HOST, ask, operating::Desk};
use crate::worker::hall::{Act, Part, id, part};

/// Words that would act in a page that let them.
const HOSTILE: &str = r#"<script>alert(1)</script>"><img src=x onerror=alert(1)>'&{{7001*7001}}"#;

/// A page as it is read: times that differ each time are left out.
fn read(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{answer:?}");
    let main = answer.body.split("<main").nth(1).unwrap().split("</main>").next().unwrap();
    let lines = main.lines().map(str::trim).filter(|line| !line.is_empty());
    let text = lines.collect::<Vec<_>>().join("\n");
    let took = regex::Regex::new(r"[0-9]+\.[0-9] m?s\b").unwrap().replace_all(&text, "N ms");
    let bars = regex::Regex::new(r#"rect width="[0-9]+""#).unwrap();
    bars.replace_all(&took, r#"rect width="N""#).into_owned()
}

async fn fill(desk: &Desk, fields: &str, path: &str) -> Answer {
    let kind = "content-type: application/x-www-form-urlencoded";
    ask(desk.address, &format!("POST {path}"), &[HOST, kind], fields).await
}

/// Everything is shown as text, on every page, whoever wrote it.
#[tokio::test]
async fn what_others_wrote_is_text_on_every_page() {
    let desk = Desk::new(true).await;
    let hostile = Part { subject: Some(HOSTILE.to_owned()), ..part(HOSTILE) };
    desk.hall.stage.put_up(HOSTILE, [Act::Fail(Fault::permanent(HOSTILE))]);
    let worker = desk.worker();
    desk.hall.send(&hostile).await;
    desk.hall.becomes(HOSTILE, RunStatus::Failed).await;
    let letter = desk.hall.only_letter().await;
    let pause = json!({"repository": HOSTILE, "reason": HOSTILE});
    assert_eq!(desk.tell("POST /api/pauses", &pause).await.status, 200);
    let run = format!("/runs/{}", id(HOSTILE));
    let letter = format!("/dead-letters/{}", letter.id);
    for path in ["/", "/?subject=%3Cscript%3Ealert(1)", &run, "/dead-letters", &letter, "/pauses"] {
        let page = desk.get(path).await;
        assert_eq!(page.status, 200, "{path}: {page:?}");
        let body = page.body.to_ascii_lowercase();
        assert!(!body.contains("<script>") && !body.contains("<img src=x"), "{path}");
        assert!(!body.contains("49014001"), "no template is made of it: {path}");
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    }
    let refused = desk.get("/runs/%3Cscript%3E").await;
    assert!(refused.status == 422 && !refused.body.contains("<script>"), "{refused:?}");
    worker.stop().await;
}

/// A browser is told to load and run nothing but what is served here, on refusals too.
#[tokio::test]
async fn pages_are_strict() {
    let desk = Desk::new(false).await;
    for path in ["/", "/waiting", "/dead-letters", "/pauses", "/runs/0000", "/assets/live.js"] {
        let page = desk.get(path).await;
        let policy = page.header("content-security-policy").unwrap_or_default();
        for word in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(word), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"), "{path}");
        for word in [" style=", " onclick", "http://", "https://"] {
            assert!(!page.body.contains(word), "{path} holds {word}");
        }
    }
}

#[tokio::test]
async fn the_list_of_runs() {
    let desk = Desk::new(false).await;
    desk.start("one").await;
    let page = desk.get("/").await;
    insta::assert_snapshot!("runs", read(&page));
    assert!(read(&desk.get("/?status=failed").await).contains("No run fits."));
    assert!(read(&desk.get("/?status=&waiting=&workflow=play&subject=").await).contains("play"));
    assert_eq!(desk.get("/?status=nonsense").await.status, 400);
}

/// A run that asks is answered from its page, without a script.
#[tokio::test]
async fn a_run_that_asks_is_answered_from_its_page() {
    let desk = Desk::new(false).await;
    desk.hall.stage.put_up("one", [Act::Ask]);
    let worker = desk.worker();
    desk.start("one").await;
    desk.hall.becomes("one", RunStatus::Parked).await;
    let path = format!("/runs/{}", id("one"));
    insta::assert_snapshot!("asking", read(&desk.get(&path).await));
    insta::assert_snapshot!("waiting", read(&desk.get("/waiting").await));
    let bad = fill(&desk, "interrupt=2.0.go+on&answer=yes", &format!("{path}/resume")).await;
    assert!(bad.status == 400 && bad.body.contains("is no JSON"), "{bad:?}");
    let taken = fill(&desk, "interrupt=2.0.go+on&answer=true", &format!("{path}/resume")).await;
    assert_eq!((taken.status, taken.header("location")), (303, Some(&*path)), "{taken:?}");
    desk.hall.becomes("one", RunStatus::Completed).await;
    insta::assert_snapshot!("completed", read(&desk.get(&path).await));
    let again = fill(&desk, "interrupt=2.0.go+on&answer=1", &format!("{path}/resume")).await;
    assert!(again.status == 409 && again.body.contains("answered before"), "{again:?}");
    let fork = fill(&desk, "from=1", &format!("{path}/fork")).await;
    assert!(fork.header("location").unwrap().starts_with("/runs/"), "{fork:?}");
    let drawing = desk.get(&format!("{path}/drawing.svg")).await;
    assert_eq!(drawing.header("content-type"), Some("image/svg+xml"));
    insta::assert_snapshot!("drawing", drawing.body);
    worker.stop().await;
}

#[tokio::test]
async fn dead_letters_are_settled_from_their_page() {
    let desk = Desk::new(false).await;
    desk.hall.stage.put_up("one", [Act::Fail(Fault::permanent("it is broken"))]);
    let worker = desk.worker();
    desk.hall.send(&part("one")).await;
    desk.hall.becomes("one", RunStatus::Failed).await;
    let letter = desk.hall.only_letter().await;
    insta::assert_snapshot!("letters", read(&desk.get("/dead-letters").await));
    insta::assert_snapshot!(
        "letter",
        read(&desk.get(&format!("/dead-letters/{}", letter.id)).await)
    );
    let replayed = fill(&desk, "", &format!("/dead-letters/{}/replay", letter.id)).await;
    assert_eq!(replayed.header("location"), Some("/dead-letters"), "{replayed:?}");
    desk.hall.becomes("one", RunStatus::Completed).await;
    assert!(read(&desk.get("/dead-letters").await).contains("No letter fits."));
    worker.stop().await;
}

#[tokio::test]
async fn pauses_begin_and_end_on_their_page() {
    let desk = Desk::new(false).await;
    let put = fill(&desk, "workflow=play&repository=&reason=dear", "/pauses").await;
    assert_eq!(put.header("location"), Some("/pauses"), "{put:?}");
    let page = read(&desk.get("/pauses").await);
    assert!(page.contains("dear") && page.contains(r#"name="workflow" value="play""#), "{page}");
    assert_eq!(fill(&desk, "workflow=play", "/pauses/end").await.status, 303);
    assert!(read(&desk.get("/pauses").await).contains("Nothing is paused."));
    assert_eq!(fill(&desk, "workflow=play&repository=a/b", "/pauses").await.status, 400);
}
