import asyncio

import pytest
import uvloop


@pytest.fixture
def run(caplog):
    """Run a coroutine with a bound on its time; nothing may be logged as a warning or an error."""

    def run(coroutine):
        uvloop.run(asyncio.wait_for(coroutine, 30))
        assert [record.getMessage() for record in caplog.records if record.levelname != "INFO"] == []

    return run
