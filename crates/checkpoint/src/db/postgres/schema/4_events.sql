-- Events from outside, kept for runs that wait for their key now or later.
CREATE TABLE verdict.event (
  key bytea NOT NULL,
  id bytea NOT NULL,
  payload bytea NOT NULL,
  at bigint NOT NULL,
  expires bigint NOT NULL,
  PRIMARY KEY (key, id)
);

CREATE INDEX event_expires ON verdict.event (expires);

-- The interrupts that events of a key answer.
CREATE TABLE verdict.event_wait (
  key bytea NOT NULL,
  run text COLLATE "C" NOT NULL,
  interrupt bytea NOT NULL,
  expires bigint NOT NULL,
  PRIMARY KEY (key, run, interrupt)
);

CREATE INDEX event_wait_expires ON verdict.event_wait (expires);
