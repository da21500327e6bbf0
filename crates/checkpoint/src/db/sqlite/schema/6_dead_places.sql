-- A place is never used again: whoever removes a letter by its place removes no later one.
ALTER TABLE queue_dead RENAME TO queue_dead_before;

CREATE TABLE queue_dead (
  seq     INTEGER PRIMARY KEY AUTOINCREMENT,
  id      TEXT NOT NULL UNIQUE,
  reason  TEXT NOT NULL,
  headers TEXT NOT NULL,
  body    BLOB NOT NULL
) STRICT;

INSERT INTO queue_dead SELECT * FROM queue_dead_before ORDER BY seq;

DROP TABLE queue_dead_before;
