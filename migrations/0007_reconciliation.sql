-- Reconciliation (src/reconciliation): whether the books agree, looked at all the time on one node of many.

-- One row: which node looks is decided by who gets to write `begun_at`, and all nodes show what was found.
create table reconciliation (
  is_only            boolean primary key default true check (is_only),
  begun_at           timestamptz not null default '-infinity',
  -- null: never yet
  finished_at        timestamptz,
  succeeded_at       timestamptz,
  differences        bigint not null default 0,
  -- the hours before it have been compared with their rows once
  hours_checked_till timestamptz
);
insert into reconciliation default values;

-- What an account's entries before a moment come to. They never change, so they need not be added up again.
create table reconciliation_marks (
  account_id text primary key references ledger_accounts,
  till       timestamptz not null,
  credited   numeric(38, 12) not null,
  spent      numeric(38, 12) not null
);

-- Upstream calls that no usage row tells of (src/metering): what a provider may bill and no client paid for.
create table failed_attempts (
  failed_at           timestamptz not null,
  request_id          text not null,
  -- 0 for the first channel that was asked
  attempt             smallint not null,
  organization_id     text not null,
  workspace_id        text not null,
  api_key_id          text not null,
  model               text not null,
  channel_id          text not null,
  upstream_model      text not null,
  -- uncertain: the provider may have done the work; safe: it has not; final: it refused the request itself
  kind                text not null check (kind in ('safe', 'uncertain', 'final')),
  reason              text not null,
  -- null: no answer began
  status              smallint,
  upstream_request_id text,
  -- what the provider may bill for it at most, at the price of the offer
  possible_cost       numeric(38, 12) not null check (possible_cost >= 0),
  primary key (failed_at, request_id, attempt)
);

-- Budget alerts (src/budget-alerts): thresholds that are crossed now and have been told.
create table budget_alerts (
  subject_kind text not null check (subject_kind in ('organization', 'key')),
  subject_id   text not null,
  threshold    text not null,
  raised_at    timestamptz not null default now(),
  primary key (subject_kind, subject_id, threshold)
);
