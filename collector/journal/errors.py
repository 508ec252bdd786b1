"""Errors of the journal.

CollectorError
├── Unavailable
│   ├── JournalFull      the journal holds all it may: the store takes nothing, or too slowly
│   └── DiskFull         too little room is left on the journal's disk, or none
└── StoreError
    └── JournalFailed    the disk did not take a write; nothing of it is promised
"""

from collector.errors import StoreError, Unavailable


class JournalFull(Unavailable):
    """The journal holds all it may."""


class DiskFull(Unavailable):
    """The journal's disk is full, or nearly."""


class JournalFailed(StoreError):
    """A write or sync failed; the message names the file and what the system said."""
