-- Responses that callers of /v1/responses may come back to (src/stored-responses).

create table stored_responses (
  workspace_id         text not null references workspaces,
  response_id          text not null,
  -- the one it went on from; it may have been deleted since
  previous_response_id text,
  model                text not null,
  -- of this request alone, items that it only named still as references; json and not jsonb, which refuses texts with
  -- a NUL in them and forgets the order of keys
  input                json not null,
  -- as its client got it
  response             json not null,
  -- bytes of both: what it will cost to read a conversation is known before it is read
  bytes                bigint not null,
  created_at           timestamptz not null default now(),
  expires_at           timestamptz not null,
  primary key (workspace_id, response_id)
);
create index stored_responses_expiry on stored_responses (expires_at);

-- Which responses have an item of an id, in or out. A table and not an array with a GIN index: asked for many ids at
-- once, the planner expects most rows to match and reads them all.
create table stored_response_items (
  workspace_id text not null,
  response_id  text not null,
  item_id      text not null,
  primary key (workspace_id, response_id, item_id),
  foreign key (workspace_id, response_id) references stored_responses on delete cascade
);
create index stored_response_items_by_id on stored_response_items (workspace_id, item_id);
