//! A look at the server's address from outside, for `verdict doctor` and `verdict health`.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{Server, ServerError, ServerOptions};

/// How long whoever has the address may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(3);

/// Who has the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nobody: it can be had.
    Free,
    /// A process that answers `/livez` as this one would.
    Serving,
}

/// Looks at the address: whether it could be had, and if not, whether a server like this has it.
///
/// # Errors
/// As [`Server::bind`], when it is had by something else or cannot be had at all.
pub async fn look(options: &ServerOptions) -> Result<Found, ServerError> {
    match Server::bind(options).await {
        Ok(_) => Ok(Found::Free),
        Err(ServerError::Bind { listen, source })
            if source.kind() == io::ErrorKind::AddrInUse && lives(listen).await =>
        {
            Ok(Found::Serving)
        }
        Err(error) => Err(error),
    }
}

/// Where a server like this answers that was told to listen here; `None` when none does. One that
/// listens on every address is asked on the loopback address.
pub async fn health(listen: SocketAddr) -> Option<SocketAddr> {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let address = SocketAddr::new(ip, listen.port());
    lives(address).await.then_some(address)
}

async fn lives(address: SocketAddr) -> bool {
    let asked = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(b"GET /livez HTTP/1.0\r\nhost: localhost\r\n\r\n").await?;
        let mut answer = String::new();
        stream.take(1024).read_to_string(&mut answer).await?;
        Ok::<_, io::Error>(answer)
    };
    let answer = timeout(PATIENCE, asked).await;
    answer.is_ok_and(|answer| {
        answer.is_ok_and(|text| {
            text.split(' ').nth(1) == Some("200") && text.ends_with("\r\n\r\nok\n")
        })
    })
}
