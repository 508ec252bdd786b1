"""Whose each span of a trace is, where several tenants send spans under one trace id.

Ids are no secret: two tenants may count theirs alike, and one may know another's. Spans of different tenants
are never one request's. Those that name no tenant (an engine's behind a shared collector) go where their ids,
else the spans above them, else those below them say, if they say one tenant.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar


class _Tenanted(Protocol):
    @property
    def span_id(self) -> bytes: ...
    @property
    def parent_id(self) -> bytes: ...
    @property
    def tenant(self) -> str: ...
    @property
    def ids(self) -> tuple[str, ...]: ...


S = TypeVar("S", bound=_Tenanted)


def several(tenants: Iterable[str]) -> bool:
    """Whether more than one tenant is named."""
    return len(set(tenants) - {""}) > 1


def by_tenant(members: Sequence[S]) -> dict[str, list[S]]:
    """The spans of one trace by tenant: one part where at most one is named.

    Under the empty name stand those of which nothing tells whose they are.
    """
    if not several(span.tenant for span in members):
        return {"": list(members)}
    of_id: dict[str, set[str]] = defaultdict(set)
    for span in members:
        for name in span.ids if span.tenant else ():
            of_id[name].add(span.tenant)
    at: dict[bytes, set[str]] = defaultdict(set)
    parents: dict[bytes, bytes] = {}
    for span in sorted(members, key=lambda span: (span.span_id, span.parent_id)):
        at[span.span_id].add(span.tenant)
        if not span.tenant:
            parents.setdefault(span.span_id, span.parent_id)
    below = _below(members, at, parents)
    parts: dict[str, list[S]] = defaultdict(list)
    for span in members:
        parts[span.tenant or _whose(span, of_id, at, parents, below)].append(span)
    return dict(sorted(parts.items()))


def _whose(
    span: _Tenanted,
    of_id: Mapping[str, set[str]],
    at: Mapping[bytes, set[str]],
    parents: Mapping[bytes, bytes],
    below: Mapping[bytes, set[str]],
) -> str:
    named = {tenant for name in span.ids for tenant in of_id.get(name, ())}
    if len(named) == 1:
        return named.pop()
    above = [at[parent] - {""} for parent in _chain(span.parent_id, at, parents)]
    for tenants in (above[-1] if above else set(), below.get(span.span_id, set())):
        if len(tenants) == 1:
            return next(iter(tenants))
    return ""


def _below(
    members: Iterable[_Tenanted], at: Mapping[bytes, set[str]], parents: Mapping[bytes, bytes]
) -> dict[bytes, set[str]]:
    """For spans that name no tenant, those that the spans below them name."""
    below: dict[bytes, set[str]] = defaultdict(set)
    for span in members:
        for parent in _chain(span.parent_id, at, parents) if span.tenant else ():
            below[parent].add(span.tenant)
    return below


def _chain(start: bytes, at: Mapping[bytes, set[str]], parents: Mapping[bytes, bytes]) -> Iterable[bytes]:
    """Span ids upwards, up to the first that a tenant's span bears."""
    seen: set[bytes] = set()
    here = start
    while here in at and here not in seen:
        yield here
        if at[here] - {""}:
            return
        seen.add(here)
        here = parents[here]
