"""Words are shown as they come, once, and add up to the answer: every preset and mode on every surface.

Nothing is measured here: the model waits for each word to be shown before it writes the next one. How long they take is
measured by `python3 tasks.py measure live_view`, which writes `docs/live_view.md`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance import live
from conformance.live import IN_PROCESS, KEPT, LOOPS, OVER_HTTP, SCENARIOS, faults, staged
from conformance.modes import MODES, PRESETS
from server.serving import serving
from waiting import GUARD_SECONDS

VARIANTS = (*MODES, *PRESETS)
FEW = ("stream", "text", "text with markers", "terminal")
"""The surfaces on which every scenario is played in the suite; `measure live_view` plays all on all."""


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TERM", "xterm-256color")
    logger = logging.getLogger("treadle")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # what fails in a scenario is a part of it
    yield
    logger.setLevel(level)


@pytest.mark.parametrize("variant", VARIANTS)
def test_in_this_process(variant: str):
    found: list[str] = []
    for surface, watch in IN_PROCESS.items():
        for scenario in SCENARIOS if variant in LOOPS and surface in FEW else ("work",):
            found += faults(surface, variant, scenario, watch(staged(surface, variant, scenario, GUARD_SECONDS)))
    assert found == []


@pytest.mark.parametrize("surface", OVER_HTTP)
def test_over_http(surface: str):
    played = {variant: staged(surface, variant, "work", GUARD_SECONDS) for variant in ("loop", "streaming", "research")}
    with serving({name: made.agent for name, made in played.items()}) as client:
        found = [
            fault
            for variant, made in played.items()
            for fault in faults(surface, variant, "work", OVER_HTTP[surface](made, client, variant))
        ]
    assert found == []


def test_a_word_that_is_kept_back_is_found_and_so_is_an_answer_that_is_shown_twice():
    made = staged("stream", "loop", "work", 0.01)
    shown = live.seen(made.screen, live.words(live.ANSWER) * 2, 2)
    assert len(faults("stream", "loop", "work", shown)) == 5


def test_every_reason_is_in_the_table_of_the_documentation():
    page = (Path(__file__).resolve().parents[2] / "docs" / "live_view.md").read_text("utf-8")
    assert [one.reason for one in KEPT if one.reason not in page] == []
    assert [name for name in (*VARIANTS, *IN_PROCESS, *OVER_HTTP) if name not in page] == []
