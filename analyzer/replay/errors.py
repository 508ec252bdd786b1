"""Why a replay cannot be run.

ReplayError
└── BadReplay    a setting or an answer of the endpoint makes the replay meaningless
"""


class ReplayError(Exception):
    """Base of everything a replay raises on purpose."""


class BadReplay(ReplayError):
    """The message names what was wrong, its value and what to do."""
