-- Claims in a row whose holder died.
ALTER TABLE verdict.run ADD COLUMN lost_claims bigint NOT NULL DEFAULT 0;
