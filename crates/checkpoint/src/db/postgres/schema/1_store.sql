-- Times are milliseconds since 1970, durations nanoseconds. Enumerations are numbers; the code that
-- reads them has the lists. Free text is bytes: text here may not hold every character.

CREATE SCHEMA IF NOT EXISTS verdict;

CREATE TABLE verdict.migration (
  version integer PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT now()
);

-- The clock of leases and due times: when the statement reached the server.
CREATE FUNCTION verdict.now_ms() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS
  'SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint';

-- Appends change nothing that an index holds, so that the new version of the row can stay on its
-- page, where there is room for it.
CREATE TABLE verdict.run (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  workflow bytea NOT NULL,
  workflow_version bigint NOT NULL,
  format bigint NOT NULL,
  key bytea NOT NULL,
  subject bytea,
  place bigint NOT NULL,
  status bigint NOT NULL,
  version bigint NOT NULL,
  epoch bigint NOT NULL,
  owner bytea,
  expires bigint,
  not_before bigint,
  executions bigint NOT NULL DEFAULT 0,
  active bigint NOT NULL DEFAULT 0,
  error bytea,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  ended_at bigint GENERATED ALWAYS AS
    (CASE WHEN status >= 3 AND not_before IS NULL THEN updated_at END) STORED,
  -- The last batch appended and the version it was answered with.
  batch bytea,
  batch_version bigint,
  -- A random number of whoever made or claimed it last.
  token bytea
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX run_status ON verdict.run (status, created_at DESC, id DESC);
CREATE INDEX run_workflow ON verdict.run (workflow, status, created_at DESC, id DESC);
CREATE INDEX run_subject ON verdict.run (subject, place) WHERE subject IS NOT NULL;
CREATE INDEX run_waiting ON verdict.run (not_before) WHERE not_before IS NOT NULL;
CREATE INDEX run_ended ON verdict.run (ended_at, id) WHERE ended_at IS NOT NULL;

-- A row holds the records of one append, and is known by the number of the last. A few kilobytes are
-- written faster where they are than beside.
CREATE TABLE verdict.record (
  run bigint NOT NULL,
  seq bigint NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (run, seq)
) WITH (toast_tuple_target = 4080);
-- They come compressed where that pays.
ALTER TABLE verdict.record ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE verdict.ask (
  run bigint NOT NULL,
  id bytea NOT NULL,
  answer bytea,
  PRIMARY KEY (run, id)
);

CREATE TABLE verdict.letter (
  id bytea PRIMARY KEY,
  reason bigint NOT NULL,
  state bigint NOT NULL,
  confirmed boolean NOT NULL,
  run text COLLATE "C",
  workflow bytea,
  node bytea,
  error bytea NOT NULL,
  executions bigint NOT NULL,
  first_at bigint NOT NULL,
  last_at bigint NOT NULL,
  headers bytea NOT NULL,
  payload bytea NOT NULL
);
ALTER TABLE verdict.letter ALTER COLUMN payload SET STORAGE EXTERNAL;

CREATE INDEX letter_listed ON verdict.letter (last_at DESC, id DESC);
CREATE INDEX letter_state ON verdict.letter (state, last_at DESC, id DESC);
CREATE INDEX letter_unconfirmed ON verdict.letter (last_at DESC, id DESC) WHERE NOT confirmed;
CREATE INDEX letter_open ON verdict.letter (run) WHERE state = 0;

CREATE TABLE verdict.keyed (
  space bytea NOT NULL,
  key bytea NOT NULL,
  value bytea NOT NULL,
  expires bigint NOT NULL,
  PRIMARY KEY (space, key)
);
ALTER TABLE verdict.keyed ALTER COLUMN value SET STORAGE EXTERNAL;
CREATE INDEX keyed_expires ON verdict.keyed (expires);

-- What is left of a bucket as of a moment. Full again, it is as good as absent.
CREATE TABLE verdict.bucket (
  space bytea NOT NULL,
  key bytea NOT NULL,
  units double precision NOT NULL,
  as_of bigint NOT NULL,
  full_at bigint NOT NULL,
  PRIMARY KEY (space, key)
);
CREATE INDEX bucket_full ON verdict.bucket (full_at);
