"""Which requests a query of another tool is about: its label matchers, as far as objectives can say them."""

import re
from collections.abc import Iterator

from analyzer.slo.objectives import INPUT_BUCKETS, Selector
from dashboards.exchange.openslo_reading import Unfit

_MEMBERS = {
    "model": "model",
    "model_name": "model",
    "gen_ai_request_model": "model",
    "tenant": "tenant",
    "tenant_id": "tenant",
    "pd_tenant": "tenant",
    "route": "route",
    "http_route": "route",
    "pd_route": "route",
    "input_bucket": "input_bucket",
}
_NOT_OF_REQUESTS = ("__name__", "le", "quantile")
_OF_SERIES = (
    "cluster", "container", "endpoint", "engine", "env", "environment", "exporter", "instance", "job",
    "namespace", "node", "pod", "prometheus", "region", "replica", "service",
)  # fmt: skip
"""Labels that say where a series was scraped: what pdscope receives is not told apart by them."""

_BRACES = re.compile(r"\{((?:[^{}\"]|\"(?:[^\"\\]|\\.)*\")*)\}")
_MATCHER = re.compile(r'([A-Za-z_][\w.]*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')
_PLAIN = re.compile(r"[\w /.:@-]*")


def selector_of(query: str) -> tuple[Selector, list[str]]:
    """Which requests a PromQL query counts, and what of it is not carried over.

    Raises Unfit for a matcher that tells requests apart as no objective can: without it, others would count.
    """
    members: dict[str, str] = {}
    left: dict[str, None] = {}
    for label, operator, value in _matchers(query):
        written = f'{label}{operator}"{value}"'
        if label in _NOT_OF_REQUESTS:
            continue
        if label in _OF_SERIES:
            left[written] = None
            continue
        member = _MEMBERS.get(label)
        if member is None:
            raise Unfit(
                f"{written}: an objective tells requests apart by {', '.join(vars(Selector()))} alone"
            )
        if not value or operator in ("!=", "!~") or (operator == "=~" and not _literal(value)):
            raise Unfit(f"{written}: an objective is for one {member}, or for all; write one for each")
        text = re.sub(r"\\(.)", r"\1", value)
        if members.setdefault(member, text) != text:
            raise Unfit(f"{written}: its query names another {member}, {members[member]!r}, as well")
    if members.get("input_bucket", INPUT_BUCKETS[0]) not in INPUT_BUCKETS:
        raise Unfit(f"input_bucket {members['input_bucket']!r} is not one of {', '.join(INPUT_BUCKETS)}")
    notes = [f"is read without {', '.join(left)}: requests are not told apart by where series come from"]
    return Selector(**members), notes if left else []


def _matchers(query: str) -> Iterator[tuple[str, str, str]]:
    for braces in _BRACES.finditer(query):
        for found in _MATCHER.finditer(braces[1]):
            yield found[1].replace(".", "_"), found[2], found[3]


def _literal(pattern: str) -> bool:
    """Whether a regular expression matches one text alone; a dot, as names hold, is taken for itself."""
    return bool(_PLAIN.fullmatch(pattern))
