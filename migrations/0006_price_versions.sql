-- What the price_version of a usage row means: the rates that it was charged at. Written before a price comes into force,
-- and never changed. The definition is kept as text, because the version is its hash (catalog/price.ts).
create table price_versions (
  version     text primary key,
  definition  json not null,
  recorded_at timestamptz not null default now()
);

create function price_versions_refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'price versions are append-only';
end $$;
create trigger price_versions_append_only before update or delete on price_versions
  for each row execute function price_versions_refuse_change();
