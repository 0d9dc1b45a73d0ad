"""Runs a script of a skill in the sandbox: a copy of the skill as it was accepted is /skill, read-only."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp

from treadle._tools.sandbox.base import CodeResult, SandboxLimits
from treadle._tools.sandbox.bwrap import BwrapSandbox
from treadle._tools.sandbox.command import Script
from treadle._tools.skills.skill import Skill, language_of
from treadle._types.errors import ToolError


async def run_script(
    skill: Skill, name: str, args: Sequence[str], text: str, *, limits: SandboxLimits, folder: str = ""
) -> CodeResult:
    """Run a script. `text` is its standard input; `folder` is its /work, else it has one in memory."""
    if name not in skill.scripts:
        names = ", ".join(skill.scripts) or "none"
        raise ToolError(f"the skill {skill.name} has no script {name!r}; its scripts are: {names}")
    place = await asyncio.to_thread(_copy, skill)
    try:
        script = Script(str(place / "skill"), name, tuple(args))
        return await BwrapSandbox(limits, folder=folder).run_script(script, language_of(name), text)
    finally:
        await asyncio.to_thread(shutil.rmtree, place, True)


def _copy(skill: Skill) -> Path:
    """Every file is checked against its hash on the way: nothing can be replaced between the check and the start."""
    place = Path(mkdtemp(prefix="treadle-skill-"))  # for nobody else; what is in it is for the sandbox's own user
    try:
        for name in skill.files:
            target = place / "skill" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(skill.read(name))
        for path in (place / "skill", *(place / "skill").rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    return place
