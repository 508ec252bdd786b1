"""A read-only ClickHouse over HTTP: any ClickHouse client reads the published views of the embedded store."""

from collector.endpoint.server import ClickHouseEndpoint

__all__ = ["ClickHouseEndpoint"]
