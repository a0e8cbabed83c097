"""sqlite3's shell with a heavy script: what it prints, the dump of its database, the database's bytes."""

from __future__ import annotations

from pathlib import Path

from .runs import Cost, Way, run

ROWS = 60_000
SCRIPT = """
.bail on
.output printed.txt
pragma journal_mode=wal; pragma cache_size=500;
create table item(id integer primary key, name text, weight real, kind int, data blob);
create table log(at integer primary key, what text);
create trigger noted after delete on item begin insert into log(what) values ('gone ' || old.name); end;
begin;
with recursive n(i) as (select 1 union all select i + 1 from n where i < ROWS)
insert into item select i, printf('item %05d', i * 7919 % 10007), i * 0.5, i % 17, zeroblob(i % 50) from n;
commit;
create index item_name on item(name, kind);
select count(*), sum(weight), max(name) from item where name like 'item 01%';
select substr(name, 6, 2) p, count(*), avg(weight), group_concat(distinct kind) from item group by p order by p;
update item set weight = weight * 2, name = upper(name) where id % 3 = 0;
savepoint before; delete from item where kind < 9; select count(*) from log; rollback to before; release before;
delete from item where id % 11 = 0;
select a.name, count(*) from item a join item b on a.name = b.name and a.kind <> b.kind group by 1
order by 2 desc, 1 limit 9;
select id, sum(weight) over (partition by kind order by id rows 3 preceding) from item where id % 997 = 0 order by id;
create virtual table words using fts5(text);
insert into words select name || ' of kind ' || kind from item where id % 5 = 0;
select count(*) from words where words match 'kind AND 00*';
select json_extract(json_group_array(json_object('n', name)), '$[7].n'), hex(sum(length(data))) from item;
with recursive f(a, b) as (values(1, 1) union all select b, a + b from f where b < 1e15) select max(b) from f;
select * from (select round(sqrt(weight), 3) s, name from item order by s desc, name) limit 5;
insert or ignore into item(id) values (1); update or replace item set id = id + 1 where id % 1000 = 1;
vacuum; pragma integrity_check; pragma wal_checkpoint(truncate);
.output dumped.txt
.dump
"""
RESULTS = ("printed.txt", "dumped.txt", "data.db")


def case(way: Way, program: Path, folder: Path) -> tuple[Cost, dict[str, bytes]]:
    (folder / "script.sql").write_text(SCRIPT.replace("ROWS", str(ROWS)))
    cost = run(way, [str(program), "data.db", ".read script.sql"], folder)
    return cost, {name: (folder / name).read_bytes() for name in RESULTS}
