-- state.db, version 24: pins that are refreshed.

ALTER TABLE claim ADD COLUMN refresh INTEGER;  -- of a pin: the interval in milliseconds at which its origin is asked again
CREATE INDEX claim_refresh ON claim (claim) WHERE refresh IS NOT NULL;
