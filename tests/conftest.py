"""Shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Neither the journal nor the stored profiles of whoever runs the tests are any of their business."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("TREADLE_STATE", str(folder))
    return folder
