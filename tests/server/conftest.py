from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from waiting import GUARD_SECONDS


@pytest.fixture(autouse=True, scope="session")
def every_server_stops() -> Iterator[None]:
    yield
    for thread in threading.enumerate():
        if thread.name == "treadle-test-server":
            thread.join(GUARD_SECONDS)
            assert not thread.is_alive(), "a server did not stop"
