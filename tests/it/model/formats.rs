//! The same answer in the formats of three providers, streamed and whole.

use fake_models::{ModelServer, Outcome, Reply, When, Wire};
use serde_json::json;
use verdict::model::{Cost, FailureKind, Usage};

use super::support::{Greeting, each_format, greet, open, options};

fn hello() -> Reply {
    Reply::json(json!({"word": "hello", "times": 2}))
}

/// P7: a value comes back in every format, and what is said to be paid is what the server counted.
#[tokio::test]
async fn three_formats_answer_alike_and_their_tokens_add_up() {
    for stream in [true, false] {
        let models = ModelServer::start().unwrap();
        models.script(When::any(), [hello()]);
        let mut usage = Usage::default();
        for (entry, wire) in
            each_format(&models).into_iter().zip([Wire::OpenAi, Wire::Anthropic, Wire::Gemini])
        {
            let mut options = options(std::slice::from_ref(&entry));
            options.stream = stream;
            let name = entry.split('@').next().unwrap();
            options.prices = vec![format!("{name} = 3 / 15 / 0.30")];
            let chain = open(&options);
            for _ in 0..2 {
                let answer = greet(&chain).await.unwrap();
                assert_eq!(answer.value, Greeting { word: "hello".to_owned(), times: 2 });
                assert_eq!((answer.model.as_str(), answer.incomplete), (name, false));
                usage += answer.usage;
            }
            let call = models.calls().pop().unwrap();
            assert_eq!((call.wire, call.streamed), (wire, stream));
            assert!(call.schema.unwrap()["properties"]["word"].is_object(), "{wire:?}");
            assert_eq!((call.outcome, call.max_output_tokens), (Outcome::Answered, Some(8_000)));
        }
        let paid = models.paid();
        assert_eq!((usage.calls, usage.input, usage.output), (6, paid.input, paid.output));
        assert_eq!(usage.cached, paid.cached);
        assert!(paid.cached > 0, "instructions asked again come from the cache");
        let cost = (paid.input - paid.cached) * 3 + paid.output * 15 + paid.cached * 3 / 10;
        assert!(usage.cost.0.abs_diff(cost) <= 6, "{:?}, and {:?}", usage.cost, Cost(cost));
    }
}

/// R3: what one model does not answer, the next one does; both are paid for.
#[tokio::test]
async fn the_next_in_the_chain_answers() {
    let models = ModelServer::start().unwrap();
    models.script(When::any(), [hello()]);
    models.script(When::any().of_model("a"), [Reply::refusal()]);
    models.script(When::any().of_wire(Wire::Anthropic), [Reply::status(529)]);
    let answer = greet(&open(&options(&each_format(&models)))).await.unwrap();
    assert_eq!(answer.model, "gemini::c");
    let asked: Vec<Wire> = models.calls().iter().map(|call| call.wire).collect();
    let tries = [Wire::OpenAi, Wire::Anthropic, Wire::Anthropic, Wire::Anthropic, Wire::Anthropic];
    assert_eq!(asked, [tries.as_slice(), &[Wire::Gemini]].concat(), "a refusal is not asked again");
}

/// Whoever no longer wants an answer ends the request on the wire.
#[tokio::test]
async fn a_cancelled_request_ends_at_the_server() {
    let models = ModelServer::start().unwrap();
    models.script(When::any(), [hello().stalled()]);
    let chain = open(&options(&[models.openai("a")]));
    let cancel = tokio_util::sync::CancellationToken::new();
    let request = verdict::model::Request::new("test.greet", "You greet people.", "Greet.")
        .cancelled_by(cancel.clone());
    let asked = async { verdict::model::complete::<Greeting>(&chain, request).await };
    let stop = async {
        crate::support::eventually("the request arrives", async || models.calls().pop()).await;
        cancel.cancel();
    };
    let (answer, ()) = tokio::join!(asked, stop);
    assert_eq!(answer.unwrap_err().kind, FailureKind::Cancelled);
    crate::support::eventually("the server notices", async || {
        (models.calls()[0].outcome == Outcome::Abandoned).then_some(())
    })
    .await;
}
