//! What systemd is told of a service of `Type=notify`, where NOTIFY_SOCKET names its socket: nothing
//! elsewhere.

use sd_notify::NotifyState;
use tokio_util::sync::CancellationToken;

use crate::server::Readiness;

/// Says `READY=1` once every check is fine, which is when work is taken, and `STOPPING=1` when told to
/// stop.
pub(super) async fn notify(readiness: Readiness, stop: CancellationToken) {
    if stop.run_until_cancelled(readiness.ready()).await.is_some() {
        send(NotifyState::Ready);
        stop.cancelled().await;
    }
    send(NotifyState::Stopping);
}

fn send(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "systemd cannot be notified");
    }
}
