"""Row policies of a ClickHouse server: tenants that read it directly see their own requests.

The statements are in `row_policies/`, one a file. They need a user that may manage access, which pdscope's
own need not be; so they are no migrations of the schema: `pdscope migrate --row-policies` shows or runs them.
"""

import re
from pathlib import Path

from collector.errors import ConfigError
from collector.store.place import Embedded, Server

_FILES = Path(__file__).parent / "row_policies"
_HEADS = re.compile(r"((?:CREATE ROLE|CREATE ROW POLICY) IF NOT EXISTS \w+|GRANT)")


def row_policies(place: Embedded | Server) -> list[str]:
    """The statements, in order. Raises ConfigError for an embedded store, which has no users."""
    if isinstance(place, Embedded):
        raise ConfigError(
            "row policies are for a ClickHouse server (--store); the embedded store is read through REST, "
            "which keeps tenants apart by their tokens"
        )
    statements = [path.read_text("utf-8").strip() for path in sorted(_FILES.glob("*.sql"))]
    if not place.cluster:
        return statements
    # The name is a plain word: the schema was made for it.
    return [_HEADS.sub(rf"\1 ON CLUSTER {place.cluster}", sql, count=1) for sql in statements]
