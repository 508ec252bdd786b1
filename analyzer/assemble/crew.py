"""Several analyzers on one store: who names requests, and whose requests are whose to rebuild.

Each works the same division out of the same list of who is there. Where two lists differ for a moment, work
is done twice, which versions of rows make harmless.
"""

from dataclasses import dataclass

from collector.store import Store
from collector.store.presence import BEAT_S, FENCE_S, Presence

SHARES = 64
"""Parts into which requests fall, by a hash of their key; each is one analyzer's to rebuild."""


@dataclass(frozen=True)
class Duty:
    """What one analyzer does now."""

    names: bool = False
    """Reads new spans and decides which request each belongs to: one analyzer at a time."""
    shares: tuple[int, ...] = ()
    """Shares of requests it rebuilds."""


class Crew(Presence):
    """One analyzer's place among those that share a store."""

    def __init__(self, store: Store):
        super().__init__(store, "analyzers")

    def duty(self) -> Duty:
        """What to do now. Nothing before everyone who joined at the same time can be seen."""
        present = self.present
        if self.joined_s < 1.5 * BEAT_S or self.unheard_s > FENCE_S or self.name not in present:
            return Duty()
        place = present.index(self.name)
        return Duty(place == 0, tuple(range(place, SHARES, len(present))))
