"""Finds the thresholds of a model: from which probability of an answer on it wants one, rather than a tool.

The tasks are fixed: rows of the Berkeley function-calling leaderboard (`calibration.jsonl.xz`; package `bfcl-eval`,
Apache-2.0) with odd numbers, so that those with even numbers can test what comes of it. In half of the first decisions
a tool is right, in half an answer; after results likewise: of two calls one has been made, or both (the results are
made up, the leaderboard has none). Each is one request of a few tokens, which the engine itself writes; before any
result there is a second one, about whether a tool fits at all.
"""

from __future__ import annotations

import argparse
import lzma
from collections.abc import AsyncGenerator, Callable, Sequence
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from treadle._agent.agent import Agent
from treadle._dialects.base import Decision
from treadle._dialects.registry import choose_dialect, get_dialect
from treadle._dialects.schema import SchemaDialect
from treadle._engine.settings import Preset, Settings
from treadle._local.policy.fit_question import AFTER, FORMAT, about_tools, fit_probability
from treadle._local.policy.fit_question import MAX_TOKENS as FITTING_TOKENS
from treadle._local.policy.policy import COMPONENT
from treadle._models.base import Model, complete
from treadle._models.transport.decision import answer_probability
from treadle._tools.base import Tool
from treadle._types.errors import ConfigError, TreadleError
from treadle._types.messages import ToolCall
from treadle._types.profile import DecisionThresholds, Profile
from treadle._types.request import Reply, Request, StreamPart, ToolSchema

MAX_TOKENS, MAX_TOKENS_THINKING = 16, 160
"""To the decision: the key of the action, or a thought before it."""
LEAST_READ = 8
"""From fewer decisions of a kind no threshold is derived."""
BETTER_THAN_CHANCE = 0.65
"""Part of the decisions that a threshold of the tools has to get right to be worth a request."""


class Done(Struct, frozen=True):
    """A call that was made before the decision, and its result."""

    tool: str
    args: dict[str, Any]
    result: str


class Row(Struct, frozen=True):
    """One decision. `right` says what a perfect model does next."""

    id: str
    question: str
    tools: list[ToolSchema]
    right: Literal["call", "answer"]
    done: list[Done] = []


class Read(Struct, frozen=True):
    """What the model wanted at one decision."""

    id: str
    later: bool
    right: Literal["call", "answer"]
    probability: float
    """Of an answer."""


class Fit(Struct, frozen=True):
    """A threshold, and how many of the decisions that it was derived from are right with it, and at one half."""

    threshold: float
    right: int
    of: int
    right_at_half: int


class Calibration(Struct, frozen=True):
    first: Fit
    later: Fit
    fits: Fit | None
    """Whether a tool is for the question, of all decisions before a result; None when the model cannot tell."""
    dialect: str
    adapter: str
    reads: list[Read]

    @property
    def thresholds(self) -> DecisionThresholds:
        fits = self.fits.threshold if self.fits is not None else None
        return DecisionThresholds(self.first.threshold, self.later.threshold, self.dialect, self.adapter, fits)


def rows() -> list[Row]:
    text = lzma.decompress((files("treadle._local") / "calibration.jsonl.xz").read_bytes()).decode()
    return [msgspec.json.decode(line, type=Row) for line in text.splitlines() if line]


async def calibrate(model: Model, *, on_read: Callable[[int, int], None] | None = None) -> Calibration:
    """Read what the model wants at each decision, and derive its thresholds. `on_read` is told how many of how many."""
    refuse_unsuitable(model)
    chosen = choose_dialect("auto", model.profile, allow_native=False).name
    dialect = chosen if chosen in ("direct", "compact", "schema") else "direct"
    asked = rows()
    reads: list[Read] = []
    fits: list[Read] = []
    for number, row in enumerate(asked, 1):
        probability = await _wanted(model, row, dialect)
        if probability is not None:
            reads.append(Read(row.id, bool(row.done), row.right, round(probability, 4)))
        if not row.done and (fitting := await _fitting(model, row)) is not None:
            fits.append(Read(row.id, False, row.right, round(1 - fitting, 4)))
        if on_read is not None:
            on_read(number, len(asked))
    first, later = (fit([read for read in reads if read.later is after]) for after in (False, True))
    return Calibration(first, later, fit_of_tools(fits), dialect, model.profile.adapter, reads)


def refuse_unsuitable(model: Model) -> None:
    """An error for a model of which no thresholds can be found."""
    if not model.profile.constrained or not model.profile.logprobs:
        lacks = "whose replies can be constrained" if model.profile.logprobs else "that tells probabilities"
        raise ConfigError(
            f"{model.name} cannot be calibrated: that needs a model on this machine, or behind a server, {lacks} "
            "(llama.cpp, vLLM, Ollama)"
        )
    if model.profile.adapter:
        raise ConfigError(
            f"{model.name} cannot be calibrated with its adapter {model.profile.adapter}: the adapter has learnt the "
            "decisions that are asked here, and decides by itself. Calibrate the model without it: --no-adapter for a "
            "local model, or a server that was started without it"
        )


def fit_of_tools(reads: Sequence[Read]) -> Fit | None:
    """The threshold for a yes; `reads` have the probability of a no. None where a model said too little, or was hardly
    ever right."""
    if min(sum(read.right == kind for read in reads) for kind in ("call", "answer")) < LEAST_READ:
        return None
    found = fit(reads)
    if found.right < BETTER_THAN_CHANCE * found.of:
        return None
    return msgspec.structs.replace(found, threshold=round(1 - found.threshold, 3))


def fit(reads: Sequence[Read]) -> Fit:
    """The threshold that gets the same share of both kinds right as nearly as it can, and most of them; in the middle
    of the range in which it does."""
    kinds = {kind: [read.probability for read in reads if read.right == kind] for kind in ("call", "answer")}
    if any(len(found) < LEAST_READ for found in kinds.values()):
        raise ConfigError(
            "the thresholds cannot be found: the server has told too few probabilities "
            f"({', '.join(f'{len(found)} where {kind} is right' for kind, found in kinds.items())})"
        )

    def share(threshold: float) -> float:
        calls = sum(p < threshold for p in kinds["call"]) / len(kinds["call"])
        return calls + sum(p >= threshold for p in kinds["answer"]) / len(kinds["answer"])

    edges = sorted({0.0, 1.0, *(read.probability for read in reads)})
    middles = [(low + high) / 2 for low, high in pairwise(edges)]
    best = max(map(share, middles))
    good = [middle for middle in middles if share(middle) > best - 1e-9]
    widest = max(good, key=lambda middle: _width(middle, edges))
    right, at_half = (
        sum((read.probability >= threshold) == (read.right == "answer") for read in reads)
        for threshold in (widest, 0.5)
    )
    return Fit(round(widest, 3), right, len(reads), at_half)


def _width(middle: float, edges: Sequence[float]) -> float:
    return min(edge for edge in edges if edge > middle) - max(edge for edge in edges if edge < middle)


async def _wanted(model: Model, row: Row, dialect: str) -> float | None:
    """How probable an answer is where the row's decision stands; None when the model did not say."""
    asked = _Asked(model, row, dialect)
    tools = [_tool(schema, [done.result for done in row.done if done.tool == schema.name]) for schema in row.tools]
    settings = Settings(dialect=dialect, max_iterations=len(row.done) + 2, selection_threshold=None)
    agent = Agent(asked, tools, preset=Preset("calibration", settings))  # no guard has a say in it
    try:
        await agent.run(row.question)
    except TreadleError:
        if asked.failure is not None:
            raise asked.failure from None
    if asked.failure is not None:
        raise asked.failure
    return asked.probability


async def _fitting(model: Model, row: Row) -> float | None:
    """How probable the model finds it that one of the row's tools is for its question."""
    messages = about_tools(row.tools, row.question)
    request = Request(
        messages, format=FORMAT, temperature=0.0, max_tokens=FITTING_TOKENS, component=COMPONENT, decision_after=AFTER
    )
    return fit_probability((await complete(model, request)).options)


def _tool(schema: ToolSchema, results: list[str]) -> Tool:
    left = iter(results)

    def execute(**_: Any) -> str:
        return next(left, "no result")

    return Tool(
        schema.name, schema.description, schema.parameters, execute, effect="pure", takes_extras=frozenset[str]()
    )


class _Asked:
    """The model, asked for the one decision alone: calls before it are played, and what follows it is not needed."""

    provider = "calibration"

    def __init__(self, model: Model, row: Row, dialect: str) -> None:
        self.name = model.name
        neutral = DecisionThresholds(0.0, 0.0, dialect, model.profile.adapter)
        self.profile: Profile = msgspec.structs.replace(model.profile, decide=neutral)
        self.probability: float | None = None
        self.failure: Exception | None = None
        self._model = model
        self._writer = get_dialect(dialect)
        self._script = [Decision(calls=(ToolCall("", done.tool, done.args),)) for done in row.done]

    async def stream(self, request: Request) -> AsyncGenerator[StreamPart]:
        assert isinstance(self._writer, SchemaDialect)
        if self._script:
            yield Reply(self._writer.write(self._script.pop(0)))
            return
        if self.probability is None and self.failure is None and request.decision_after:
            tokens = MAX_TOKENS_THINKING if self._writer.has_thought else MAX_TOKENS
            try:
                reply = await complete(
                    self._model, request.replace(max_tokens=tokens, temperature=0.0, answer_from=None)
                )
            except Exception as error:
                self.failure = error
            else:
                if reply.options:
                    self.probability = answer_probability(reply.options, request.decision_names)
        yield Reply(self._writer.write(Decision(answer="-", task_successful=True)))

    async def aclose(self) -> None:
        """The model is the caller's: it stays open."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--calibrate",
        action="store_true",
        help="for a small model: find its decision thresholds (minutes)",
    )
    parser.add_argument(
        "--no-adapter",
        action="store_true",
        help="with --calibrate: a local model without its adapter",
    )


def model_options(args: argparse.Namespace, name: str) -> dict[str, Any]:
    """How the model is built that is calibrated."""
    if not args.no_adapter:
        return {}
    if not name.startswith("local:"):
        raise ConfigError("--no-adapter: only a model in this process (local:NAME) can be loaded without it")
    return {"adapter": False}


def print_calibration(calibration: Calibration, name: str, path: Path | None, *, as_json: bool) -> None:
    if as_json:
        print(msgspec.json.encode({**msgspec.to_builtins(calibration), "file": str(path) if path else None}).decode())
        return
    adapter = f" with {calibration.adapter}" if calibration.adapter else ""
    print(f"{name}{adapter}, dialect {calibration.dialect}: it wants to answer from this probability of an answer on")
    when = {"before any result": calibration.first, "after a result": calibration.later}
    if calibration.fits is not None:
        when["asked whether a tool is for the question, it is believed from a yes of"] = calibration.fits
    for what, fit in when.items():
        print(
            f"  {what}: {fit.threshold:g} (right in {fit.right} of {fit.of} decisions, at 0.5 in {fit.right_at_half})"
        )
    print("these are the decisions that the thresholds were derived from: on others expect a little less")
    if path is not None:
        print(f"stored in {path}")
