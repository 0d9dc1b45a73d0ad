"""What may be passed by name to an agent and to a run, for type checkers: `temprature=` is an error in the editor.

At run time `Settings.with_changes` says the same. Only annotations name these types, so nothing imports this module
while a program runs; a test compares it with `Settings`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from os import PathLike
from typing import Any, Generic, Literal, TypedDict

from treadle._engine.context import RunContext
from treadle._engine.generics import DepsT
from treadle._engine.plugin import Plugin
from treadle._engine.settings import (
    AnswerSettings,
    Budget,
    ContextSettings,
    ModelSettings,
    Preset,
    PresetName,
    RepairPolicy,
    RunLimits,
    SharedBudget,
    ToolSettings,
)
from treadle._journal.base import Journal
from treadle._models.base import Model
from treadle._models.transport.retry import RetryPolicy
from treadle._tools.skills.skill import Skill
from treadle._types.intent import Intent


class FlatSettings(TypedDict, total=False):
    """The fields of `Settings`, each as a keyword of its own."""

    dialect: str
    probe: bool
    max_iterations: int
    on_limit: Literal["fallback", "raise", "force_answer", "salvage"]
    summarize_progress: bool
    answer: Literal["direct", "synthesize", "complete"]
    synthesis_chars: int
    receipts: Literal["off", "mark", "correct", "refuse"]
    stream_thoughts: bool
    verbose: bool
    markers: bool
    max_parallel: int | None
    max_calls: int | None
    one_tool_per_step: bool | Literal["text"]
    tool_timeout: float | None
    imports: tuple[str, ...] | list[str] | None
    executor: Literal["monty", "python"]
    packages: tuple[str, ...] | list[str]
    files: tuple[str, ...] | list[str]
    max_observation_chars: int
    error_detail: Literal["class", "message", "full"]
    unknown_args: Literal["prune", "reject", "schema"]
    repaired_args: Literal["pure", "all"]
    ask: tuple[str, ...] | list[str]
    provenance: Literal["off", "ask", "deny"]
    changed_tools: Literal["run", "ask", "refuse"]
    may: Intent | Literal["derive"] | list[Any] | tuple[Any, ...] | dict[str, Any] | None
    repair: RepairPolicy
    retry: RetryPolicy
    on_error: Literal["raise", "result"]
    raise_errors: bool
    budget: Budget | None
    budgets: tuple[SharedBudget, ...] | list[SharedBudget]
    on_budget: Literal["raise", "force_answer"]
    max_history_messages: int | None
    context_budget: int | None
    selection_threshold: int | None
    selection_max: int
    temperature: float | None
    max_tokens: int | None
    seed: int | None
    complete_name: str


class SettingOptions(FlatSettings, total=False):
    """Settings, in groups or by their flat names."""

    limits: RunLimits | None
    """How long a run may go on, what it may spend, and what happens then."""
    model_settings: ModelSettings | None
    """How the model is asked, and what happens when a request or a reply fails."""
    tool_settings: ToolSettings | None
    """How tools are run, and which calls need approval."""
    context: ContextSettings | None
    """What goes into a request: messages and tools."""
    answering: AnswerSettings | None
    """How the answer is written, and what is shown and logged beside it."""


class RunOptions(SettingOptions, Generic[DepsT], total=False):
    """What a run is given beside the question."""

    history: Iterable[Any]
    """The conversation so far: messages, or dictionaries as OpenAI and Anthropic write them."""
    run_id: str
    """The id of the run; a new one if none is given."""
    conversation: str
    """The conversation it is listed under."""
    user: str
    """Whose run it is: for the list of runs, and for what is remembered about a user."""
    parent: RunContext[Any] | None
    """The run it is started inside of: it shares its budget, its journal and its approvals."""
    deps: DepsT
    """What tools, plug-ins and instructions get of the program around them; the model never sees it."""


class MoreAgentOptions(TypedDict, Generic[DepsT], total=False):
    """The keywords of an agent that few need."""

    instructions: str | Callable[[RunContext[DepsT]], str | Awaitable[str]]
    """More of the system prompt, after the system messages of the history."""
    workspace: str | PathLike[str] | Plugin | None
    """The folder its runs work in, or a `Workspace` that says how; a path means that each run has a copy of it."""
    skills: Iterable[str | PathLike[str] | Skill]
    """Folders with a `SKILL.md` each, or folders of such folders."""
    deps_type: type[DepsT] | None
    """The class of `deps`: another one is refused when a run starts."""
    deps: DepsT
    """What tools, plug-ins and instructions get, for runs that are given none."""
    fallbacks: Iterable[str | Model]
    """Models that take over, in this order, when the one before has failed for good."""
    prompts: Mapping[str, str] | None
    """Other words for [prompts](prompts.md) of the engine, by name."""
    name: str
    """What logs, lists and other agents call it."""
    description: str
    """What it is for: other agents, the page and protocols show it."""
    secrets: Iterable[str]
    """Texts that must not reach the log, the journal or a model's prompt; they are masked."""
    logger: logging.Logger | None
    """Where its runs are logged, if not to `treadle`."""


class FlatAgentOptions(FlatSettings, MoreAgentOptions[DepsT], Generic[DepsT], total=False):
    """What an agent takes beside the parameters of its signature."""


class AgentOptions(SettingOptions, MoreAgentOptions[DepsT], Generic[DepsT], total=False):
    """What an agent is given beside its model, its tools and its `output_type`."""

    system: str | Callable[[RunContext[DepsT]], str | Awaitable[str]]
    """The first part of the system prompt, or a function of the run that gives it when the run starts."""
    preset: PresetName | Preset
    """A set of settings and plug-ins to begin with (below)."""
    plugins: Iterable[Any]
    """Objects with hooks (`treadle.plugins`, or your own), called in this order."""
    journal: Journal | str | PathLike[str] | None
    """Where runs are stored: a path, `postgres://...`, `memory:` or a journal; None stores nothing."""
