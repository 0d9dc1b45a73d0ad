"""The interface of a dialect: how a request for an action is written and how a reply is read.

Models and dialects combine freely. Every dialect reads a reply to a `Decision`; the rest of the engine does not need to
know which dialect was used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from treadle._dialects.watching.base import Watcher
from treadle._types.messages import AssistantMessage, Message, ToolCall, ToolMessage
from treadle._types.profile import Profile
from treadle._types.request import DecisionNames, OutputFormat, Reply, ToolSchema


class Decision(Struct, frozen=True, gc=False, omit_defaults=True):
    """What one reply decides: calls to make, or an answer, or (`problem`) nothing that could be read.

    Calls and an answer may come together (the calls run first; the answer then only expresses intent).
    """

    thought: str = ""
    calls: tuple[ToolCall, ...] = ()
    answer: str | None = None
    problem: str = ""
    """Why the reply could not be read, phrased for the model. Empty when it could."""
    repaired: bool = False
    """The reply was broken and a guess was made; arguments are validated before anything runs."""
    task_successful: bool | None = None
    own_words: bool = False
    """No tool is needed: the model gives the answer in its own words, in a request without tools. `answer` is empty."""
    completes: bool = False
    """The reply says that the task is done once its calls are: `answer` counts then."""
    unmarked: bool = False
    """The answer is plain prose where the dialect has a form for answers: perhaps an action was forgotten."""


class Encoding(Struct, frozen=True, omit_defaults=True):
    """What a dialect asks of the provider: native tools, or a constraint on the text."""

    tools: tuple[ToolSchema, ...] = ()
    tool_choice: str = "auto"
    format: OutputFormat | None = None
    stop: tuple[str, ...] = ()
    decision_after: str = ""
    """Text of the reply after which the next token decides between a tool and an answer."""
    decision_names: DecisionNames = DecisionNames()
    """What can stand there."""
    tuned: bool = False
    """The request is in the form that a tuned model was trained on."""


class Prompts(Struct, frozen=True):
    """The user's replacements for the engine's own prompt texts, by name (`Agent(prompts={...})`)."""

    texts: dict[str, str] = {}

    def get(self, name: str, default: str) -> str:
        return self.texts.get(name, default)


class Dialect(Protocol):
    """One way of writing actions: what the model is told, what is asked of the provider, how a reply is read."""

    @property
    def name(self) -> str: ...

    @property
    def native(self) -> bool:
        """Calls and results travel in the provider's own structures, not in text."""
        ...

    def system(self, base: str, tools: Sequence[ToolSchema], prompts: Prompts) -> str:
        """The system prompt: the user's text and what this dialect must explain."""
        ...

    def encode(
        self, tools: tuple[ToolSchema, ...], profile: Profile, *, must_answer: bool = False, must_act: bool = False
    ) -> Encoding:
        """Return what to ask of the provider. `must_answer`: no tool may be called any more, only an answer is wanted.
        `must_act`: no answer is wanted yet; a dialect that cannot enforce this ignores it."""
        ...

    def assistant(self, message: AssistantMessage, decision: Decision | None = None) -> AssistantMessage:
        """An earlier reply as this dialect shows it to the model: its text, or `decision` written anew."""
        ...

    def results(self, results: Sequence[ToolMessage], task: str = "") -> Sequence[Message]:
        """The results of one reply's calls, as messages."""
        ...

    def decode(self, reply: Reply, tools: Sequence[ToolSchema]) -> Decision:
        """Read a reply. Never raises, never executes anything, never reads a call where none was written."""
        ...

    def watch(self, *, tools: bool) -> Watcher:
        """Return what reads a reply while it is written."""
        ...

    def reformat(self, problem: str, prompts: Prompts) -> str:
        """The message that asks for the same thing again in a readable form: a tool call or an answer."""
        ...
