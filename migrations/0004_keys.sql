-- What the control plane can say of keys and organizations, adjustments of credit, and reports of whole organizations.

-- What takes long with a long history comes first: what comes after it is locked for a moment only.

-- Usage ---------------------------------------------------------------------------------------------------------------

create index usage_events_by_organization on usage_events (organization_id, created_at desc, request_id desc);

-- The sums of usage_hourly and usage_daily once more, over all keys of an organization: a report of the organization
-- reads as many rows as one of a key, however many keys there are.
create table usage_organization_hourly (
  organization_id   text not null,
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
  primary key (organization_id, hour, model, logical_model, model_vendor, scene, access_channel, usage_unit)
);
insert into usage_organization_hourly
select organization_id, hour, model, logical_model, model_vendor, scene, access_channel, usage_unit, sum(requests),
       sum(cost), sum(usage_quantity), sum(prompt_tokens), sum(completion_tokens), sum(total_tokens)
from usage_hourly group by 1, 2, 3, 4, 5, 6, 7, 8;

create table usage_organization_daily (
  organization_id   text not null,
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
  primary key (organization_id, day, model, logical_model, model_vendor, scene, access_channel, usage_unit)
);
insert into usage_organization_daily
select organization_id, day, model, logical_model, model_vendor, scene, access_channel, usage_unit, sum(requests),
       sum(cost), sum(usage_quantity), sum(prompt_tokens), sum(completion_tokens), sum(total_tokens)
from usage_daily group by 1, 2, 3, 4, 5, 6, 7, 8;

-- Ledger --------------------------------------------------------------------------------------------------------------

-- An adjustment corrects credit, up or down.
alter table ledger_transactions
  drop constraint ledger_transactions_kind_check,
  add constraint ledger_transactions_kind_check check (kind in ('credit', 'adjustment', 'usage'));

-- An account's entries are listed by time, and only what an index holds in that order can be listed at any length.
alter table ledger_entries add column created_at timestamptz not null default now();
alter table ledger_entries disable trigger ledger_entries_append_only;
update ledger_entries set created_at = t.created_at from ledger_transactions t where t.id = transaction_id;
alter table ledger_entries enable trigger ledger_entries_append_only;
drop index ledger_entries_account;
create index ledger_entries_account on ledger_entries (account_id, created_at desc, transaction_id desc);

-- Keys ----------------------------------------------------------------------------------------------------------------

alter table api_keys
  -- null: as the workspace's default has it
  add column delivery_policy     text check (delivery_policy in ('auto', 'verified', 'official')),
  -- null: as the organization's
  add column requests_per_minute integer check (requests_per_minute > 0);

-- Lists go from the newest key to the oldest, and on from any of them.
drop index api_keys_workspace;
create index api_keys_workspace on api_keys (workspace_id, created_at desc, id desc);

-- null: as the role's
alter table organizations add column requests_per_minute integer check (requests_per_minute > 0);
