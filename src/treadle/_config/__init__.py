"""Agents from JSON and YAML documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle._agent.agent import Agent
    from treadle._models.base import Model


def load_agent(path: str | Path, *, model: str | Model | None = None, **options: Any) -> Agent[Any, Any]:
    """The agent that a JSON or YAML document describes.

    `model` replaces the models that the document names. `options` are keyword arguments of `Agent`.
    """
    from treadle._config.document import AgentParams, read_document
    from treadle._config.graph import GraphAgent
    from treadle._config.scope import has_references

    graph = GraphAgent(read_document(path), Path(path).resolve().parent, model=model, where=str(path), **options)
    only = graph.only_agent
    if only is None or only[1].prompts != AgentParams().prompts or has_references(only[1].sys_prompt):
        return graph
    agent = only[0]
    agent.journal = graph.journal
    return agent
