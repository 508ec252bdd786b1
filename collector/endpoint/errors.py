"""Errors of the ClickHouse-compatible endpoint, with the codes ClickHouse clients know.

CollectorError
└── QueryError           answered with its code and HTTP status
    ├── Refused          the statement is not one the endpoint answers; nothing was read
    ├── NoSuchDatabase   the store has one database, `default`
    ├── Unauthorized     no token, or a wrong one
    ├── BadRequest       not a request a ClickHouse client sends
    ├── Busy             too many queries at once
    ├── TooLarge         the result is larger than allowed
    └── Failed           the engine's own error, passed on
"""

from collector.errors import CollectorError

_STATUS = {60: 404, 81: 404, 159: 408, 241: 507, 307: 413, 396: 413}
"""HTTP status of the engine's errors that are not simply a wrong statement."""


class QueryError(CollectorError):
    """What went wrong with a query. `code` is ClickHouse's number, `name` its name, `status` HTTP's."""

    code = 1002
    name = "UNKNOWN_EXCEPTION"
    status = 500

    def body(self) -> bytes:
        """The answer as ClickHouse words it, so that its clients find the code."""
        return f"Code: {self.code}. DB::Exception: {self} ({self.name})\n".encode()


class Refused(QueryError):
    """The statement is not one the endpoint answers; nothing was read."""

    code = 497
    name = "ACCESS_DENIED"
    status = 403


class NoSuchDatabase(QueryError):
    """The store has one database, `default`."""

    code = 81
    name = "UNKNOWN_DATABASE"
    status = 404


class Unauthorized(QueryError):
    """No token, or a wrong one."""

    code = 516
    name = "AUTHENTICATION_FAILED"
    status = 401


class BadRequest(QueryError):
    """The HTTP request is not one a ClickHouse client sends."""

    code = 36
    name = "BAD_ARGUMENTS"
    status = 400


class Busy(QueryError):
    """As many queries as allowed are running."""

    code = 202
    name = "TOO_MANY_SIMULTANEOUS_QUERIES"
    status = 503


class TooLarge(QueryError):
    """The result is larger than allowed."""

    code = 396
    name = "TOO_MANY_ROWS_OR_BYTES"
    status = 413


class Failed(QueryError):
    """The engine's own error, passed on as it words it."""

    def __init__(self, text: str):
        """text: what the engine said, from `Code: …` on where it says one."""
        start = max(text.find("Code: "), 0)
        self._text = text[start:].strip()
        super().__init__(self._text)
        digits = self._text[6:].partition(".")[0]
        self.code = int(digits) if self._text.startswith("Code: ") and digits.isdigit() else 1002
        self.status = _STATUS.get(self.code, 400 if self.code != 1002 else 500)

    def body(self) -> bytes:
        """The engine's own words."""
        return self._text.encode() + b"\n"
