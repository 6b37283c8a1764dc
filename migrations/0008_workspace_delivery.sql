-- How a workspace's requests are delivered when neither they nor their key say so.
alter table workspaces
  add column delivery_policy text not null default 'auto' check (delivery_policy in ('auto', 'verified', 'official'));
