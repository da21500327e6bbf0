//! What looks after the process: systemd by its notifications, a container engine by its health check.

use std::{fs, net::TcpListener, os::unix::net::UnixDatagram, path::Path, process::Command};

use super::{get, readiness, serve, stop};
use crate::support::{Machine, PATIENCE};

fn in_project(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// A machine with the socket of a service manager.
fn managed(machine: Machine) -> (Machine, UnixDatagram) {
    let path = machine.folder().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    (machine.with_variable("NOTIFY_SOCKET", path.to_str().unwrap()), socket)
}

/// The next notification; waits for it.
fn next(socket: &UnixDatagram) -> String {
    let mut buffer = [0; 256];
    let length = socket.recv(&mut buffer).unwrap();
    String::from_utf8(buffer[..length].to_vec()).unwrap()
}

/// 17.11: ready once work is taken, stopping before the drain, and nothing else.
#[tokio::test]
async fn systemd_is_notified() {
    for role in ["all", "gateway", "worker"] {
        let (machine, socket) = managed(Machine::new());
        let (process, address) = serve(&machine, role).await;
        assert_eq!(next(&socket), "READY=1\n", "{role}");
        assert_eq!(get(address, "/readyz").await.status, 200, "{role}");
        stop(process).await;
        assert_eq!(next(&socket), "STOPPING=1\n", "{role}");
        socket.set_nonblocking(true).unwrap();
        assert!(socket.recv(&mut [0; 8]).is_err(), "{role}: more than two notifications");
    }
    let unit = in_project("deploy/systemd/verdict.service");
    for line in ["Type=notify", "UMask=0077"] {
        assert!(unit.lines().any(|other| other == line), "{line}");
    }
}

/// A queue that is away: the process serves, and is not ready.
#[tokio::test]
async fn systemd_is_told_no_readiness_that_is_not_there() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let queue = format!("amqp://guest:guest@{nobody}");
    let (machine, socket) = managed(Machine::new().set("queue.url", &queue));
    let (process, address) = serve(&machine, "all").await;
    readiness(address, false).await;
    stop(process).await;
    assert_eq!(next(&socket), "STOPPING=1\n");
}

/// A socket that nobody has made costs a warning and no more.
#[tokio::test]
async fn a_missing_socket_is_logged() {
    let machine = Machine::new().with_variable("NOTIFY_SOCKET", "/nowhere/notify");
    let (mut process, _) = serve(&machine, "gateway").await;
    process.says("systemd cannot be notified").await;
    stop(process).await;
}

/// The command of the image's HEALTHCHECK, run on this machine.
fn health_check(machine: &Machine) -> Option<i32> {
    let dockerfile = in_project("Dockerfile");
    let (_, check) = dockerfile.split_once("\nHEALTHCHECK ").unwrap();
    let command = check.split_once("CMD ").unwrap().1.lines().next().unwrap();
    let words: Vec<String> = serde_json::from_str(command).unwrap();
    assert_eq!(words[0], "verdict", "the image's own binary");
    let words: Vec<_> = words[1..].iter().map(String::as_str).collect();
    let command: Command = machine.command(&words);
    Machine::finish(command).code
}

/// 17.11: the container's health check asks where the server listens, wherever that is.
#[tokio::test]
async fn the_health_check_follows_the_address() {
    for host in ["127.0.0.1", "127.0.0.2", "0.0.0.0"] {
        let free = TcpListener::bind((host, 0)).unwrap().local_addr().unwrap();
        let listen = free.to_string();
        let machine = Machine::new().set("server.listen", &listen).set("server.token", "t");
        assert_eq!(health_check(&machine), Some(3), "nobody is at {listen}");
        let mut process = machine.start(&["serve"]);
        process.says("serving").await;
        assert_eq!(health_check(&machine), Some(0), "{listen}");
        stop(process).await;
        assert_eq!(health_check(&machine), Some(3), "nobody is at {listen} any more");
    }
}
