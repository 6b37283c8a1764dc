-- How a request went (src/metering/requests). Null in rows of before.

alter table usage_events
  -- 0: the first channel that was asked
  add column attempt smallint,
  -- from the request's headers to the end of the answer, and to its first output
  add column duration_ms integer,
  add column first_output_ms integer;

alter table failed_attempts
  add column access_channel text,
  -- from asking the channel to its failure
  add column duration_ms integer;
