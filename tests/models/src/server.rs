//! The server and its log: one thread with a runtime of its own, so that it runs beside tests of any kind.

use std::{
    collections::HashSet,
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderName, HeaderValue, Request, Response, StatusCode},
};
use bytes::Bytes;
use serde_json::Value;
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
    sync::{oneshot, watch},
    time::{Instant, sleep_until},
};

use crate::{
    Call, Outcome, Paid, Reply, When, Wire,
    body::{Ending, Pieces},
    call::tokens,
    reply::{Delivery, Kind},
    script::Scripts,
    wire::{self, Answer},
};

/// Larger requests are refused.
const MAX_BODY_BYTES: usize = 64 << 20;

#[derive(Default)]
struct World {
    scripts: Scripts,
    calls: Vec<Call>,
    in_hand: usize,
    most_in_hand: usize,
    /// Instructions that a model has read before.
    read: HashSet<(String, String)>,
    key: Option<String>,
}

#[derive(Clone)]
struct Shared {
    world: Arc<Mutex<World>>,
    /// How often held replies were let go.
    released: watch::Sender<u64>,
}

impl Shared {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running server. It ends when this is dropped.
pub struct ModelServer {
    shared: Shared,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// Listens on a free port of the loopback address.
    ///
    /// # Errors
    /// When there is none.
    pub fn start() -> std::io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let address = listener.local_addr()?;
        let shared = Shared { world: Arc::default(), released: watch::Sender::new(0) };
        let (stop, stopped) = oneshot::channel();
        let for_thread = shared.clone();
        let thread = std::thread::spawn(move || run(runtime, listener, for_thread, stopped));
        Ok(Self { shared, address, stop: Some(stop), thread: Some(thread) })
    }

    /// An entry of `model.chain`, in OpenAI's format.
    pub fn openai(&self, model: &str) -> String {
        format!("openai::{model}@http://{}/v1", self.address)
    }

    /// An entry of `model.chain`, in Anthropic's format.
    pub fn anthropic(&self, model: &str) -> String {
        format!("anthropic::{model}@http://{}/v1", self.address)
    }

    /// An entry of `model.chain`, in Gemini's format.
    pub fn gemini(&self, model: &str) -> String {
        format!("gemini::{model}@http://{}/v1beta", self.address)
    }

    /// Answers calls like this with these replies, one after the other, and with the last one from then on. Scripts added later
    /// are asked first.
    ///
    /// # Panics
    /// Without a reply.
    pub fn script(&self, when: When, replies: impl IntoIterator<Item = Reply>) {
        self.shared.world().scripts.add(when, replies);
    }

    /// From now on calls with another key are answered with 401.
    pub fn require_key(&self, key: &str) {
        self.shared.world().key = Some(key.to_owned());
    }

    /// Lets go what is held, and whatever is held by then.
    pub fn release(&self) {
        self.shared.released.send_modify(|times| *times += 1);
    }

    /// Every call so far.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.world().calls.clone()
    }

    /// What all answered calls cost together.
    pub fn paid(&self) -> Paid {
        let mut all = Paid::default();
        self.shared.world().calls.iter().for_each(|call| all += call.paid);
        all
    }

    /// How many calls were in hand at once, at most.
    pub fn most_in_hand(&self) -> usize {
        self.shared.world().most_in_hand
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(runtime: Runtime, listener: TcpListener, shared: Shared, stopped: oneshot::Receiver<()>) {
    runtime.block_on(async move {
        let router = Router::new().fallback(serve).with_state(shared);
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        let _ = stopped.await;
        server.abort();
    });
    runtime.shutdown_background();
}

async fn serve(
    State(shared): State<Shared>,
    request: Request<Body>,
) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let Some(wire) = wire::of_path(&path) else {
        return Ok(respond(404, Body::from("no such path")));
    };
    let body = axum::body::to_bytes(body, MAX_BODY_BYTES).await.unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let key = head.headers.get(wire::key_header(wire)).and_then(|value| value.to_str().ok());
    let key = key.map(|key| key.trim_start_matches("Bearer ").to_owned());
    let mut released = shared.released.subscribe();
    let (call, reply) = arrive(&shared, (wire, &path), key, body);
    let number = call.number;
    let for_ending = shared.clone();
    let due = call.paid;
    let mut ending = Ending::new(move |outcome| end(&for_ending, number, outcome, due));
    sleep_until(Instant::now() + reply.after).await;
    if reply.held {
        let _ = released.changed().await;
    }
    let (text, text_end) = match &reply.kind {
        Kind::Text(text, end) => (text, *end),
        Kind::Error(status, words) => {
            ending.with(Outcome::Refused(*status));
            let body = Body::from(wire::error(wire, *status, words));
            return Ok(with_headers(respond(*status, body), &reply));
        }
        Kind::By(_) | Kind::NextScript => return Ok(respond(500, Body::from("no reply"))),
    };
    let answer = Answer { model: &call.model, text, end: text_end, paid: call.paid };
    let (kind, pieces): (_, Vec<Bytes>) = if call.streamed {
        let events = wire::stream(wire, &answer);
        ("text/event-stream", events.into_iter().map(Bytes::from).collect())
    } else {
        let body = wire::whole(wire, &answer);
        let (first, second) = body.split_at(body.floor_char_boundary(body.len() / 2));
        ("application/json", [first, second].map(|half| Bytes::from(half.to_owned())).into())
    };
    if reply.delivery == Delivery::Stalled && !call.streamed {
        std::future::pending::<()>().await;
    }
    let body = Body::from_stream(Pieces::new(pieces, reply.delivery, ending));
    let response = respond(200, body);
    Ok(with_headers(response, &reply.header("content-type", kind)))
}

/// Writes a call into the log, and finds its reply.
fn arrive(
    shared: &Shared,
    (wire, path): (Wire, &str),
    key: Option<String>,
    body: Value,
) -> (Call, Reply) {
    let asked = wire::read(wire, path, &body);
    let mut world = shared.world();
    let mut call = Call {
        number: world.calls.len(),
        wire,
        model: asked.model,
        streamed: asked.streamed,
        key,
        instructions: asked.instructions,
        prompt: asked.prompt,
        schema: asked.schema,
        max_output_tokens: asked.max_output_tokens,
        temperature: asked.temperature,
        body,
        outcome: Outcome::InHand,
        paid: Paid::default(),
    };
    world.calls.push(call.clone());
    world.in_hand += 1;
    world.most_in_hand = world.most_in_hand.max(world.in_hand);
    let reply = match world.key.as_ref().is_some_and(|key| call.key.as_ref() != Some(key)) {
        true => Reply::error(401, "invalid api key"),
        false => world.scripts.reply(&call),
    };
    let (input, output) = reply.tokens(&call);
    let known = !world.read.insert((call.model.clone(), call.instructions.clone()));
    let cached = if known { tokens(&call.instructions).min(input) } else { 0 };
    call.paid = Paid { calls: 1, input, output, cached };
    (call, reply)
}

/// Notes how a call ended. Only what was answered is paid.
fn end(shared: &Shared, number: usize, outcome: Outcome, due: Paid) {
    let mut world = shared.world();
    world.in_hand = world.in_hand.saturating_sub(1);
    if let Some(call) = world.calls.get_mut(number) {
        call.outcome = outcome;
        call.paid = if outcome == Outcome::Answered { due } else { Paid::default() };
    }
}

fn respond(status: u16, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

fn with_headers(mut response: Response<Body>, reply: &Reply) -> Response<Body> {
    for (name, value) in &reply.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
