"""The programs of the study on local models, which import each other by their bare names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "local_study"


@contextmanager
def program_of_study(monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[Any]:
    """It and all that it imported of its folder are forgotten afterwards."""
    monkeypatch.syspath_prepend(FOLDER)
    before = set(sys.modules)
    yield import_module(name)
    for other in set(sys.modules) - before:
        if "local_study" in str(getattr(sys.modules[other], "__file__", "")):
            del sys.modules[other]
