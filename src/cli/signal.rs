//! SIGINT and SIGTERM.

use std::time::Duration;

use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use crate::graph::Control;

/// How long a command at a terminal waits, when told to stop, for what runs to come to its next
/// record; and then for it to be given back.
const FOREGROUND_GRACE: (Duration, Duration) =
    (Duration::from_millis(250), Duration::from_millis(500));

/// A token that is cancelled when the process is told to stop; at the second telling the process
/// ends at once, as if killed: what is durable is enough.
pub(super) fn stop_token() -> CancellationToken {
    let token = CancellationToken::new();
    // Listened to before anything is printed: whoever reads the first line may stop the process.
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return token;
    };
    let told = token.clone();
    tokio::spawn(async move {
        let mut next = async || {
            tokio::select! {
                _ = interrupt.recv() => 130,
                _ = terminate.recv() => 143,
            }
        };
        next().await;
        told.cancel();
        let code = next().await;
        std::process::exit(code);
    });
    token
}

/// The same for a command that somebody waits for: the first telling is obeyed within a second,
/// whatever runs.
pub(super) fn foreground() -> Control {
    let control = Control { drain: stop_token(), ..Control::default() };
    let Control { drain, cancel } = control.clone();
    tokio::spawn(async move {
        let (to_next_record, to_give_back) = FOREGROUND_GRACE;
        drain.cancelled().await;
        sleep(to_next_record).await;
        cancel.cancel();
        sleep(to_give_back).await;
        // What is durable is enough; whoever goes on with the run sees that this process is gone.
        anstream::eprintln!("verdict: stopped; the same command goes on from what is recorded");
        std::process::exit(3);
    });
    control
}
