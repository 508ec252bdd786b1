import asyncio

import pytest


@pytest.fixture
def run():
    """Run a coroutine with a bound on its time."""
    return lambda coroutine: asyncio.run(asyncio.wait_for(coroutine, 30))
