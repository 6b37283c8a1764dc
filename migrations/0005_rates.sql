-- Request rates: how nodes share what a minute allows (src/quota/rate, docs/decisions). None of it is history: what
-- matters in these tables is seconds old, and a row a node, or a few a busy subject, is all there is.

-- What part of every limit a node has used at most in the last window of time: one in `divisor`; null for none. The
-- parts of all rows together are never more than the whole.
create table rate_nodes (
  node_id text primary key,
  divisor integer check (divisor > 0),
  seen_at timestamptz not null,
  -- It has stopped; its part is in use until a window later.
  left_at timestamptz
);

-- Subjects of which a node needs more than it has. `subject` is an organization or key, or the control plane's share
-- of an organization.
create unlogged table rate_needs (
  subject   text not null,
  node_id   text not null,
  -- as the asker knows it
  per_window integer not null check (per_window > 0),
  wanted    integer not null check (wanted >= 0),
  stated_at timestamptz not null,
  primary key (subject, node_id)
);

-- What one node leaves to another of its own part. Logged: a lender that starts again must find what it gave away.
create table rate_loans (
  subject  text not null,
  lender   text not null,
  borrower text not null,
  -- 0: given back early, at `ends_at`
  slots    integer not null check (slots >= 0),
  ends_at  timestamptz not null,
  primary key (subject, lender, borrower)
);
create index rate_loans_borrower on rate_loans (borrower);
create index rate_loans_lender on rate_loans (lender);
