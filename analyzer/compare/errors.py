"""Why two sides are not compared.

CompareError
└── Unlike    they differ in something that makes a comparison mean nothing; the message names it
"""


class CompareError(Exception):
    """Base of everything a comparison raises on purpose."""


class Unlike(CompareError):
    """The sides are not alike: `what` differs, and the message says how and what to do."""

    def __init__(self, what: str, message: str):
        super().__init__(message)
        self.what = what
