//! What stands between clients and Google's Pub/Sub emulator: it ends properly what a client broke off.
//!
//! The real service forgets a streaming pull whose client is gone. The emulator does not: it goes
//! on handing messages to it, each of which is then kept from everybody until its deadline, and one
//! process that was killed slows all others down for good. It only forgets a pull whose client said
//! that it would send no more. So the bridge carries HTTP/2 call by call, and says that for every
//! client that went without a word. All else it carries as it comes.
//!
//! It works on a thread of its own, so that it also serves the processes that a test waits for.

use std::{net::SocketAddr, thread};

use bytes::Bytes;
use h2::{
    Reason, RecvStream, SendStream,
    client::{self, SendRequest},
    server::{self, SendResponse},
};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Enough for the largest message; nobody waits for room.
const WINDOW: u32 = 64 * 1024 * 1024;

/// The bridge, open until it is dropped.
pub struct Bridge {
    address: SocketAddr,
    end: CancellationToken,
    carrying: Option<thread::JoinHandle<()>>,
}

impl Bridge {
    /// To `HOST:PORT`.
    pub fn to(emulator: &str) -> Self {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (end, emulator) = (CancellationToken::new(), emulator.to_owned());
        let ended = end.clone();
        let carrying = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let work = carry(listener, emulator);
            runtime.unwrap().block_on(ended.run_until_cancelled(work));
        });
        Self { address, end, carrying: Some(carrying) }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.end.cancel();
        let ended = self.carrying.take().map(thread::JoinHandle::join);
        assert!(thread::panicking() || !matches!(ended, Some(Err(_))), "the bridge broke");
    }
}

async fn carry(listener: std::net::TcpListener, emulator: String) {
    let listener = TcpListener::from_std(listener).unwrap();
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        tokio::spawn(connection(socket, emulator.clone()));
    }
}

/// One client's connection, with one of its own to the emulator. REST is carried as it comes.
async fn connection(mut socket: TcpStream, emulator: String) -> Option<()> {
    socket.set_nodelay(true).ok()?;
    let mut there = TcpStream::connect(emulator).await.ok()?;
    there.set_nodelay(true).ok()?;
    // HTTP/2 begins with `PRI`, which comes in one piece with more.
    let mut first = [0; 3];
    socket.peek(&mut first).await.ok()?;
    if first == *b"PRI" {
        return calls(socket, there).await;
    }
    tokio::io::copy_bidirectional(&mut socket, &mut there).await.ok().map(drop)
}

/// HTTP/2, call by call. When the emulator's connection breaks, so does the client's; the other way
/// round the calls are ended first.
async fn calls(socket: TcpStream, there: TcpStream) -> Option<()> {
    let mut here = server::Builder::new();
    here.initial_window_size(WINDOW).initial_connection_window_size(WINDOW);
    let mut here = here.handshake::<_, Bytes>(socket).await.ok()?;
    let mut builder = client::Builder::new();
    builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW);
    let (requests, there) = builder.handshake::<_, Bytes>(there).await.ok()?;
    let broken = CancellationToken::new();
    let calls = TaskTracker::new();
    {
        let broken = broken.clone();
        tokio::spawn(async move {
            let _ = there.await;
            broken.cancel();
        });
    }
    while let Some(Some(Ok((request, respond)))) = broken.run_until_cancelled(here.accept()).await {
        calls.spawn(call(request, respond, requests.clone()));
    }
    // The client is gone: its calls see that, and end before the connection to the emulator does.
    drop(here);
    calls.close();
    calls.wait().await;
    Some(())
}

async fn call(
    request: http::Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    requests: SendRequest<Bytes>,
) -> Option<()> {
    let (head, body) = request.into_parts();
    let done = body.is_end_stream();
    let begun = requests
        .ready()
        .await
        .and_then(|mut requests| requests.send_request(http::Request::from_parts(head, ()), done));
    let Ok((response, send)) = begun else {
        respond.send_reset(Reason::REFUSED_STREAM);
        return None;
    };
    let asking = async {
        if !done {
            up(body, send).await;
        }
    };
    let answering = async {
        match response.await {
            Ok(response) => down(response, &mut respond).await,
            Err(error) => {
                respond.send_reset(error.reason().unwrap_or(Reason::INTERNAL_ERROR));
            }
        }
    };
    tokio::join!(asking, answering);
    Some(())
}

/// What the client sends; when it breaks off, the end of it.
async fn up(mut body: RecvStream, mut send: SendStream<Bytes>) {
    while let Some(Ok(data)) = body.data().await {
        let _ = body.flow_control().release_capacity(data.len());
        if send.send_data(data, false).is_err() {
            return;
        }
    }
    let _ = send.send_data(Bytes::new(), true);
}

/// What the emulator answers, to the end of it even when nobody listens any more.
async fn down(response: http::Response<RecvStream>, respond: &mut SendResponse<Bytes>) {
    let (head, mut body) = response.into_parts();
    let ends = body.is_end_stream();
    let mut client = respond.send_response(http::Response::from_parts(head, ()), ends).ok();
    if ends {
        return;
    }
    while let Some(data) = body.data().await {
        let Ok(data) = data else {
            respond.send_reset(Reason::INTERNAL_ERROR);
            return;
        };
        let _ = body.flow_control().release_capacity(data.len());
        client = client.and_then(|mut to| to.send_data(data, false).ok().map(|()| to));
    }
    let trailers = body.trailers().await.ok().flatten().unwrap_or_default();
    if let Some(mut client) = client {
        let _ = client.send_trailers(trailers);
    }
}
