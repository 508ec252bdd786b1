"""The replicated form of the migrations, made from the same files.

Tables of rows become a Replicated table on every node (`x_local`) and a Distributed one (`x`) over them; what
is the same everywhere or scratch stays one table on every node. `request_key` places a row, and before a
request is known, the trace it came in.
"""

import re

_ENGINE = re.compile(r"ENGINE = (\w*MergeTree)(?:\((\w+)\))?")
_CREATE_TABLE = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)")
_CREATE_VIEW = re.compile(r"(CREATE (?:OR REPLACE )?(?:MATERIALIZED )?VIEW \w+)")
_ALTER = re.compile(r"ALTER TABLE (\w+)")
_COLUMN_CHANGE = re.compile(r"\b(?:ADD|MODIFY|RENAME|DROP) COLUMN\b")
_NAME = re.compile(r"\w+")

_SHARDED_BY = {
    **dict.fromkeys(("requests", "transfers"), "cityHash64(request_key)"),
    **dict.fromkeys(("spans", "span_facts", "span_owners", "identity"), "cityHash64(trace_id)"),
    "trace_windows": "cityHash64(trace_id)",
    "signals": "cityHash64(series)",
}
"""What places a row on a shard. Tables not named here are held whole by every node."""


def cluster_statements(sql: str, cluster: str) -> list[str]:
    """The statements by which a cluster takes one migration.

    Raises ValueError for a cluster's name that is not a plain word.
    """
    if not _NAME.fullmatch(cluster):
        raise ValueError(f"not a cluster's name: {cluster!r}")
    if found := _CREATE_VIEW.search(sql):
        return [sql.replace(found[1], f"{found[1]} ON CLUSTER {cluster}", 1)]
    if found := _ALTER.search(sql):
        return _alter(sql, found[1], cluster)
    found = _CREATE_TABLE.search(sql)
    if not found:
        raise ValueError(f"no form for a cluster of: {sql.splitlines()[-1][:80]}")
    return _create(sql, found[0], found[1], cluster)


def _create(sql: str, head: str, table: str, cluster: str) -> list[str]:
    if not _ENGINE.search(sql):
        return [sql.replace(head, f"{head} ON CLUSTER {cluster}", 1)]
    if table not in _SHARDED_BY:
        whole = sql.replace(head, f"{head} ON CLUSTER {cluster}", 1)
        return [_ENGINE.sub(lambda engine: _replicated(engine, table, "all", "{shard}-{replica}"), whole)]
    local = f"{head.removesuffix(table)}{table}_local ON CLUSTER {cluster}"
    kept = _ENGINE.sub(lambda engine: _replicated(engine, table, "{shard}", "{replica}"), sql)
    spread = (
        f"CREATE TABLE {table} ON CLUSTER {cluster} AS {table}_local "
        f"ENGINE = Distributed('{cluster}', currentDatabase(), '{table}_local', {_SHARDED_BY[table]})"
    )
    return [kept.replace(head, local, 1), spread]


def _replicated(engine: re.Match[str], table: str, shard: str, replica: str) -> str:
    version = f", {engine[2]}" if engine[2] else ""
    path = f"/clickhouse/tables/{{database}}/{table}/{shard}"
    return f"ENGINE = Replicated{engine[1]}('{path}', '{replica}'{version})"


def _alter(sql: str, table: str, cluster: str) -> list[str]:
    if table not in _SHARDED_BY:
        return [_ALTER.sub(f"ALTER TABLE {table} ON CLUSTER {cluster}", sql, count=1)]
    names = [f"{table}_local", *([table] if _COLUMN_CHANGE.search(sql) else [])]
    return [_ALTER.sub(f"ALTER TABLE {name} ON CLUSTER {cluster}", sql, count=1) for name in names]
