"""Errors raised by the collector.

CollectorError
├── ConfigError          a setting or file is wrong: what, where, what to do
├── StoreError           the store refused or failed
│   ├── StoreBusy        another process holds the embedded store
│   ├── StoreTooNew      the store was written by a newer pdscope
│   └── DestructiveMigration  a schema step can lose data, and nobody allowed it
├── BadBody              an export could not be parsed; nothing of it was stored
└── Unavailable          try again later (back-pressure)
"""


class CollectorError(Exception):
    """Base of everything the collector raises on purpose."""


class ConfigError(CollectorError):
    """A setting or a configuration file is wrong; the message names it, its place and what to do."""


class StoreError(CollectorError):
    """The store refused or failed."""


class StoreBusy(StoreError):
    """Another process holds the embedded store; the message names it."""


class StoreTooNew(StoreError):
    """The store was written by a newer pdscope."""


class DestructiveMigration(StoreError):
    """A schema step can lose what is stored, and nobody allowed it; nothing was applied."""


class BadBody(CollectorError):
    """An export could not be parsed; nothing of it was stored."""


class Unavailable(CollectorError):
    """The collector cannot accept work now; the client should retry."""
