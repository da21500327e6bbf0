//! A TCP proxy in front of a service, to break the connections to it.
//!
//! What it promises: bytes come through complete and in order, or the connection is reset. It knows
//! nothing of what it carries. It works on the runtime that made it, and ends with it or when
//! dropped.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpSocket, TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    sync::{mpsc, watch},
    time::{Instant, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The proxy, carrying from the start.
pub struct Proxy {
    address: SocketAddr,
    /// Keeps the port while nobody listens on it.
    _port: TcpSocket,
    faults: Arc<Faults>,
    carrying: Option<Carrying>,
}

/// From one `mend` to the next `cut`.
#[derive(Clone)]
struct Carrying {
    end: CancellationToken,
    tasks: TaskTracker,
}

struct Faults {
    target: String,
    frozen: watch::Sender<bool>,
    /// Held while bytes are handed on: after `freeze` none are.
    gate: Mutex<()>,
    delay: Mutex<Duration>,
    /// Answers that arrived later than this are kept.
    answers: watch::Sender<Option<Instant>>,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    accepted: usize,
    open: usize,
}

impl Proxy {
    /// In front of `HOST:PORT`.
    pub fn new(target: impl Into<String>) -> Self {
        let port = socket(([127, 0, 0, 1], 0).into());
        let faults = Faults {
            target: target.into(),
            frozen: watch::Sender::new(false),
            gate: Mutex::default(),
            delay: Mutex::default(),
            answers: watch::Sender::new(None),
            counts: Mutex::default(),
        };
        let address = port.local_addr().unwrap();
        let mut proxy = Self { address, _port: port, faults: Arc::new(faults), carrying: None };
        proxy.mend();
        proxy
    }

    /// Where it listens; the same after a cut.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Resets every connection and refuses new ones. Comes back when that is done.
    pub async fn cut(&mut self) {
        let carrying = self.carrying.take().unwrap();
        carrying.end.cancel();
        carrying.tasks.close();
        carrying.tasks.wait().await;
    }

    /// Takes connections again.
    pub fn mend(&mut self) {
        assert!(self.carrying.is_none(), "it is not cut");
        let listener = socket(self.address).listen(1024).unwrap();
        let carrying = Carrying { end: CancellationToken::new(), tasks: TaskTracker::new() };
        carrying.tasks.spawn(accept(listener, self.faults.clone(), carrying.clone()));
        self.carrying = Some(carrying);
    }

    /// From here on nothing comes through, either way: connections stay open, and new ones are
    /// accepted. What is sent meanwhile is kept.
    pub fn freeze(&self) {
        let _gate = self.faults.gate.lock().unwrap();
        self.faults.frozen.send_replace(true);
    }

    /// What was kept comes through, and everything after it.
    pub fn thaw(&self) {
        self.faults.frozen.send_replace(false);
    }

    /// Lets bytes that arrive from now on wait so long, each way.
    pub fn delay(&self, time: Duration) {
        *self.faults.delay.lock().unwrap() = time;
    }

    /// Only answers of the service that arrived here until then come through; the others are kept,
    /// until this is called with a later time, or with none.
    pub fn answers_until(&self, time: Option<Instant>) {
        self.faults.answers.send_replace(time);
    }

    /// Loses the answer to what is under way: it is kept until `done`, which asks the service past
    /// this proxy, says that it was done; then every connection is cut, and new ones are taken.
    pub async fn lose(&mut self, done: impl AsyncFn() -> bool) {
        self.answers_until(Some(Instant::now()));
        let seen = async || {
            let asked = Instant::now();
            if done().await {
                return Some(());
            }
            self.answers_until(Some(asked));
            None
        };
        super::eventually("it is done", seen).await;
        self.cut().await;
        self.answers_until(None);
        self.mend();
    }

    /// How many connections it has taken so far.
    pub fn accepted(&self) -> usize {
        self.faults.counts.lock().unwrap().accepted
    }

    /// How many connections are open.
    pub fn open(&self) -> usize {
        self.faults.counts.lock().unwrap().open
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(carrying) = &self.carrying {
            carrying.end.cancel();
        }
    }
}

/// Several sockets can have the port; only one listens.
fn socket(address: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseport(true).unwrap();
    socket.bind(address).unwrap();
    socket
}

async fn accept(listener: TcpListener, faults: Arc<Faults>, carrying: Carrying) {
    while let Some(Ok((client, _))) = carrying.end.run_until_cancelled(listener.accept()).await {
        let open = Open::count(faults.clone());
        let end = carrying.end.clone();
        carrying.tasks.spawn(async move { connection(client, &open.0, &end).await });
    }
}

/// Counts a connection as open as long as it lives.
struct Open(Arc<Faults>);

impl Open {
    fn count(faults: Arc<Faults>) -> Self {
        let mut counts = faults.counts.lock().unwrap();
        *counts = Counts { accepted: counts.accepted + 1, open: counts.open + 1 };
        drop(counts);
        Self(faults)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.counts.lock().unwrap().open -= 1;
    }
}

/// One connection from its acceptance to its end. Whatever ends it but its two ends resets it.
async fn connection(mut client: TcpStream, faults: &Faults, end: &CancellationToken) {
    let connect = async {
        thawed(faults).await;
        TcpStream::connect(&faults.target).await
    };
    let Some(Ok(mut server)) = end.run_until_cancelled(connect).await else {
        return reset(&client);
    };
    for stream in [&client, &server] {
        let _ = stream.set_nodelay(true);
    }
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let both = async {
        tokio::try_join!(
            carry(from_client, to_server, faults, None),
            carry(from_server, to_client, faults, Some(faults.answers.subscribe()))
        )
    };
    if !matches!(end.run_until_cancelled(both).await, Some(Ok(_))) {
        reset(&client);
        reset(&server);
    }
}

/// Lets the stream end with a reset instead of a farewell.
fn reset(stream: &TcpStream) {
    let _ = stream.set_zero_linger();
}

async fn thawed(faults: &Faults) {
    let _ = faults.frozen.subscribe().wait_for(|frozen| !frozen).await;
}

/// Until when what arrives may be handed on, if there is such a time.
type Limit = watch::Receiver<Option<Instant>>;

/// A piece of a stream, and when it came.
type Chunk = (Instant, Duration, Bytes);

/// One direction of a connection, to the end of its stream.
async fn carry(
    mut from: ReadHalf<'_>,
    to: WriteHalf<'_>,
    faults: &Faults,
    limit: Option<Limit>,
) -> io::Result<()> {
    let (sender, receiver) = mpsc::channel(256);
    let read = async move {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            let length = from.read(&mut buffer).await?;
            let (came, delay) = (Instant::now(), *faults.delay.lock().unwrap());
            let chunk = Bytes::copy_from_slice(&buffer[..length]);
            let sent = sender.send((came, delay, chunk)).await;
            if length == 0 || sent.is_err() {
                return Ok(());
            }
        }
    };
    tokio::try_join!(read, write(to, receiver, faults, limit)).map(|_| ())
}

async fn write(
    mut to: WriteHalf<'_>,
    mut chunks: mpsc::Receiver<Chunk>,
    faults: &Faults,
    mut limit: Option<Limit>,
) -> io::Result<()> {
    while let Some((came, delay, mut chunk)) = chunks.recv().await {
        if let Some(limit) = &mut limit {
            let _ = limit.wait_for(|until| until.is_none_or(|until| came <= until)).await;
        }
        let _ = timeout_at(came + delay, std::future::pending::<()>()).await;
        while !chunk.is_empty() {
            thawed(faults).await;
            to.writable().await?;
            let written = hand_on(&to, &chunk, faults)?;
            let _ = chunk.split_to(written);
        }
    }
    thawed(faults).await;
    to.shutdown().await
}

/// Writes what fits, unless frozen.
fn hand_on(to: &WriteHalf<'_>, chunk: &[u8], faults: &Faults) -> io::Result<usize> {
    let _gate = faults.gate.lock().unwrap();
    if *faults.frozen.borrow() {
        return Ok(0);
    }
    match to.try_write(chunk) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        written => written,
    }
}
