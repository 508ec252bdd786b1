"""Which pdscope a command asks: a running one, or one brought up for this command alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from analyzer.client import Client
from collector.errors import ConfigError
from collector.settings import Settings


@contextmanager
def connect(api: str | None, settings: Settings, create: bool = False) -> Iterator[Client]:
    """Yield a client of the pdscope at `api`, else of the one that holds the data directory, else of our own.

    Raises ConfigError when there is none and the directory holds no store, unless it may be created.
    """
    from collector.store.lock import running_api

    address = api or running_api(settings.data)
    if address:
        yield Client(address, settings.token)
        return
    if not create and not (settings.data / "pdscope.lock").exists():
        raise ConfigError(
            f"no pdscope runs on {settings.data} and there is no store in it; "
            "start `pdscope serve`, or give --data or --api"
        )
    with _own(settings) as client:
        yield client


@contextmanager
def _own(settings: Settings) -> Iterator[Client]:
    """Open the store in this process and answer on a free loopback port."""
    from dataclasses import replace

    from analyzer.cli.process import Process
    from collector.settings import Address

    process = Process(replace(settings, api=Address("127.0.0.1", 0)), receive=False)
    process.start()
    try:
        yield Client(process.url, settings.token)
        process.settle()
    finally:
        process.stop()


def expand(paths: list[Path]) -> list[Path]:
    """Files named or lying in named directories, sorted. Raises ConfigError for a path that is not there."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += sorted(found for found in path.rglob("*") if found.is_file() and found.name[0] != ".")
        elif path.is_file():
            files.append(path)
        else:
            raise ConfigError(f"{path}: no such file or directory")
    return files
