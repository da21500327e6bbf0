-- What a run waits for: its kind, by its place in the list of kinds, and the whole of it as JSON.
ALTER TABLE verdict.run ADD COLUMN waiting bigint;
ALTER TABLE verdict.run ADD COLUMN waiting_text bytea;
-- Those parked by an older build wait for a person, or for a time.
UPDATE verdict.run SET waiting = (not_before IS NOT NULL)::int WHERE status = 2;
CREATE INDEX run_waiting_for ON verdict.run (waiting, created_at DESC, id DESC)
  WHERE waiting IS NOT NULL;

-- The key-value store: a table that nothing ever wrote to, renamed so that roles keep their rights on
-- it. A rate limiter's bucket is a value like any other.
TRUNCATE verdict.keyed;
ALTER TABLE verdict.keyed RENAME TO key_value;
ALTER INDEX verdict.keyed_expires RENAME TO key_value_expires;
-- A random number of whoever wrote it.
ALTER TABLE verdict.key_value ADD COLUMN revision bytea NOT NULL;
DROP TABLE verdict.bucket;
