"""Errors of receiving: each is one answer to a client (see `answers.py`).

CollectorError
├── BadBody                 the body is not an OTLP export
│   └── BodyTooLarge        it is larger than a limit, as sent or decompressed
├── UnsupportedBody         its content type or encoding is not one pdscope reads
└── Unavailable             nothing wrong with the body: try again later
    └── QueueFull           too much is waiting to be stored
"""

from collector.errors import BadBody, CollectorError, Unavailable


class BodyTooLarge(BadBody):
    """The body is larger than the limit; the message names both sizes."""


class UnsupportedBody(CollectorError):
    """The content type or encoding is not one pdscope reads; the message lists those it does."""


class QueueFull(Unavailable):
    """More bytes wait to be stored than the queue may hold."""
