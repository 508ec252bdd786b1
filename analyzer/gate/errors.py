"""Why a gate cannot be asked.

GateError
└── BadEvidence    a file given as evidence is not what it should be; names file and field
"""


class GateError(Exception):
    """Base of everything the gate raises on purpose."""


class BadEvidence(GateError):
    """A file given as evidence cannot be read as such."""
