"""One run, however it is started: every mode, preset and surface plays the same scenarios to the same outcome.

Modes and presets are compared with the loop of the default preset, awaited; surfaces with the same mode or preset,
awaited. Every difference is listed with its reason in `differences.py`, and one that is gone must leave the list.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.terminal import treadle
from conformance import surfaces
from conformance.differences import DIFFERENCES, NOT_OFFERED
from conformance.modes import DEPTH, MODES, PRESETS, build, preset_of
from conformance.scenarios import QUESTION, SCENARIOS, SECRET, Scene
from conformance.surfaces import Outcome, Served, shown_by
from server.serving import serving
from treadle import Agent, presets
from treadle._plugins.memory.store import MemoryStore
from treadle._safety.secrets import known_secrets

VARIANTS = (*MODES, *PRESETS)
IN_PROCESS = {"stream": surfaces.by_stream, "deltas": surfaces.by_deltas, "text": surfaces.by_text}
OVER_HTTP = {"sse": Served.by_sse, "facade": Served.by_facade, "facade stream": Served.by_facade_stream}
SURFACES = ("stream", "deltas", "text", "sse", "facade", "facade stream", "terminal")
COMPARED = ("answer", "stop_reason", "success", "raised", "iterations", "work", "unpaid", "unread")
"""What modes and presets are compared by; they may spend more, and their own log is their own."""


class Keeper:
    """Somebody who keeps the secret: what other tests keep secret is forgotten before each test."""


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch, own_secrets: None) -> Iterator[None]:
    monkeypatch.setenv("TREADLE_CONFIG", "")
    logger = logging.getLogger("treadle")
    before = logger.propagate, list(logger.handlers), logger.level
    keeper = Keeper()
    known_secrets.keep(keeper, "secret", [SECRET], shortest=4)
    logger.setLevel(logging.CRITICAL)  # failures are a part of the scenarios
    yield
    logger.propagate, logger.handlers[:] = before[:2]
    logger.setLevel(before[2])


Awaited = tuple[Outcome, Scene]
_awaited: dict[tuple[str, str], Awaited] = {}


def awaited(variant: str, name: str) -> Awaited:
    if (variant, name) not in _awaited:
        agent, scene = build(variant, SCENARIOS[name])
        _awaited[variant, name] = surfaces.by_await(agent, scene, SCENARIOS[name], DEPTH.get(variant, 0)), scene
    return _awaited[variant, name]


Differences = dict[str, tuple[str, ...]]


def remembering_nothing(play: Callable[[str], Outcome], name: str) -> Outcome:
    """Play a scenario without what earlier ones left in the memory."""
    MemoryStore().path.unlink(missing_ok=True)
    return play(name)


def compared(way: str, expected: Callable[[str], Outcome], seen: Callable[[str], Outcome]) -> None:
    """Play all scenarios; what differs must be what is listed."""
    found: Differences = {}
    details: list[str] = []
    for name in SCENARIOS:
        if (name, way) in NOT_OFFERED:
            continue
        want = remembering_nothing(expected, name)
        got = remembering_nothing(seen, name)
        fields = tuple(field for field in Outcome.__struct_fields__ if getattr(want, field) != getattr(got, field))
        if fields:
            found[name] = fields
            details += [f"{name}: {field}: {getattr(want, field)!r} -> {getattr(got, field)!r}" for field in fields]
    listed = {name: entry.fields for (name, other), entry in DIFFERENCES.items() if other == way}
    assert found == listed, "\n".join(["differences of " + way, *details])


def mode_view(outcome: Outcome) -> Outcome:
    return Outcome(**{field: getattr(outcome, field) for field in COMPARED})


@pytest.mark.parametrize("variant", VARIANTS[1:])
def test_modes_and_presets_are_the_same_run(variant: str):
    compared(
        variant, lambda name: mode_view(awaited("loop", name)[0]), lambda name: mode_view(awaited(variant, name)[0])
    )


@pytest.mark.parametrize("preset", [*PRESETS, "code"])
@pytest.mark.parametrize("mode", [mode for mode in MODES if DEPTH[mode]])
def test_every_preset_in_every_mode(mode: str, preset: str):
    """Beyond what differs between the loop and the mode, which is listed once for all presets."""
    known = {name: entry.fields for (name, other), entry in DIFFERENCES.items() if other == mode}
    always = ("iterations",) if mode == "child" else ()

    def view(name: str, outcome: Outcome) -> Outcome:
        fields = {*COMPARED} - {*known.get(name, ()), *always}
        return Outcome(**{field: getattr(outcome, field) for field in fields})

    def seen(name: str) -> Outcome:
        agent, scene = build(mode, SCENARIOS[name], preset)
        return view(name, surfaces.by_await(agent, scene, SCENARIOS[name], DEPTH[mode]))

    compared(f"{mode} with {preset}", lambda name: view(name, awaited(preset, name)[0]), seen)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("surface", IN_PROCESS)
def test_surfaces_in_this_process(surface: str, variant: str):
    def seen(name: str) -> Outcome:
        agent, scene = build(variant, SCENARIOS[name])
        return IN_PROCESS[surface](agent, scene, SCENARIOS[name], DEPTH.get(variant, 0))

    compared(surface, lambda name: shown_by(surface, awaited(variant, name)[0]), seen)


def served_name(variant: str, name: str) -> str:
    return f"{variant}-{list(SCENARIOS).index(name)}"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """One server with an agent for each scenario in each variant."""
    agents: dict[str, Agent] = {}
    scenes: dict[str, Scene] = {}
    for variant in VARIANTS:
        for name, scenario in SCENARIOS.items():
            agents[served_name(variant, name)], scenes[served_name(variant, name)] = build(variant, scenario)
    with serving(agents) as client:
        yield Served(client, scenes)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("surface", OVER_HTTP)
def test_surfaces_over_http(surface: str, variant: str, served: Served):
    compared(
        surface,
        lambda name: shown_by(surface, awaited(variant, name)[0]),
        lambda name: OVER_HTTP[surface](served, served_name(variant, name), SCENARIOS[name]),
    )


@pytest.mark.parametrize("variant", [variant for variant in VARIANTS if not DEPTH.get(variant, 0)])
def test_the_terminal_program(variant: str, tmp_path: Path):
    def seen(name: str) -> Outcome:
        folder = tmp_path / served_name(variant, name)
        folder.mkdir()
        return surfaces.by_terminal(folder, preset_of(variant), awaited(variant, name)[1].replies, SCENARIOS[name])

    compared("terminal", lambda name: shown_by("terminal", awaited(variant, name)[0]), seen)


@pytest.mark.parametrize("name", ["one call", "limit", "permanent model error"])
def test_the_terminal_program_in_a_process_of_its_own(name: str, tmp_path: Path):
    outcome, scene = awaited("loop", name)
    surfaces.write_script(tmp_path, scene.replies)
    arguments = surfaces.arguments_of(tmp_path, "default", SCENARIOS[name])
    here = str(Path(__file__).resolve().parent.parent)
    paths = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
    done = treadle(tmp_path, "run", QUESTION, *arguments, PYTHONPATH=paths)
    seen = Outcome(answer=done.out.removesuffix("\n"), stop_reason=str(done.code))
    assert seen == shown_by("terminal", outcome), done.err


# ---- the suite itself


def test_every_preset_and_enough_scenarios_are_in_the_suite():
    assert {preset_of(variant) for variant in VARIANTS} == set(presets.names())
    assert len(SCENARIOS) >= 20
    ways = {*VARIANTS, *SURFACES, *(f"{mode} with {preset}" for mode in MODES for preset in PRESETS)}
    for name, way in (*DIFFERENCES, *NOT_OFFERED):
        assert name in SCENARIOS
        assert way in ways


def test_a_difference_that_is_not_listed_is_found_and_so_is_one_that_is_gone():
    def same(name: str) -> Outcome:
        return Outcome(answer=name)

    def other(name: str) -> Outcome:
        return Outcome(answer="?" if name == "limit" else name)

    compared("nowhere", same, same)
    with pytest.raises(AssertionError, match=r"limit: answer: 'limit' -> '\?'"):
        compared("nowhere", same, other)
    with pytest.raises(AssertionError):
        compared("strict", same, same)
