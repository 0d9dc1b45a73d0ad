"""The matrix of the documentation is the journeys there are."""

from __future__ import annotations

import re
from pathlib import Path

from script_modules import load_script

ROOT = Path(__file__).resolve().parents[2]


def test_the_matrix_is_of_the_journeys_there_are():
    made = load_script("journeys").matrix()
    assert (ROOT / "docs" / "journeys.md").read_text("utf-8") == made, "python3 scripts/journeys.py"
    assert len(re.findall(r"\| [1-9]\d* (?=\|)", made)) >= 25
