"""Connecting to ClickHouse, the schema, and the insert that lets ClickHouse parse OTLP."""

from collector.store.keep_rows import keep_rows
from collector.store.store import InsertResult, Store

__all__ = ["InsertResult", "Store", "keep_rows"]
