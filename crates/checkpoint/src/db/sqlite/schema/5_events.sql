-- Events from outside, kept for runs that wait for their key now or later.
CREATE TABLE event (
  key TEXT NOT NULL,
  id TEXT NOT NULL,
  payload BLOB NOT NULL,
  at INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  PRIMARY KEY (key, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX event_expires ON event (expires);

-- The interrupts that events of a key answer.
CREATE TABLE event_wait (
  key TEXT NOT NULL,
  run TEXT NOT NULL,
  interrupt TEXT NOT NULL,
  expires INTEGER NOT NULL,
  PRIMARY KEY (key, run, interrupt)
) STRICT, WITHOUT ROWID;

CREATE INDEX event_wait_expires ON event_wait (expires);
