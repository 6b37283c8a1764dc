-- Answers that callers asked to have kept and given again to the same request (src/response-cache).

create table cached_answers (
  workspace_id    text not null references workspaces on delete cascade,
  -- SHA-256 of all that the answer depends on
  key             bytea not null check (length(key) = 32),
  -- whose share of the room it takes
  organization_id text not null,
  channel_id      text not null,
  access_channel  text not null,
  -- of the answer, as they were sent
  headers         json not null,
  -- tokens, as the provider reported them
  usage           json not null,
  is_estimated    boolean not null,
  -- zstd
  body            bytea not null,
  -- what the row counts against the bound
  bytes           bigint not null,
  created_at      timestamptz not null,
  expires_at      timestamptz not null,
  primary key (workspace_id, key)
);
-- Compressed already: Postgres need not try.
alter table cached_answers alter column body set storage external;
create index cached_answers_expiry on cached_answers (expires_at);
create index cached_answers_share on cached_answers (organization_id, created_at) include (bytes);

-- null: kept answers are not used unless a request asks for it
alter table api_keys add column cache_ttl_seconds integer check (cache_ttl_seconds > 0);

-- `cached`: a kept answer was given again, and nothing charged. Partitions have the constraint from their parent and as
-- their own. Rows that are there kept to a narrower one, so none has to be read.
do $$
declare
  part regclass;
begin
  alter table usage_events drop constraint usage_events_outcome_check;
  for part in select inhrelid::regclass from pg_inherits where inhparent = 'usage_events'::regclass loop
    execute format('alter table %s drop constraint if exists usage_events_outcome_check', part);
  end loop;
  alter table usage_events add constraint usage_events_outcome_check
    check (outcome in ('completed', 'cut', 'client_gone', 'stopped', 'cached')) not valid;
end $$;
