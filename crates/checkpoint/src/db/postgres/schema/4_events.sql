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

-- Whoever may use the tables there are may use these.
DO $$
DECLARE given record;
BEGIN
  FOR given IN
    SELECT DISTINCT grantee, privilege_type FROM information_schema.table_privileges
    WHERE table_schema = 'verdict' AND table_name = 'ask'
      AND privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
  LOOP
    EXECUTE format('GRANT %s ON verdict.event, verdict.event_wait TO %s', given.privilege_type,
      CASE given.grantee WHEN 'PUBLIC' THEN 'PUBLIC' ELSE quote_ident(given.grantee) END);
  END LOOP;
END $$;
