//! The harness itself: brokers, emulators and the proxy in front of them do what tests rely on.
