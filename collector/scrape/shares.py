"""Which of several collectors on one server scrapes a target: each is scraped once."""

import hashlib
from pathlib import Path
from typing import Protocol

from collector.errors import ConfigError
from collector.store import Store
from collector.store.presence import Presence


class Shares(Protocol):
    """Says what is this collector's to scrape. start() once, then stop()."""

    def start(self) -> None:
        """Join the others."""

    def stop(self) -> None:
        """Leave."""

    def mine(self, url: str) -> bool:
        """Whether this collector scrapes the target at that URL now."""


class Everything:
    """The shares of a collector that is alone."""

    def start(self) -> None:
        """Nobody is to be told."""

    def stop(self) -> None:
        """Nobody is to be told."""

    def mine(self, url: str) -> bool:
        """All is."""
        return True


class Divided:
    """Shares among the collectors of a server that read the same scrape file.

    A target belongs to the one whose name, hashed with the target's, comes out highest: when one comes or
    goes only its own share moves. A collector whose file differs, as during a rollout, is not counted with
    the others: for a moment a target may be scraped twice, which changes no figure, but never left out.
    """

    def __init__(self, store: Store, file: Path):
        """Raises ConfigError when the scrape file cannot be read."""
        try:
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
        except OSError as error:
            raise ConfigError(f"cannot read {file}: {error.strerror}") from error
        self._presence = Presence(store, "collectors", digest[:16] + "/")

    def start(self) -> None:
        """Join the others. Raises StoreError."""
        self._presence.start()

    def stop(self) -> None:
        """Leave, so that the others take over at once. Raises StoreError."""
        self._presence.stop()

    def mine(self, url: str) -> bool:
        """Whether no other that is there comes before this one."""
        me = self._presence.name
        mine = _weight(me, url)
        return all(_weight(other, url) <= mine for other in self._presence.present if other != me)


def _weight(name: str, url: str) -> bytes:
    return hashlib.blake2b(f"{name} {url}".encode(), digest_size=8).digest()


def shares_of(store: Store, file: Path) -> Shares:
    """How scraping by `file` is divided on a store: only those of a server are shared. Raises ConfigError."""
    return Everything() if store.embedded else Divided(store, file)
