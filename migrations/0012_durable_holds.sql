-- Durable holds (src/ledger/holds): money kept for work that outlives its request, such as tasks and batches.
-- At any moment, for every account: held = the sum of its open holds. `tollgate reconcile` checks it.
create table ledger_holds (
  id              text primary key,
  -- what it is held for; a repeat of the same operation finds its first hold here and takes nothing
  operation_key   text not null unique,
  organization_id text not null references ledger_accounts,
  amount          numeric(38, 12) not null check (amount >= 0),
  -- settled: what it was held for has been charged; released: it will not be; expired: nobody came back for it
  state           text not null default 'open' check (state in ('open', 'settled', 'released', 'expired')),
  created_at      timestamptz not null default now(),
  -- whoever works on it moves this on
  expires_at      timestamptz not null,
  closed_at       timestamptz,
  check ((state = 'open') = (closed_at is null))
);
create index ledger_holds_open on ledger_holds (organization_id) where state = 'open';
create index ledger_holds_due on ledger_holds (expires_at) where state = 'open';

-- What is closed stays closed, and the amount stays what was agreed.
create function ledger_holds_refuse_change() returns trigger language plpgsql as $$
begin
  if old.state <> 'open' or (new.id, new.operation_key, new.organization_id, new.amount)
     is distinct from (old.id, old.operation_key, old.organization_id, old.amount) then
    raise exception 'hold % is closed, or is another one', old.id;
  end if;
  return new;
end $$;
create trigger ledger_holds_once before update on ledger_holds
  for each row execute function ledger_holds_refuse_change();
