-- The foundation: who may call, what was used, what it cost.
-- Money is numeric(38,12) in US dollars throughout.

-- Announcements by which nodes drop what they have cached (storage/changes.ts).
create table changes (
  id         bigint generated always as identity primary key,
  topic      text not null,
  subject    text not null,
  created_at timestamptz not null default clock_timestamp()
);
create index changes_created_at on changes (created_at);

-- Facts about this database as a whole (tenants/secret-guard.ts).
create table installation (
  name  text primary key,
  value text not null
);

-- Tenants -------------------------------------------------------------------------------------------------------------

create table organizations (
  id         text primary key,
  name       text not null unique,
  role       text not null check (role in ('user', 'partner', 'vip')),
  created_at timestamptz not null default now()
);

create table workspaces (
  id              text primary key,
  organization_id text not null references organizations,
  name            text not null,
  created_at      timestamptz not null default now(),
  unique (organization_id, name)
);

create table api_keys (
  id             text primary key,
  workspace_id   text not null references workspaces,
  name           text not null,
  key_prefix     text not null,
  key_hash       bytea not null unique check (length(key_hash) = 32),
  pepper_version smallint not null,
  status         text not null default 'active' check (status in ('active', 'inactive', 'revoked')),
  -- null: every model
  models         text[] check (cardinality(models) > 0),
  -- null: no limit of its own
  limit_amount   numeric(38, 12) check (limit_amount >= 0),
  expires_at     timestamptz,
  created_at     timestamptz not null default now(),
  revoked_at     timestamptz,
  check ((status = 'revoked') = (revoked_at is not null))
);
create index api_keys_workspace on api_keys (workspace_id, created_at);

create table management_tokens (
  id             text primary key,
  workspace_id   text not null references workspaces,
  name           text not null,
  token_prefix   text not null,
  token_hash     bytea not null unique check (length(token_hash) = 32),
  pepper_version smallint not null,
  created_at     timestamptz not null default now(),
  revoked_at     timestamptz
);
create index management_tokens_workspace on management_tokens (workspace_id, created_at);

-- Ledger --------------------------------------------------------------------------------------------------------------

-- An account per organization, and two of the house: where credit comes from and where spending goes. An
-- organization's totals are kept beside its entries, so that the balance is one row; those of the house are sums.
create table ledger_accounts (
  id       text primary key,
  kind     text not null check (kind in ('customer', 'funding', 'revenue')),
  credited numeric(38, 12) not null default 0 check (credited >= 0),
  spent    numeric(38, 12) not null default 0 check (spent >= 0)
);
insert into ledger_accounts (id, kind) values ('funding', 'funding'), ('revenue', 'revenue');

create table ledger_transactions (
  id            text primary key,
  kind          text not null check (kind in ('credit', 'usage')),
  -- a repeat of the same operation finds its first one here and does nothing
  operation_key text not null unique,
  reason        text,
  created_at    timestamptz not null default now()
);

create table ledger_entries (
  transaction_id text not null references ledger_transactions,
  account_id     text not null references ledger_accounts,
  amount         numeric(38, 12) not null,
  primary key (transaction_id, account_id)
);
create index ledger_entries_account on ledger_entries (account_id);

create function ledger_check_sum() returns trigger language plpgsql as $$
begin
  if (select sum(amount) from ledger_entries where transaction_id = new.transaction_id) <> 0 then
    raise exception 'entries of transaction % do not sum to zero', new.transaction_id;
  end if;
  return null;
end $$;
create constraint trigger ledger_entries_sum_to_zero after insert on ledger_entries
  deferrable initially deferred for each row execute function ledger_check_sum();

create function ledger_refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'the ledger is append-only';
end $$;
create trigger ledger_entries_append_only before update or delete on ledger_entries
  for each row execute function ledger_refuse_change();
create trigger ledger_transactions_append_only before update or delete on ledger_transactions
  for each row execute function ledger_refuse_change();

-- Usage ---------------------------------------------------------------------------------------------------------------

-- One row a request, as the journal recorded it. Null token counts: nobody reported them.
create table usage_events (
  created_at             timestamptz not null,
  request_id             text not null,
  billing_transaction_id text not null,
  organization_id        text not null,
  workspace_id           text not null,
  api_key_id             text not null,
  model                  text not null,
  logical_model          text not null,
  -- '' for a model whose vendor the catalog does not name: a primary key column below cannot be null
  model_vendor           text not null,
  scene                  text not null,
  access_channel         text not null check (access_channel in ('platform', 'byok')),
  channel_id             text not null,
  delivery_tier          text not null,
  usage_unit             text not null,
  usage_quantity         numeric(38, 12) not null check (usage_quantity >= 0),
  prompt_tokens          bigint,
  completion_tokens      bigint,
  total_tokens           bigint,
  cache_read_tokens      bigint,
  cache_write_tokens     bigint,
  cache_write_tokens_5m  bigint,
  cache_write_tokens_1h  bigint,
  audio_input_tokens     bigint,
  audio_output_tokens    bigint,
  reasoning_tokens       bigint,
  cost                   numeric(38, 12) not null check (cost >= 0),
  price_version          text not null,
  -- the provider reported no usage: the counts are ours
  is_estimated           boolean not null,
  outcome                text not null check (outcome in ('completed', 'cut', 'client_gone')),
  primary key (created_at, request_id)
) partition by range (created_at);
create index usage_events_by_key on usage_events (api_key_id, created_at desc, request_id desc);

-- Sums of the rows above, moved in the same transaction, so that a report need not read every row. The same columns
-- at two widths: a report over any span takes whole days, whole hours at its edges, and rows for the rest.
create table usage_hourly (
  organization_id   text not null,
  api_key_id        text not null,
  hour              timestamptz not null,
  model             text not null,
  logical_model     text not null,
  model_vendor      text not null,
  scene             text not null,
  access_channel    text not null,
  usage_unit        text not null,
  requests          bigint not null,
  cost              numeric(38, 12) not null,
  usage_quantity    numeric(38, 12) not null,
  prompt_tokens     bigint not null,
  completion_tokens bigint not null,
  total_tokens      bigint not null,
  primary key (api_key_id, hour, model, logical_model, model_vendor, scene, access_channel, usage_unit)
);

create table usage_daily (
  organization_id   text not null,
  api_key_id        text not null,
  day               timestamptz not null,
  model             text not null,
  logical_model     text not null,
  model_vendor      text not null,
  scene             text not null,
  access_channel    text not null,
  usage_unit        text not null,
  requests          bigint not null,
  cost              numeric(38, 12) not null,
  usage_quantity    numeric(38, 12) not null,
  prompt_tokens     bigint not null,
  completion_tokens bigint not null,
  total_tokens      bigint not null,
  primary key (api_key_id, day, model, logical_model, model_vendor, scene, access_channel, usage_unit)
);

-- What each key has spent, ever: its limit is measured against this.
create table api_key_usage (
  api_key_id   text primary key references api_keys,
  used_amount  numeric(38, 12) not null,
  last_used_at timestamptz not null
);
