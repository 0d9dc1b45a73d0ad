"""How each mode is made of the same scenario: which agent does the work, and what stands around it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance.scenarios import SECRET, TOOLS, Scenario, Scene, quick
from treadle import Agent, DagAgent, Tool, presets
from treadle._config.document import parse_document
from treadle._config.graph import GraphAgent
from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin

MODES = ("loop", "plan", "document", "child", "code")
DEPTH = {"loop": 0, "plan": 1, "document": 1, "child": 1, "code": 0}
"""How deep in the tree of runs the scenario is played."""
PRESETS = tuple(name for name in presets.names() if name not in ("default", "code"))
"""Those that are no mode of their own: `default` is the mode `loop`, `code` the mode `code`."""


def preset_of(variant: str) -> str:
    return "code" if variant == "code" else variant if variant in PRESETS else "default"


def build(variant: str, scenario: Scenario, preset: str = "") -> tuple[Agent, Scene]:
    """An agent in a mode, or in the loop with a preset, and the model that it uses; `preset` is one for the mode."""
    preset = preset or preset_of(variant)
    scene = Scene(scenario, presets.get(preset).settings.dialect)
    return agent_of(variant, preset, scenario, scene, TOOLS), scene


def agent_of(variant: str, preset: str, scenario: Scenario, scene: Scene, tools: Sequence[Tool]) -> Agent:
    waiting = quick(presets.get(preset).settings)
    options: dict[str, Any] = {"secrets": [SECRET], "output_type": scenario.output_type, **waiting, **scenario.settings}
    match variant:
        case "plan":
            return DagAgent(scene, tools, preset=preset, max_rounds=1, **options)
        case "document":
            document = parse_document(document_with(preset))
            return GraphAgent(document, Path(), model=scene, plugins=[OurTools(tools)], **options)
        case "child":
            worker = Agent(scene, tools, name="worker", preset=preset, **options)
            return Agent(scene, [worker.as_tool()], secrets=[SECRET], **waiting)
        case _:
            return Agent(scene, tools, preset=preset, **options)


def document_with(preset: str) -> dict[str, Any]:
    worker = {"component_name": "Agent", "params": {"preset": preset}}
    return {
        "begin": {"obj": {"component_name": "Begin"}, "downstream": ["Agent:Worker"]},
        "Agent:Worker": {"obj": worker, "downstream": ["Message:Out"]},
        "Message:Out": {"obj": {"component_name": "Message", "params": {"content": ["{{Agent:Worker@content}}"]}}},
    }


class OurTools(Plugin):
    """A document names built-in tools only: others come with a plug-in."""

    name = "our_tools"
    loop_only = True

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = tuple(tools)

    async def on_start(self, run: RunContext) -> None:
        ours = [offered.name for offered in self.tools]
        others = [offered.name for offered in run.state.tools if offered.name not in ours]
        await run.offer_tools([*others, *ours], "the scenario needs them")
