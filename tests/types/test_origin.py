"""The one label."""

from __future__ import annotations

from typing import get_args

from treadle._types.origin import STRANGERS, Origin


def test_strangers_are_among_the_origins():
    assert set(get_args(Origin)) > STRANGERS
