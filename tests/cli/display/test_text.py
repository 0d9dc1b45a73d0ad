"""Values as a person reads them."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("text", ["90", "15m", "12h", "30d", "4w", "1.5h"])
def test_time_spans(text: str):
    from treadle._cli.display.text import duration

    assert duration(text) == {"90": 90, "15m": 900, "12h": 43200, "30d": 2592000, "4w": 2419200, "1.5h": 5400}[text]
