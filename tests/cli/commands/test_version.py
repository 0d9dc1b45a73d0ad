"""`treadle version`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import treadle


def test_the_version_and_what_it_runs_on(inside: Callable[..., Any]):
    done = inside("version")
    assert done.code == 0
    assert done.out.startswith(f"treadle {treadle.__version__} (Python 3.")
