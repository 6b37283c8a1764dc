-- What the control plane can say of keys.

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
