"""What is decided before a run starts: by the agent, and by whoever asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from logging import Logger
from typing import Any

from msgspec import Struct

from treadle._engine.core.redaction import EventRedactor
from treadle._engine.settings import Settings
from treadle._models.base import Model
from treadle._tools.base import Tool
from treadle._tools.toolkit import Toolkit
from treadle._types.events import ReplyConstrained
from treadle._types.messages import Content, Message


class Blueprint(Struct, frozen=True, kw_only=True):
    """Everything an agent decides."""

    models: tuple[Model, ...]
    """The bound model, then those that take over if it fails for good."""
    toolkit: Toolkit
    brought: tuple[Tool, ...] = ()
    """Tools that the caller brings for this run."""
    settings: Settings
    preset: str = ""
    """The name of the preset the settings began with."""
    plugins: tuple[Any, ...] = ()
    system: str = ""
    system_of: Callable[[Any], Awaitable[str]] | None = None
    """The same for a run whose instructions are functions of its `RunContext`; asked once, before its first record."""
    prompts: Mapping[str, str] = {}
    output_type: Any = None
    name: str = "agent"
    redact: EventRedactor | None = None
    logger: Logger | None = None
    """Where its runs are logged, if not where everything is."""


class Origin(Struct, frozen=True, kw_only=True):
    """What is asked, by whom, and in which conversation."""

    run_id: str
    question: Content
    history: tuple[Message, ...] = ()
    conversation: str = ""
    user: str = ""
    follows: str = ""
    """The run of the conversation that it continues."""
    output_schema: dict[str, Any] | None = None
    """What the answer has to be, where the caller says so for this run."""
    client_tools: tuple[str, ...] = ()
    """The names of the tools that the caller brought for this run."""
    constraint: ReplyConstrained | None = None
    """What the caller asks of the run's calls."""
    unattended: bool = False
    """Resumed by a program as it starts, not by a person: a run that does not get any further is parked."""
    mark: str = ""
    """The seal of the server that starts it."""
