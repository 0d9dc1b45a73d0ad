"""Skills: the names and descriptions of Agent Skills stand in the system prompt; what one says is read when chosen.

Choosing a skill is a call like any other, so it is recorded, and what the model was told stays in the log. A skill's
files are read through the guard of the file tools, and only as they were when the skill was read; its scripts run in
the sandbox. `allowed-tools` is shown and grants nothing.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from typing import Any

from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._plugins.guards.tool_selection import BROUGHT, offer_also
from treadle._safety.bounds import Count, Seconds, bounded
from treadle._tools.base import Tool, ToolResponse
from treadle._tools.builtin.common import object_schema
from treadle._tools.builtin.files import FileText, part_of_file
from treadle._tools.sandbox.base import SandboxLimits
from treadle._tools.skills.script import run_script
from treadle._tools.skills.skill import FILE, Skill, load_skills
from treadle._types.errors import ConfigError, ToolError

USE, READ, RUN = "use_skill", "read_skill_file", "run_skill_script"
CATALOGUE = (
    "Skills are instructions for certain kinds of tasks. When one of them fits the task, call use_skill with its name "
    "before anything else, and do as it says. Use none when none fits."
)
_MAX_LISTED = 40


class Skills(Plugin):
    """Scripts run in bubblewrap, without a network; /work is `folder`, which they may change."""

    name = "skills"
    brings_tools = True

    @bounded
    def __init__(
        self,
        skills: Iterable[str | os.PathLike[str] | Skill],
        *,
        folder: str = "",
        seconds: Seconds = 30.0,
        max_chars: Count = 8_000,
    ) -> None:
        self.skills = {skill.name: skill for skill in load_skills([skills] if isinstance(skills, str) else skills)}
        if not self.skills:
            raise ConfigError("skills: there are none: give the folders of some, or leave it out")
        self._folder = os.path.abspath(folder) if folder else ""
        self._limits = SandboxLimits(seconds=seconds)
        self._max_chars = max_chars
        listed = (f"- {skill.name}: {skill.description}" for skill in self.skills.values())
        self.instructions = "\n".join((CATALOGUE, *listed))
        with_scripts = [skill.name for skill in self.skills.values() if skill.scripts]
        self.tools = (self._use_tool(), self._read_tool(), *([self._run_tool(with_scripts)] if with_scripts else ()))

    async def on_start(self, run: RunContext) -> None:
        await offer_also(run, (tool.name for tool in self.tools), BROUGHT)

    # ---- what the tools do

    def _use(self, name: str) -> str:
        skill = self._skill(name)
        body = part_of_file(FILE, skill.body.encode(), 1, self._max_chars)
        assert isinstance(body, FileText)
        text = f"Skill {skill.name}\n\n{body.text.rstrip()}"
        if body.next_line:
            # The file itself begins with the front matter, which the body is without.
            line = body.next_line + skill.body_line - 1
            text += f"\n\n[it goes on: {READ} with path {FILE} and start_line {line}]"
        text += _listed(f"Files, to be read with {READ}", skill.resources)
        text += _listed(f"Scripts, to be run with {RUN}", skill.scripts)
        return text

    async def _read(self, skill: str, path: str, start_line: int = 1) -> FileText | ToolResponse:
        found = self._skill(skill)
        data = await asyncio.to_thread(found.read, path)
        return part_of_file(path, data, start_line, self._max_chars)

    async def _run(self, skill: str, script: str, args: Sequence[str] = (), text: str = "") -> ToolResponse:
        found = self._skill(skill)
        if any("\0" in argument for argument in args):
            raise ToolError("an argument of a script cannot contain the character NUL")
        result = await run_script(found, script, args, text, limits=self._limits, folder=self._folder)
        return ToolResponse(result.text(self._limits.output_chars), error=bool(result.error))

    def _skill(self, name: str) -> Skill:
        if name not in self.skills:
            raise ToolError(f"there is no skill {name!r}; the skills are: {', '.join(self.skills)}")
        return self.skills[name]

    # ---- the tools

    def _use_tool(self) -> Tool:
        chosen = {"type": "string", "enum": list(self.skills), "description": "The skill that fits the task"}
        return Tool(
            USE,
            "Read the instructions of a skill, before working on a task that it fits.",
            object_schema({"name": chosen}, ("name",)),
            self._use,
            effect="pure",
            pinned=True,
        )

    def _read_tool(self) -> Tool:
        properties = {
            "skill": {"type": "string", "enum": list(self.skills), "description": "The skill"},
            "path": {"type": "string", "maxLength": 1_000, "description": "A file of the skill, as it names it"},
            "start_line": {"type": "integer", "minimum": 1, "default": 1, "description": "First line to read"},
        }
        return Tool(
            READ,
            "Read a file that belongs to a skill; long files come in parts.",
            object_schema(properties, ("skill", "path")),
            self._read,
            effect="pure",
            pinned=True,
        )

    def _run_tool(self, names: list[str]) -> Tool:
        argument = {"type": "string", "maxLength": 4_000}
        properties: dict[str, Any] = {
            "skill": {"type": "string", "enum": names, "description": "The skill"},
            "script": {"type": "string", "maxLength": 1_000, "description": "A script of it, like scripts/count.py"},
            "args": {"type": "array", "items": argument, "maxItems": 50, "default": [], "description": "Arguments"},
            "text": {"type": "string", "default": "", "maxLength": 200_000, "description": "Its standard input"},
        }
        return Tool(
            RUN,
            "Run a script that belongs to a skill, in a sandbox, and see what it prints.",
            object_schema(properties, ("skill", "script")),
            self._run,
            timeout=self._limits.seconds + 20,
            effect="unsafe" if self._folder else "pure",
            pinned=True,
            untrusted=f"files in {self._folder}" if self._folder else False,
        )


def _listed(title: str, names: Sequence[str]) -> str:
    more = f"\n- and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return f"\n\n{title}:\n" + "\n".join(f"- {name}" for name in names[:_MAX_LISTED]) + more if names else ""
