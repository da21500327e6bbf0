//! Every way in which models fail, and what becomes of the review: the table of docs/models.md.

use std::{thread, time::Duration};

use fake_models::{ModelServer, Reply, When};
use serde_json::json;

use super::support::{Site, asked_by, nothing, report};

/// What becomes of the review.
enum Then {
    /// The same model answers after all.
    Answered,
    /// The next model of the chain does.
    Next,
    /// It says that this is missing.
    Incomplete(&'static str),
    /// So it does, and the run fails.
    Fails(&'static str),
}

use Then::{Answered, Fails, Incomplete, Next};

struct Case {
    name: &'static str,
    /// What the first model says to one of the agents, from the first request on.
    says: Vec<Reply>,
    /// Whether there is another model that answers everything.
    another: bool,
    /// How often the first model is asked by that agent.
    asked: usize,
    then: Then,
}

fn case(name: &'static str, says: Vec<Reply>, another: bool, asked: usize, then: Then) -> Case {
    Case { name, says, another, asked, then }
}

fn once(reply: Reply) -> Vec<Reply> {
    vec![reply, Reply::next_script()]
}

fn cases() -> Vec<Case> {
    let limited = || Reply::error(429, "rate_limit_exceeded");
    let unreadable = || Reply::text("I think it is fine.");
    let other_schema = || Reply::json(json!({"verdict": "fine"}));
    let too_long = || Reply::error(400, "context_length_exceeded");
    let quota = || Reply::error(429, "insufficient_quota");
    let words = "the same words again and again, ".repeat(100);
    let looping = format!("{{\"read\": [], \"findings\": [{{\"title\": \"{words}");
    let half = "{\"read\": [], \"findings\": [";
    vec![
        case("429 with a wait", once(limited().header("retry-after-ms", "20")), false, 2, Answered),
        case("429 without a wait", once(limited()), false, 2, Answered),
        case("429 with a long wait", vec![limited().header("retry-after", "3600")], true, 1, Next),
        case("429 for good", vec![limited()], false, 4, Incomplete("answered 429 (rate limited)")),
        case("500 once", once(Reply::status(500)), false, 2, Answered),
        case("500 for good", vec![Reply::status(500)], true, 4, Next),
        case("529", once(Reply::error(529, "overloaded_error")), false, 2, Answered),
        case("too slow", vec![nothing().after(Duration::from_secs(600))], true, 4, Next),
        case("silent in the middle", vec![Reply::text(half).stalled()], true, 4, Next),
        case("broken off", once(Reply::json(json!({"read": []})).cut()), false, 2, Answered),
        case("no JSON once", once(unreadable()), false, 2, Answered),
        case("no JSON", vec![unreadable()], true, 2, Incomplete("does not fit its schema")),
        case("another schema once", once(other_schema()), false, 2, Answered),
        case("another schema", vec![other_schema()], false, 2, Incomplete("`read`")),
        case(
            "cut at its limit",
            vec![Reply::text(half).truncated()],
            false,
            1,
            Incomplete("does not fit"),
        ),
        case(
            "in a loop",
            vec![Reply::text(looping)],
            false,
            1,
            Incomplete("does not fit its schema"),
        ),
        case("a refusal", vec![Reply::refusal()], true, 1, Next),
        case("refused by all", vec![Reply::refusal()], false, 1, Incomplete("refused to answer")),
        case("too long", vec![too_long()], true, 1, Next),
        case("too long for all", vec![too_long()], false, 1, Incomplete("longer than it reads")),
        case("a prompt that was cut", vec![nothing().claiming(200, 20)], true, 1, Next),
        case("a quota that is used up", vec![quota()], true, 1, Next),
        case("no quota anywhere", vec![quota()], false, 1, Incomplete("nothing left to spend")),
        case("401 from the first", vec![Reply::status(401)], true, 1, Next),
        case(
            "401 from all",
            vec![Reply::status(401)],
            false,
            1,
            Fails("401 (unauthorized); check its key"),
        ),
        case(
            "a request nobody takes",
            vec![Reply::error(400, "unknown field")],
            false,
            1,
            Fails("400 (invalid)"),
        ),
        case("all of them down", vec![Reply::status(503)], false, 4, Incomplete("answered 503")),
    ]
}

fn check(case: Case) {
    let Case { name, says, another, asked, then } = case;
    let fallback = ModelServer::start().unwrap();
    fallback.script(When::any(), [nothing()]);
    let site = Site::new();
    let chain = match another {
        true => format!("{},{}", site.models.openai("m"), fallback.anthropic("n")),
        false => site.models.openai("m"),
    };
    // Long enough for whatever answers at all, on a busy machine too.
    let site = site
        .with("model.chain", &chain)
        .with("model.timeout", "6s")
        .with("model.idle_timeout", "4s");
    site.models.script(asked_by("security"), says);
    let done = site.review();
    let report = report(&done);
    let calls = site.models.calls();
    let by_agent = calls.iter().filter(|call| call.says("Your side is security")).count();
    assert_eq!(by_agent, asked, "{name}: {done:?}");
    assert_eq!(fallback.calls().len(), usize::from(matches!(then, Next)), "{name}");
    let (verdict, code, missing) = match then {
        Answered | Next => ("clean", 0, None),
        Incomplete(missing) => ("incomplete", 0, Some(missing)),
        Fails(missing) => ("incomplete", 3, Some(missing)),
    };
    assert_eq!(
        (report["verdict"].as_str(), done.code),
        (Some(verdict), Some(code)),
        "{name}: {done:?}"
    );
    let told = report["missing"].to_string();
    assert!(
        missing.is_none_or(|missing| told.contains("security") && told.contains(missing)),
        "{name}: {told}"
    );
    for agent in ["style", "logic", "pattern"] {
        assert_eq!(report["coverage"][0]["agents"][agent], "done", "{name}");
    }
    let log = site.machine.run(&["runs", "list", "--format", "json"]).json();
    assert_eq!(log[0]["status"], if code == 3 { "failed" } else { "completed" }, "{name}");
}

/// R3, R4: each failure ends as documented: tried again, the next model, one part missing, or failed once that is shown. The
/// other agents are never touched by it.
#[test]
fn each_failure_ends_as_documented() {
    let cases = cases();
    let mut queue: Vec<Case> = cases.into_iter().collect();
    while !queue.is_empty() {
        let rest = queue.split_off(queue.len().min(6));
        thread::scope(|scope| {
            for case in queue {
                scope.spawn(|| check(case));
            }
        });
        queue = rest;
    }
}
