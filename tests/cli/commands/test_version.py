"""`treadle version`."""

from __future__ import annotations

import treadle
from cli.terminal import Inside


def test_the_version_and_what_it_runs_on(inside: Inside):
    done = inside("version")
    assert done.code == 0
    assert done.out.startswith(f"treadle {treadle.__version__} (Python 3.")
