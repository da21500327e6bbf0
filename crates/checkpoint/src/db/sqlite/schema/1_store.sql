-- Times are milliseconds since 1970, durations nanoseconds. Enumerations are numbers; the code
-- that reads them has the lists.

CREATE TABLE run (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  workflow TEXT NOT NULL,
  workflow_version INTEGER NOT NULL,
  format INTEGER NOT NULL,
  key TEXT NOT NULL,
  subject TEXT,
  place INTEGER NOT NULL,
  status INTEGER NOT NULL,
  version INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  owner TEXT,
  expires INTEGER,
  not_before INTEGER,
  executions INTEGER NOT NULL,
  active INTEGER NOT NULL,
  error TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  -- The last batch appended and the version it was answered with.
  batch BLOB,
  batch_version INTEGER
) STRICT;

CREATE INDEX run_listed ON run (created_at DESC, id DESC);
CREATE INDEX run_subject ON run (subject, place) WHERE subject IS NOT NULL;
CREATE INDEX run_waiting ON run (not_before) WHERE not_before IS NOT NULL;
-- Not by expiry, which every renewal would move: few runs are running.
CREATE INDEX run_running ON run (n) WHERE status = 1;
CREATE INDEX run_ended ON run (updated_at) WHERE status >= 3 AND not_before IS NULL;

-- place = run.n * 2^24 + the record's number, from 1.
CREATE TABLE record (
  place INTEGER PRIMARY KEY,
  meta BLOB NOT NULL,
  payload BLOB
) STRICT;

CREATE TABLE ask (
  run INTEGER NOT NULL,
  id TEXT NOT NULL,
  answer BLOB,
  PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE letter (
  id TEXT NOT NULL PRIMARY KEY,
  reason INTEGER NOT NULL,
  state INTEGER NOT NULL,
  confirmed INTEGER NOT NULL,
  run TEXT,
  workflow TEXT,
  node TEXT,
  error TEXT NOT NULL,
  executions INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  headers TEXT NOT NULL,
  payload BLOB NOT NULL
) STRICT;

CREATE INDEX letter_listed ON letter (last_at DESC, id DESC);
CREATE INDEX letter_open ON letter (run) WHERE state = 0;

CREATE TABLE keyed (
  space TEXT NOT NULL,
  key TEXT NOT NULL,
  value BLOB NOT NULL,
  expires INTEGER NOT NULL,
  PRIMARY KEY (space, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX keyed_expires ON keyed (expires);

-- What is left of a bucket as of a moment. Full again, it is as good as absent.
CREATE TABLE bucket (
  space TEXT NOT NULL,
  key TEXT NOT NULL,
  units REAL NOT NULL,
  as_of INTEGER NOT NULL,
  full_at INTEGER NOT NULL,
  PRIMARY KEY (space, key)
) STRICT, WITHOUT ROWID;
