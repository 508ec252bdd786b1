"""Facts of one KV hand-off, as the convention names them."""

from dataclasses import dataclass, fields

from collector import conventions as names


@dataclass(frozen=True, slots=True)
class KvHandoff:
    """What is known of a hand-off; None means not known and is left out, never sent as 0.

    `post_ms` is the time spent posting descriptors, `wait_ms` the wait before the first byte was posted,
    `link_gb_s` the line rate of the path in 1e9 bytes/s.
    """

    transfer_id: str | None = None
    bytes: int | None = None
    tokens: int | None = None
    tokens_already_held: int | None = None
    descriptors: int | None = None
    connector: str | None = None
    transport: str | None = None
    source: str | None = None
    destination: str | None = None
    post_ms: float | None = None
    wait_ms: float | None = None
    lease_expires_unix_nano: int | None = None
    status: str | None = None
    link_gb_s: float | None = None

    def __post_init__(self) -> None:
        if self.status is not None and self.status not in names.KV_STATUSES:
            raise ValueError(f"KV status {self.status!r} is none of {', '.join(names.KV_STATUSES)}")

    def attributes(self) -> dict[str, str | int | float]:
        """The `pd.kv.*` attributes that are known."""
        known = {"pd.kv." + item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in known.items() if value is not None}
