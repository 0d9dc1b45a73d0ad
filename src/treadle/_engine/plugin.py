"""The plug-in seam: an object with optional async hooks, applied in list order.

A hook that wants to change a request emits an event (a message added, tools changed, context compacted); rendering
alone builds requests. A plug-in object holds settings only: whatever must survive a crash is an event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from treadle._engine.core.hooks import Pause as Pause

if TYPE_CHECKING:
    from treadle._dialects.base import Decision
    from treadle._engine.context import RunContext
    from treadle._engine.core.decisions import Answer
    from treadle._engine.core.masks import Mask
    from treadle._engine.result import RunResult
    from treadle._tools.base import Tool, ToolOutcome
    from treadle._types.errors import ContextOverflowError
    from treadle._types.messages import ToolCall, UserMessage


class Plugin:
    """Override what you need. A hook that fails is logged and ignored, unless it raises `Pause`, a `LimitError` or a
    `GuardrailError`; one that fails before a tool call has refused the call."""

    __treadle_default_hooks__ = True

    name = ""
    tools: tuple[Tool, ...] = ()
    """Tools of its own, which it may offer with `run.offer_tools`."""
    instructions: str = ""
    """Its part of the system prompt, the same in every run of the agent."""
    advisory = False
    """Its `before_tool` is advice to the model, not policy: a call without effects may start before it is asked, while
    the reply is still being written (its result is dropped if the call is then refused)."""
    prompts: tuple[str, ...] = ()
    """The names of prompts it reads with `run.prompts.get` beside the engine's own."""
    brings_tools = False
    """Its start adds tools to the run: an agent applies it before those that choose among them."""
    harmless = False
    """Its hooks have no effects outside the run: it takes part in experiments on recorded runs (`find_causes`)."""
    acts_alone = False
    """It looks at what each call that acts has changed: such calls do not run side by side."""
    takes_files = False
    """Whether the files of a question are read by code in a folder, and not by the model."""
    takes_back = False
    """It may refuse an answer, or have it written again, after words of it were shown: who cannot take words back is
    given the answer at its end."""
    masks = False
    """It keeps something from models, with the `mask` it gives for a run."""
    loop_only = False
    """Its start prepares rounds of thinking: a plan or a document leaves it to the runs it is made of."""

    def mask(self, user: str) -> Mask | None:
        """Return what it keeps from models in a run of this user."""
        return None

    async def on_start(self, run: RunContext) -> None:
        """Once, before the first round."""

    async def on_resume(self, run: RunContext) -> None:
        """When a run that was started before is resumed, in place of `on_start`."""

    async def before_round(self, run: RunContext) -> None:
        """Before each model call of the loop."""

    async def beside_first_request(self, run: RunContext) -> None:
        """While the first request of the loop is under way. Nothing comes of its reply before this has returned; a
        `GuardrailError` stops the request and the run."""

    async def after_decision(self, run: RunContext, decision: Decision) -> None:
        """After a reply was read and recorded, before its calls run."""

    async def before_tool(self, run: RunContext, call: ToolCall) -> ToolCall | ToolOutcome:
        """Return the call, another one, or an outcome in its place."""
        return call

    async def on_approval(self, run: RunContext, call: ToolCall) -> Answer | None:
        """A call needs approval: return True, False, None (leaves it open) or a mapping, as in `Approval`."""
        return None

    async def on_approvals(self, run: RunContext, calls: Sequence[ToolCall]) -> bool | Mapping[str, Answer] | None:
        """Several calls of one reply need approval: return True, False or an answer by call
        id. What is left out, and with None all, is asked about one by one."""
        return None

    async def after_tool(self, run: RunContext, call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
        """What is returned gets recorded."""
        return outcome

    async def after_round(self, run: RunContext) -> None:
        """After the results of a reply's calls are in the conversation."""

    async def before_finish(self, run: RunContext, answer: str) -> str | UserMessage:
        """Return the answer, another one, or a message that sends the loop on."""
        return answer

    async def on_answer(self, run: RunContext, answer: str) -> str:
        """The text the user is to get, before it is recorded. Return it, or a better one."""
        return answer

    async def on_overflow(self, run: RunContext, error: ContextOverflowError) -> bool:
        """The provider says the request is too long. Return True after having made it shorter."""
        return False

    async def on_end(self, run: RunContext, result: RunResult[Any]) -> None:
        """Once, with the result that is about to be recorded."""
