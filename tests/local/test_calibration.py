"""The thresholds of a model, from what it wants at decisions whose right outcome is known."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest

from kit import go
from treadle._dialects.registry import choose_dialect
from treadle._local.calibration import Calibration, Read, calibrate, fit, rows
from treadle._local.thresholds import DEFAULT
from treadle._models.catalog import probed_profiles
from treadle._models.catalog.probe import Report
from treadle._models.catalog.probed_profiles import (
    ProbedProfile,
    keep_thresholds,
    remember,
    save_probed_profile,
    with_probed_facts,
)
from treadle._types.errors import ConfigError, ModelError
from treadle._types.messages import UserMessage, text_of
from treadle._types.profile import DecisionThresholds, Profile
from treadle._types.request import Reply, Request, StreamPart

SMALL = Profile(grammar=True, json_schema=True, logprobs=True, parameters=1.5)


class Wanting:
    """Wants an answer with a probability that depends on what is right, by what it is shown."""

    name, profile = "wanting", SMALL

    def __init__(self, profile: Profile = SMALL, silent: bool = False) -> None:
        self.profile = profile
        self.requests: list[Request] = []
        self.silent = silent
        self.right = {(row.question, bool(row.done), len(row.done)): row.right for row in rows()}

    async def stream(self, request: Request) -> AsyncGenerator[StreamPart]:
        self.requests.append(request)
        texts = [text_of(message.content) for message in request.messages if isinstance(message, UserMessage)]
        question, asked, _ = texts[0].partition("\n\nIs there a tool")
        if asked:
            yes = {"call": 0.7, "answer": 0.6}[self.right[question, False, 0]]
            yield Reply('{"fits": true}', options={} if self.silent else {" true": yes, " false": 1 - yes})
            return
        results = len(texts) - 1
        right = self.right[texts[0], bool(results), results]
        share = {"call": 0.05, "answer": 0.3}[right] if results else {"call": 0.4, "answer": 0.8}[right]
        options = {} if self.silent else {"final": share, "other": 1 - share}
        yield Reply('{"action": "', finish="length", options=options)

    async def aclose(self) -> None: ...


def test_the_thresholds_stand_between_what_is_wanted_and_what_is_not():
    model = Wanting()
    seen: list[tuple[int, int]] = []
    found = go(calibrate(model, on_read=lambda number, count: seen.append((number, count))))
    assert found.thresholds == DecisionThresholds(0.6, 0.175, "direct", fits=0.65)
    assert (found.first.right, found.first.of, found.later.right, found.later.of) == (32, 32, 24, 24)
    assert found.later.right_at_half == 12
    assert seen[-1] == (len(rows()), len(rows()))
    assert len(model.requests) == len(rows()) + 32, "one request for each decision, one more about the tools"
    assert {request.max_tokens for request in model.requests} == {16, 12}


def test_a_model_that_always_says_yes_is_not_asked_about_the_tools():
    class Eager(Wanting):
        async def stream(self, request: Request) -> AsyncGenerator[StreamPart]:
            async for part in super().stream(request):
                yields = isinstance(part, Reply) and "fits" in part.text
                yield Reply('{"fits": true}', options={" true": 1.0}) if yields else part

    class Silent(Wanting):
        async def stream(self, request: Request) -> AsyncGenerator[StreamPart]:
            async for part in super().stream(request):
                yields = isinstance(part, Reply) and "fits" in part.text
                yield Reply('{"fits": true}') if yields else part

    for model in (Eager(), Silent()):
        found = go(calibrate(model))
        assert found.fits is None
        assert found.thresholds == DecisionThresholds(0.6, 0.175, "direct")


def test_the_rows_are_of_both_kinds_and_odd():
    for later in (False, True):
        kinds = [row.right for row in rows() if bool(row.done) is later]
        assert kinds.count("call") == kinds.count("answer")
    for row in rows():
        number = re.search(r"_(\d+)(?:-\d+-\d+)?$", row.id)
        assert number is not None
        assert int(number[1]) % 2 == 1, row.id


def test_a_model_that_cannot_tell_is_refused():
    for facts in ({"logprobs": True}, {"grammar": True}):
        with pytest.raises(ConfigError, match="cannot be calibrated"):
            go(calibrate(Wanting(Profile(**facts))))
    with pytest.raises(ConfigError, match="too few probabilities"):
        go(calibrate(Wanting(silent=True)))


def test_a_model_with_its_adapter_is_refused():
    """It has learnt such rows, and what would be stored would have its dialect decide, which it does not."""
    taught = msgspec.structs.replace(SMALL, adapter="taught")
    model = Wanting(taught)
    with pytest.raises(ConfigError, match=r"its adapter taught.*--no-adapter"):
        go(calibrate(model))
    assert model.requests == []


def test_a_failure_of_the_model_ends_it():
    class Broken(Wanting):
        async def stream(self, request: Request) -> AsyncGenerator[StreamPart]:
            raise ModelError("gone")
            yield Reply("")

    with pytest.raises(ModelError, match="gone"):
        go(calibrate(Broken()))


def test_the_widest_range_counts():
    reads = [Read("", False, "call", p / 100) for p in range(8)] + [
        Read("", False, "answer", p / 100) for p in range(40, 48)
    ]
    assert fit(reads).threshold == 0.235
    mixed = [Read("", False, "call", 0.9), *reads, Read("", False, "answer", 0.01)]
    assert (fit(mixed).right, fit(mixed).of) == (16, 18)


def test_they_are_kept_beside_what_else_is_known(tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TREADLE_STATE", str(tmp_path))
    remember(ProbedProfile("local", "toy", "", abilities={"json_mode": False}, probed=1.0), store=True)
    for adapter in ("", "taught"):
        keep_thresholds(DecisionThresholds(0.4, 0.1, "direct", adapter), "local", "toy", "")
    keep_thresholds(DecisionThresholds(0.3, 0.1), "local", "toy", "")
    plain = with_probed_facts(SMALL, "local", "toy", "")
    assert (plain.decide, plain.json_mode) == (DecisionThresholds(0.3, 0.1), False)
    taught = with_probed_facts(Profile(adapter="taught"), "local", "toy", "")
    assert taught.decide == DecisionThresholds(0.4, 0.1, "direct", "taught")


def test_what_is_found_out_later_leaves_them_as_they_are():
    keep_thresholds(DecisionThresholds(0.3, 0.2), "openai", "m", "here")
    probed = Report("openai", "m", "here", (), "schema", "", probed=time.time()).probed_profile()
    save_probed_profile(probed)  # as `treadle doctor` does
    found = with_probed_facts(SMALL, "openai", "m", "here")
    assert (found.decide, found.dialect) == (DecisionThresholds(0.3, 0.2), "schema")
    refused = ProbedProfile("openai", "m", "here", None, {"tool_call": False}, probed=time.time(), refused=True)
    for store in (True, False):
        remember(refused, store=store)
        assert with_probed_facts(SMALL, "openai", "m", "here").decide == DecisionThresholds(0.3, 0.2)


def test_they_outlive_a_refusal_of_tools(monkeypatch: pytest.MonkeyPatch):
    before = time.time() - 86_400
    remember(
        ProbedProfile("openai", "m", "here", abilities={"tool_call": False}, probed=before, refused=True), store=True
    )
    keep_thresholds(DecisionThresholds(0.3, 0.2), "openai", "m", "here")
    able = msgspec.structs.replace(SMALL, tool_call=True)
    found = with_probed_facts(able, "openai", "m", "here")
    assert (found.decide, found.tool_call) == (DecisionThresholds(0.3, 0.2), False)
    monkeypatch.setattr(probed_profiles, "REFUSAL_DAYS", 0.5)
    found = with_probed_facts(able, "openai", "m", "here")
    assert (found.decide, found.tool_call) == (DecisionThresholds(0.3, 0.2), True)


def test_a_tiny_model_with_thresholds_decides_by_itself():
    tiny = Profile(grammar=True, json_schema=True, logprobs=True, tiny=True)
    assert choose_dialect("auto", tiny).name == "brief"
    assert choose_dialect("auto", msgspec.structs.replace(tiny, decide=DEFAULT)).name == "direct"


def test_a_calibration_is_for_one_dialect_and_adapter():
    fitted = fit([Read("", False, "call", 0.1)] * 8 + [Read("", False, "answer", 0.9)] * 8)
    found = Calibration(fitted, fitted, fitted, "compact", "taught", [])
    assert found.thresholds == DecisionThresholds(0.5, 0.5, "compact", "taught", 0.5)
