-- Provider keys: accounts at providers that customers bring themselves (src/tenants/provider-keys).

create table provider_keys (
  id              text primary key,
  workspace_id    text not null references workspaces,
  name            text not null,
  provider        text not null,
  -- a key, or a credential of several parts as JSON; sealed by lib/vault.ts for this row alone
  secret          bytea not null,
  -- names the key of the vault that sealed it
  secret_key_id   text not null,
  -- its last characters, by which its owner recognises it; '' where they would tell too much
  hint            text not null,
  -- null: the provider's own
  base_url        text,
  -- null: every model that the platform reaches at the same address
  models          text[] check (cardinality(models) > 0),
  -- {"<model>": "<what the provider calls it>"}
  upstream_models jsonb not null,
  -- lower is tried first
  priority        integer not null,
  -- where requests go that it could not serve
  fallback        text not null check (fallback in ('none', 'platform')),
  -- inactive: its owner switched it off; disabled: its provider refused it
  status          text not null check (status in ('active', 'inactive', 'disabled')),
  disabled_reason text,
  disabled_at     timestamptz,
  last_used_at    timestamptz,
  last_tested_at  timestamptz,
  last_test       text,
  created_at      timestamptz not null default now(),
  check ((status = 'disabled') = (disabled_at is not null)),
  check ((disabled_reason is null) = (disabled_at is null)),
  check ((last_test is null) = (last_tested_at is null))
);
create index provider_keys_workspace on provider_keys (workspace_id, created_at desc, id desc);
