-- What a run waits for: its kind, by its place in the list of kinds, and the whole of it as JSON.
ALTER TABLE run ADD COLUMN waiting INTEGER;
ALTER TABLE run ADD COLUMN waiting_text TEXT;
CREATE INDEX run_waiting_for ON run (waiting) WHERE waiting IS NOT NULL;
-- Those parked by an older build wait for a person, or for a time.
UPDATE run SET waiting = not_before IS NOT NULL WHERE status = 2;

-- The key-value store, in place of two tables that nothing ever wrote to. A rate limiter's bucket is
-- a value like any other.
DROP TABLE keyed;
DROP TABLE bucket;
CREATE TABLE key_value (
  space TEXT NOT NULL,
  key TEXT NOT NULL,
  value BLOB NOT NULL,
  expires INTEGER NOT NULL,
  -- A random number of whoever wrote it.
  revision BLOB NOT NULL,
  PRIMARY KEY (space, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX key_value_expires ON key_value (expires);
