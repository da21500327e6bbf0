-- The embedded queue. A message's content is written once; what changes while it waits and travels
-- stands in a row of its own, so that moving a large message costs as little as moving a small one.
CREATE TABLE queue_message (
  id      INTEGER PRIMARY KEY,
  headers TEXT NOT NULL,               -- a JSON object
  body    BLOB NOT NULL
) STRICT;

-- From `at` on anybody may take the message: the not-before of one that waits, the end of
-- visibility of one in hand. Whoever shows the token holds it.
CREATE TABLE queue_slot (
  id          INTEGER PRIMARY KEY,     -- the message's
  at          INTEGER NOT NULL,        -- ms
  token       INTEGER,                 -- NULL: in nobody's hands
  deliveries  INTEGER NOT NULL DEFAULT 0,
  enqueued_at INTEGER NOT NULL         -- ms
) STRICT;
CREATE INDEX queue_slot_at ON queue_slot (at);

CREATE TABLE queue_dead (
  seq     INTEGER PRIMARY KEY,
  id      TEXT NOT NULL UNIQUE,
  reason  TEXT NOT NULL,
  headers TEXT NOT NULL,
  body    BLOB NOT NULL
) STRICT;
