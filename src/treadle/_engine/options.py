"""What may be passed by name to an agent and to a run, for type checkers: `temprature=` is an error in the editor.

At run time `Settings.with_changes` says the same. Only annotations name these types, so nothing imports this module
while a program runs; a test compares it with `Settings`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from os import PathLike
from typing import Any, Generic, Literal, TypedDict

from treadle._engine.context import DepsT, RunContext
from treadle._engine.preset import Preset, PresetName
from treadle._engine.settings import Budget, RepairPolicy
from treadle._journal.base import Journal
from treadle._models.base import Model
from treadle._models.transport.retry import RetryPolicy
from treadle._tools.skills.skill import Skill


class SettingOptions(TypedDict, total=False):
    """The fields of `Settings`."""

    dialect: str
    probe: bool
    max_iterations: int
    on_limit: Literal["fallback", "raise", "force_answer", "salvage"]
    summarize_progress: bool
    answer: Literal["direct", "synthesize", "complete"]
    synthesis_chars: int
    stream_thoughts: bool
    verbose: bool
    markers: bool
    max_parallel: int | None
    one_tool_per_step: bool | Literal["text"]
    tool_timeout: float | None
    imports: tuple[str, ...] | list[str] | None
    files: tuple[str, ...] | list[str]
    max_observation_chars: int
    error_detail: Literal["class", "message", "full"]
    unknown_args: Literal["prune", "reject", "schema"]
    ask: tuple[str, ...] | list[str]
    provenance: Literal["off", "ask", "deny"]
    repair: RepairPolicy
    retry: RetryPolicy
    raise_errors: bool
    budget: Budget | None
    on_budget: Literal["raise", "force_answer"]
    max_history_messages: int | None
    context_budget: int | None
    selection_threshold: int | None
    selection_max: int
    temperature: float | None
    max_tokens: int | None
    seed: int | None
    complete_name: str


class RunOptions(SettingOptions, Generic[DepsT], total=False):
    """What a run is given beside the question."""

    history: Iterable[Any]
    run_id: str
    conversation: str
    user: str
    parent: RunContext[Any] | None
    deps: DepsT


class AgentOptions(SettingOptions, Generic[DepsT], total=False):
    """What an agent is given beside its model, its tools and its `output_type`."""

    preset: PresetName | Preset
    system: str | Callable[[RunContext[DepsT]], str | Awaitable[str]]
    instructions: str | Callable[[RunContext[DepsT]], str | Awaitable[str]]
    plugins: Iterable[Any]
    skills: Iterable[str | PathLike[str] | Skill]
    deps_type: type[DepsT] | None
    deps: DepsT
    journal: Journal | str | PathLike[str] | None
    fallbacks: Iterable[str | Model]
    prompts: Mapping[str, str] | None
    name: str
    description: str
    secrets: Iterable[str]
    logger: logging.Logger | None
