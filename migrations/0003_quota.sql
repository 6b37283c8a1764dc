-- Quota: what each node may spend of an organization's balance and of a key's limit without asking (src/quota).
-- At any moment, for every subject: leased = the sum of its leases' amounts. `tollgate reconcile` checks it.

-- Available to be leased is credited - spent - held - leased. Spending may go beyond a lease where a provider counts
-- more than could be foreseen, so that alone is no constraint.
alter table ledger_accounts
  add column held   numeric(38, 12) not null default 0 check (held >= 0),
  add column leased numeric(38, 12) not null default 0 check (leased >= 0);

-- A key that was never used may have a lease.
alter table api_key_usage
  add column leased numeric(38, 12) not null default 0 check (leased >= 0),
  alter column used_amount set default 0,
  alter column last_used_at drop not null;

-- The processes that hold leases. An epoch is taken at each start, and whenever a node has lost sight of its leases:
-- what it asked for under an older epoch no longer counts.
create sequence quota_epochs;
create table quota_nodes (
  node_id text primary key,
  epoch   bigint not null,
  seen_at timestamptz not null
);

create table quota_leases (
  node_id         text not null references quota_nodes,
  subject_kind    text not null check (subject_kind in ('organization', 'key')),
  subject_id      text not null,
  -- whose account guards the lease: the organization itself, or the key's
  organization_id text not null references ledger_accounts,
  -- what of the grants is neither posted as spending nor given back
  amount          numeric(38, 12) not null check (amount >= 0),
  renewed_at      timestamptz not null,
  primary key (node_id, subject_kind, subject_id),
  check (subject_kind = 'key' or subject_id = organization_id)
);
create index quota_leases_subject on quota_leases (subject_kind, subject_id);

-- `stopped`: a stream that the gateway ended because nothing was left to pay for more of it. Partitions have the
-- constraint from their parent and as their own. Rows that are there kept to a narrower one, so none has to be read: a
-- scan of a long history would keep every node from writing.
do $$
declare
  part regclass;
begin
  alter table usage_events drop constraint usage_events_outcome_check;
  for part in select inhrelid::regclass from pg_inherits where inhparent = 'usage_events'::regclass loop
    execute format('alter table %s drop constraint if exists usage_events_outcome_check', part);
  end loop;
  alter table usage_events add constraint usage_events_outcome_check
    check (outcome in ('completed', 'cut', 'client_gone', 'stopped')) not valid;
end $$;
