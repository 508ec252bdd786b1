"""The write-ahead journal: an acknowledged body is on disk until the store has it."""

from collector.journal.format import Record
from collector.journal.journal import Journal, JournalLimits, Taken
from collector.journal.segment import Damage

__all__ = ["Damage", "Journal", "JournalLimits", "Record", "Taken"]
