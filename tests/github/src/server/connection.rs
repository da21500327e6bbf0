//! Connections that a handler can have reset instead of answering.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use axum::{extract::connect_info::Connected, serve::IncomingStream};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
};

/// Accepts connections that can be reset.
pub(super) struct Listener(pub(super) TcpListener);

/// Has the connection of a request reset.
#[derive(Clone, Debug, Default)]
pub(super) struct Reset(Arc<AtomicBool>);

impl Reset {
    /// From now on nothing is written; the peer gets a reset.
    pub(super) fn now(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn is_asked(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// A connection.
pub(super) struct Connection {
    stream: TcpStream,
    reset: Reset,
}

impl axum::serve::Listener for Listener {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, address) = axum::serve::Listener::accept(&mut self.0).await;
        let _ = stream.set_nodelay(true);
        (Connection { stream, reset: Reset::default() }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl Connected<IncomingStream<'_, Listener>> for Reset {
    fn connect_info(stream: IncomingStream<'_, Listener>) -> Self {
        stream.io().reset.clone()
    }
}

impl Connection {
    fn writable(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        if self.reset.is_asked() {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(Pin::new(&mut self.stream))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.reset.is_asked() {
            // Without lingering, closing sends a reset in place of an orderly end.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.writable() {
            Ok(stream) => stream.poll_write(cx, buf),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.writable() {
            Ok(stream) => stream.poll_flush(cx),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.writable() {
            Ok(stream) => stream.poll_shutdown(cx),
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}
