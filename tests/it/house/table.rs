//! The rules, in the order of ARCHITECTURE.md.

/// Each room and the rooms it may import. Every room may import `base` and itself.
const TABLE: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("graph", &[]),
    ("db", &[]),
    ("telemetry", &[]),
    ("checkpoint", &["graph", "db"]),
    ("queue", &["db"]),
    ("forge", &[]),
    ("model", &[]),
    ("analysis", &[]),
    ("workflows", &["graph", "analysis", "forge", "model"]),
    ("runs", &["graph", "workflows"]),
    ("worker", &["runs", "graph", "queue", "workflows"]),
    ("server", &["runs", "graph", "queue"]),
    ("config", COMPONENTS),
    ("app", ALL_BUT_FRONT),
    ("cli", &["app", "config", "runs", "graph", "queue", "workflows"]),
    ("main", &["cli", "telemetry"]),
    ("lib", &["graph", "checkpoint", "db", "analysis"]),
];

/// Rooms that own options: all below `config`, which stands last.
const COMPONENTS: &[&str] = ALL_BUT_FRONT.split_at(ALL_BUT_FRONT.len() - 1).0;

const ALL_BUT_FRONT: &[&str] = &[
    "graph",
    "db",
    "telemetry",
    "checkpoint",
    "queue",
    "forge",
    "model",
    "analysis",
    "workflows",
    "runs",
    "worker",
    "server",
    "config",
];

/// Modules behind a port. Only `app`, which chooses among them, may name one from outside its room.
const ADAPTERS: &[(&str, &[&str])] = &[
    ("checkpoint", &["memory", "sqlite", "postgres", "firestore"]),
    ("queue", &["embedded", "amqp", "pubsub"]),
    ("forge", &["local", "github"]),
    ("model", &["chain"]),
];

/// Rooms from which another takes types only: no functions, no whole modules.
const TYPES_ONLY: &[(&str, &[&str])] = &[
    ("worker", &["graph", "workflows"]),
    ("server", &["graph", "queue"]),
    ("cli", &["graph", "queue", "workflows"]),
    ("config", COMPONENTS),
];

/// The longest a file under `src` may be, in lines.
pub(super) const LONGEST: usize = 400;

/// The rooms `room` may import, beyond `base` and itself; `None` when it is no room.
pub(super) fn allowed(room: &str) -> Option<&'static [&'static str]> {
    TABLE.iter().find(|(name, _)| *name == room).map(|(_, allowed)| *allowed)
}

/// Whether `room`'s module `name` is an adapter.
pub(super) fn is_adapter(room: &str, name: &str) -> bool {
    listed(ADAPTERS, room, name)
}

/// Whether `from` may take only types from `room`.
pub(super) fn types_only(from: &str, room: &str) -> bool {
    listed(TYPES_ONLY, from, room)
}

fn listed(list: &[(&str, &[&str])], first: &str, second: &str) -> bool {
    list.iter().any(|(name, names)| *name == first && names.contains(&second))
}
