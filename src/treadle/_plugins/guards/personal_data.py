"""Personal data are masked before a model sees them, and restored in what the user gets.

Question, history, messages, results of tools and prompts are masked before they enter the state: requests, journal,
logs and traces have placeholders such as `[EMAIL_kqzdwrb]`. What they stand for is kept apart, in the memory of the
process or in a file of its own (`vault`). The answer, what streams of it, and the arguments of the tools that are named
have the data again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Any

from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._engine.result import RunResult
from treadle._safety.personal.kinds import KINDS, Finder, Kind
from treadle._safety.personal.masker import Masker, open_from
from treadle._safety.personal.vault import Vault
from treadle._tools.base import ToolOutcome
from treadle._types.events import Noted
from treadle._types.messages import ToolCall

_GONE = (
    "Tool '{}' was not run: what {} stands for is not known here any more, because the run began in another process "
    "and its vault was not kept. Ask the user for it again."
)


class PersonalData(Plugin):
    """Masks personal data in everything a model is sent.

    >>> Agent("openai:gpt-5", [send_mail], plugins=[PersonalData(names=["Anna Weber"], tools=["send_mail"])])
    """

    name = "personal_data"
    harmless = True
    masks = True

    def __init__(
        self,
        *,
        kinds: Iterable[Kind] = KINDS,
        names: Iterable[str] = (),
        tools: Iterable[str] = (),
        vault: str | os.PathLike[str] | None = None,
        media: bool = False,
    ) -> None:
        """`names`: texts that are masked wherever they stand. `tools`: those that get the data themselves. `vault`: a
        file that keeps what placeholders stand for, so that another process can restore them. `media`: let pictures,
        sound and files through, into which nobody looks."""
        self.finder = Finder(kinds, [names] if isinstance(names, str) else names)
        self.tools_that_see = frozenset([tools] if isinstance(tools, str) else tools)
        self.vault = Vault(vault)
        self.media = media

    def mask(self, user: str) -> RunMask:
        return RunMask(self, user)

    def forget(self, user: str = "") -> None:
        """Forget what the placeholders in this user's runs stand for."""
        self.vault.forget(user)

    async def before_tool(self, run: RunContext[Any], call: ToolCall) -> ToolCall | ToolOutcome:
        if call.name in self.tools_that_see and (gone := self.mask(run.user).unknown(call.args)):
            return ToolOutcome(_GONE.format(call.name, gone), "denied", executed=False)
        return call

    async def on_end(self, run: RunContext[Any], result: RunResult[Any]) -> None:
        mask = run.mask_of(self)
        if mask is not None:
            report = {"masked": dict(mask.masked), "seconds": round(mask.seconds, 3), "requests": 0, "cost": 0.0}
            await run.emit(Noted(self.name, {"report": report}))


class RunMask(Masker):
    """The mask of one run."""

    def __init__(self, plugin: PersonalData, user: str) -> None:
        super().__init__(plugin.finder, plugin.vault, user, media=plugin.media)
        self.plugin = plugin
        self.seconds = 0.0

    def tree(self, value: Any) -> Any:
        began = time.perf_counter()
        try:
            return super().tree(value)
        finally:
            self.seconds += time.perf_counter() - began

    def open_from(self, text: str) -> int:
        return open_from(text)

    def reveals(self, tool: str) -> bool:
        return tool in self.plugin.tools_that_see
