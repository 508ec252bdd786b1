"""Trace and span ids from the operating system's entropy.

Engines seed Python's `random` alike in every worker, so the SDK's default ids collide across processes.
"""

import secrets

from opentelemetry.sdk.trace.id_generator import IdGenerator


class EntropyIds(IdGenerator):
    """Ids that no seed can repeat."""

    def generate_span_id(self) -> int:
        """A non-zero 64-bit id."""
        return secrets.randbits(64) or 1

    def generate_trace_id(self) -> int:
        """A non-zero 128-bit id."""
        return secrets.randbits(128) or 1

    def is_trace_id_random(self) -> bool:
        """Every bit of a trace id is random (W3C trace context, level 2)."""
        return True
