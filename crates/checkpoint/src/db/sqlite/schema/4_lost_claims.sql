-- Claims in a row whose holder died.
ALTER TABLE run ADD COLUMN lost_claims INTEGER NOT NULL DEFAULT 0;
