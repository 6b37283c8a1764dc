-- What the control plane can say of keys and organizations and adjustments of credit.

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
