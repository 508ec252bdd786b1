"""Expands a panel's SQL as Grafana and the ClickHouse plugin 4.20 do before they send it."""

import re
from dataclasses import dataclass, field
from datetime import datetime

ALL = "$__all"


@dataclass(frozen=True)
class Window:
    """A dashboard's time range (Unix seconds), the step of a panel in seconds, and the chosen variables.

    A variable that is not given is at All.
    """

    start: int
    end: int
    step: float = 60.0
    variables: dict[str, list[str]] = field(default_factory=dict)

    def expand(self, sql: str) -> str:
        """Return the SQL that is sent: conditionalAll by the plugin's page, then variables, then macros."""
        return self._macros(self._variables(self._conditional_all(sql)))

    def _conditional_all(self, sql: str) -> str:
        """CHDatasource.applyConditionalAll."""
        macro = "$__conditionalAll("
        at = sql.rfind(macro)
        while at >= 0:
            arguments = _arguments(sql, at + len(macro) - 1)
            if len(arguments) != 2:
                return sql
            phrase = arguments[0]
            named = re.search(r"(?<=\$\{)[\w\d]+(?=\})|(?<=\$)[\w\d]+", arguments[1].strip())
            if named and ",".join(self.variables.get(named[0], [ALL])) in ("", ALL):
                phrase = "1=1"
            sql = sql.replace(f"{macro}{arguments[0]},{arguments[1]})", phrase, 1)
            at = sql.rfind(macro)
        return sql

    def _variables(self, sql: str) -> str:
        """Grafana's templating: `${name:raw}`, `${name:singlequote}` and `${name}`."""

        def value(found: re.Match[str]) -> str:
            chosen = self.variables.get(found[1], [ALL])
            if found[2] == ":singlequote":
                return ",".join("'" + text.replace("'", "\\'") + "'" for text in chosen)
            return ",".join(chosen)

        return re.sub(r"\$\{(?!__)(\w+)(:\w+)?\}", value, sql)

    def _macros(self, sql: str) -> str:
        """pkg/macros/macros.go."""
        step = int(max(self.step, 1))
        first, last = f"toDateTime({self.start})", f"toDateTime({self.end})"

        def expanded(name: str, arguments: list[str]) -> str:
            column = arguments[0] if arguments else ""
            return {
                "fromTime": first,
                "toTime": last,
                "fromTime_ms": f"fromUnixTimestamp64Milli({self.start * 1000})",
                "toTime_ms": f"fromUnixTimestamp64Milli({self.end * 1000})",
                "timeFilter": f"{column} >= {first} AND {column} <= {last}",
                "timeInterval": f"toStartOfInterval(toDateTime({column}), INTERVAL {step} second)",
                "interval_s": str(step),
            }[name]

        while found := re.search(r"\$__(\w+)", sql):
            arguments, end = [], found.end()
            if sql[end : end + 1] == "(" and found[1] not in ("fromTime", "toTime", "interval_s"):
                arguments = _arguments(sql, end)
                end = _closing(sql, end) + 1
            sql = sql[: found.start()] + expanded(found[1], arguments) + sql[end:]
        return sql


def _arguments(sql: str, opening: int) -> list[str]:
    """CHDatasource.getMacroArgs: only round brackets nest."""
    depth, last, out = 0, opening + 1, []
    for index in range(opening, len(sql)):
        char = sql[index]
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 1:
            out.append(sql[last:index])
            last = index + 1
        if depth == 0:
            return [*out, sql[last:index]]
    return []


def _closing(sql: str, opening: int) -> int:
    depth = 0
    for index in range(opening, len(sql)):
        depth += (sql[index] == "(") - (sql[index] == ")")
        if depth == 0:
            return index
    raise AssertionError(f"no closing bracket: {sql[opening:]}")


KINDS = {
    "time": re.compile(r"^(Nullable\()?DateTime"),
    "number": re.compile(r"^(Nullable\()?(U?Int|Float|Decimal|Bool)"),
    "text": re.compile(r"^(Nullable\(|LowCardinality\()*(String|Enum|FixedString)"),
    "list": re.compile(r"^Array\("),
}
"""What Grafana needs a column to be, as a ClickHouse type."""


def seconds(text: str) -> int:
    """Unix seconds of an RFC 3339 instant."""
    return int(datetime.fromisoformat(text).timestamp())
