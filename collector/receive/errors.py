"""Errors of receiving: each is one answer to a client (see `answers.py`).

CollectorError
├── BadBody                 the body is not an OTLP export
│   └── BodyTooLarge        it is larger than a limit: as sent, decompressed, or in spans
├── UnsupportedBody         its content type or encoding is not one pdscope reads
├── Unauthorized            no token, or not one pdscope knows
└── Unavailable             nothing wrong with the body: try again later
    ├── QueueFull           too much is waiting, or too much memory is in use
    └── TooFast             this source sends faster than it may
"""

from collector.errors import BadBody, CollectorError, Unavailable


class BodyTooLarge(BadBody):
    """The body is larger than the limit; the message names both sizes."""


class UnsupportedBody(CollectorError):
    """The content type or encoding is not one pdscope reads; the message lists those it does."""


class Unauthorized(CollectorError):
    """The sender gave no token, or not one pdscope knows."""


class QueueFull(Unavailable):
    """More waits to be stored, or more memory is in use, than may be."""


class TooFast(Unavailable):
    """The source sends faster than one source may."""
