"""Requests told twice, in two traces: by a tap, and by a router behind it that begins a trace of its own."""

from collections import Counter, defaultdict

from analyzer.assemble.legs import Legs
from analyzer.assemble.tenants import several


def told_twice(legs: Legs) -> set[tuple[bytes, bytes]]:
    """Legs told by a router that began a trace of its own, each with the leg told before it, where its client
    is served: both bear a name, and by it neither fits another at that time.
    """
    fitting: dict[bytes, set[bytes]] = defaultdict(set)
    for members in legs.carriers.values():
        outside = [leg for leg in members if legs.outside(leg)]
        within = [leg for leg in members if legs.rooted[leg] and leg not in outside] if outside else []
        crowded = several(legs.own[leg] for leg in members)
        pairs = {
            (one, other)
            for one in within
            for other in outside
            if legs.may_join(one, other, crowded) and legs.meet(one, other)
        }
        ones, others = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
        for one, other in pairs:
            if ones[one] == others[other] == 1:
                fitting[one].add(other)
    chosen = Counter(other for others in fitting.values() for other in others)
    return {
        (one, other)
        for one, others in fitting.items()
        for other in others
        if len(others) == 1 and chosen[other] == 1
    }
