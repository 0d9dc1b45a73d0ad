"""Questions about a run that several guards for small models ask."""

from __future__ import annotations

from treadle._engine.context import RunContext
from treadle._plugins.state_queries import same_calls
from treadle._types.messages import ToolCall


def small_under_grammar(run: RunContext) -> bool:
    """Return whether the model is small and its replies follow our grammar, which can exclude a tool from one reply."""
    profile = run.model.profile
    return profile.small and profile.constrained and not run.dialect.native


def lacks_adapter(run: RunContext) -> bool:
    """Return whether it is such a model without an adapter. One with an adapter was trained on what some guards are
    for."""
    return small_under_grammar(run) and not run.model.profile.adapter


def is_insisted_on(run: RunContext, call: ToolCall) -> bool:
    """Return whether a call that was refused is made again, and goes through: at the second time by a model that was
    trained to call, or has no other tool. One without an adapter falls back on what it made up, and is refused
    twice."""
    twice = lacks_adapter(run) and len(run.state.tools) > 1
    return len(same_calls(run, call)) > twice
