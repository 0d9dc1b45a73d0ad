"""Options that several commands share."""

from __future__ import annotations


def test_presets_and_engine_agree():
    from treadle._cli.setup.options import PRESETS
    from treadle._flows import presets

    assert set(PRESETS) == set(presets.names())
