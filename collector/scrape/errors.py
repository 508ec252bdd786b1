"""Errors of scraping one target: each is one reason that is counted and stored.

CollectorError
└── ScrapeFailed       nothing of this page was kept
    └── BadPage        it came and can't be read
"""

from collector.errors import CollectorError


class ScrapeFailed(CollectorError):
    """One scrape failed; `reason` is the word it is counted under."""

    def __init__(self, reason: str, message: str):
        super().__init__(message)
        self.reason = reason


class BadPage(ScrapeFailed):
    """The page came and can't be read."""
