"""Fixtures of the tests of model files: an empty cache, a model hub on loopback, a folder as the source of packages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from local.hub import Hub

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a model hub that cannot be reached."""
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TREADLE_WEIGHTS", raising=False)
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)
    return tmp_path / "cache" / "models"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with Hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is pip's only source of packages."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder
