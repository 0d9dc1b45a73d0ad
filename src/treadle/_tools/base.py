"""A tool is a value: the schema that the model is shown, the function that is called, and the policy for calling it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, Protocol, TypeVar, cast

import msgspec
from msgspec import Struct

from treadle._safety.bounds import Amount, Pause, Seconds, check_fields
from treadle._types.acts import Act, LedgerEntry, act_of
from treadle._types.errors import ConfigError
from treadle._types.events import Artifact
from treadle._types.messages import Content, ToolCall
from treadle._types.request import ToolSchema
from treadle._types.usage import NO_USAGE, Usage

if TYPE_CHECKING:  # only type checkers know defaults of type variables in Python 3.11
    from typing_extensions import ParamSpec, TypeVar

    P = ParamSpec("P", default=...)
    R_co = TypeVar("R_co", covariant=True, default=Any)
    DepsT_co = TypeVar("DepsT_co", covariant=True, default=Any)
else:
    P, R_co, DepsT_co = ParamSpec("P"), TypeVar("R_co", covariant=True), TypeVar("DepsT_co", covariant=True)

Effect = Literal["pure", "idempotent", "unsafe"]
HARMLESS: tuple[Effect, ...] = ("pure", "idempotent")
"""Effects of tools that a model may be made to call, whatever it wanted."""
Approval = Literal["allow", "ask", "deny"]
UNMARKED: Effect = cast("Effect", "".join(("un", "safe")))
"""The effect of a tool whose author has not declared one: treated like `unsafe`, but not as a warning. It is equal to
a declared `unsafe`, and told from it by identity."""
UNREVIEWED: Effect = cast("Effect", "".join(("un", "safe")))
"""The effect of a stranger's tool that no person has reviewed: a declared `unsafe` for everything that guards, but its
failures say nothing about whether something was to be done."""


class ToolResponse(Struct, frozen=True, omit_defaults=True):
    """A result with more than a plain value: artifacts, extras for the next tool, an error flag, a final answer."""

    observation: Any = ""
    final_answer: bool = False
    """End the run with the observation as the answer."""
    extras: Mapping[str, Any] = {}
    """Python objects for the next tool call only; they never reach the model or the log."""
    artifacts: tuple[Artifact, ...] = ()
    error: bool = False
    usage: Usage = NO_USAGE
    """What the tool itself spent on models (an agent as a tool)."""
    source: str = ""
    """Where the result comes from, if from outside ("example.org", "report.pdf"): as if the tool were `untrusted`."""
    waiting: tuple[ToolCall, ...] = ()
    """Calls inside this one that wait for a person: the run pauses, and the call is made again when it is resumed."""
    why: Mapping[str, str] = {}
    """Why each of them waits, by its id."""
    task_successful: bool | None = None
    """With `final_answer`: what is said about having done the task; False makes the run unsuccessful."""
    ledger: tuple[LedgerEntry, ...] = ()
    """What an agent that was asked has done."""
    instead: Mapping[str, Any] = {}
    """Arguments with which the call has to be made instead: where a server redirects to. It is judged like any other
    call, and its result is this one's."""


class ToolContext(Protocol[DepsT_co]):
    """The run a tool works for; passed to the parameter that is annotated with this type.

    `ToolContext[Database]` says that `context.deps` is what `agent.run(question, deps=database)` was given.
    """

    @property
    def run_id(self) -> str: ...

    @property
    def call_id(self) -> str: ...

    @property
    def deps(self) -> DepsT_co:
        """The value that the caller passed as `deps=`."""
        ...

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt at this call, across crashes and machines."""
        ...

    @property
    def run(self) -> Any:
        """The engine's `RunContext`, for tools that act on the run."""
        ...

    def output(self, text: str) -> None:
        """Show a piece of output while the tool works."""
        ...


def answered_by_caller(**arguments: Any) -> Any:
    """Stand in for the function of an external tool, which must not be called."""
    raise NotImplementedError(
        "this tool has no body: a run that calls it pauses, and whoever called gives the result with "
        "agent.resume(run_id, results={call_id: ...})"
    )


class Tool(Struct, Generic[P, R_co], frozen=True, kw_only=False):
    """A tool. `execute` takes the arguments by name, sync or async.

    It returns a value, text, a generator of text, or a `ToolResponse`. Without `execute` the tool is external.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    execute: Callable[P, R_co] = cast("Any", answered_by_caller)
    timeout: Seconds | None = 30.0
    effect: Effect = UNMARKED
    """After a crash in the middle of a call: `pure` and `idempotent` tools are run again, `unsafe` ones are not, nor
    those that do not say. Who says `unsafe` means that the tool sends, pays, deletes or executes: see `provenance`."""
    concurrent: bool = True
    """May run at the same time as other calls of the same reply."""
    approval: Approval = "allow"
    pinned: bool = False
    """Always offered to the model: tool selection never leaves it out."""
    takes_extras: frozenset[str] | None = None
    """Parameters that only extras fill. None: any parameter of `execute`, and every extra when it takes `**kwargs`."""
    required_extras: frozenset[str] = frozenset()
    """Those of `takes_extras` that have no default."""
    context_param: str = ""
    """The parameter of `execute` that receives the `ToolContext`."""
    needs_deps: str = ""
    """The type of `deps` that its context must have, as it is written in the signature; empty: it asks for none."""
    untrusted: bool | str = False
    """Its results come from outside (web, mail, files): they may contain instructions of a stranger. A text names the
    source, with `{argument}` for an argument of the call: `"{url}"`."""
    defaults: Mapping[str, Any] = {}
    """Values of arguments that the model may leave out, whatever the schema says."""
    retries: Amount = 0
    """How often a call that fails or times out is made again before the model hears of it. Only for tools whose effect
    is `pure` or `idempotent`."""
    retry_wait: Pause = 0.5
    """Seconds before the first such repetition; twice as many before each further one."""
    acts: bool | None = None
    """Whether it does something outside the run, which the ledger of the run then lists and no answer may hide when it
    failed. None: whatever is not `pure`."""
    identifies: tuple[str, ...] = ()
    """The arguments that say what it is done to (`("order_id",)`): a later call that succeeds for the same makes up for
    one that failed. None given: all arguments."""
    fails_when: str | Callable[[Any], bool | str] | None = None
    """What counts as failure besides an exception: a regular expression that is looked for in the text of the result,
    or a function of the result that returns True, or the reason."""
    verbs: tuple[str, ...] = ()
    """Beginnings of words for what it does, in any language (`("cancel", "storn")`). A sentence with such a word of
    another tool and none of this one is not about a call of this one."""
    convert: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Turns validated JSON arguments into the Python values that the annotations of `execute` ask for."""
    returns: Mapping[str, Any] | None = None
    """Of an external tool: the JSON Schema of its results; one that does not fit is refused."""
    earlier_names: tuple[str, ...] = ()
    """What it was called before it got its name: `ask` finds it by these too, whatever it is shown as."""
    polling: bool = False
    """It is asked for the same thing until that is there: the loop guard does not count its calls as repetitions."""
    for_call: Callable[[Any, Mapping[str, Any]], Tool] | None = None
    """Returns this tool with the policy for one call, where that depends on the run and the arguments: what a shell is
    asked to do may read only, or send."""
    scope: str = ""
    """What a person allows who allows "always": calls of this scope, instead of every call of the tool."""

    def __post_init__(self) -> None:
        check_fields(self, f"tool {self.name!r}: ")
        if self.identifies:
            self._check_identifies()
        if type(self.verbs) is not tuple:
            verbs = (self.verbs,) if isinstance(self.verbs, str) else tuple(self.verbs)
            msgspec.structs.force_setattr(self, "verbs", verbs)

    def _check_identifies(self) -> None:
        properties: Mapping[str, Any] = self.parameters.get("properties") or {}
        names = (self.identifies,) if isinstance(self.identifies, str) else tuple(self.identifies)
        if unknown := next((name for name in names if name not in properties), None):
            expected = ", ".join(properties) or "none"
            raise ConfigError(f"tool {self.name!r}: identifies names {unknown!r}; its arguments are: {expected}")
        msgspec.structs.force_setattr(self, "identifies", names)

    def act(self, args: Mapping[str, Any]) -> Act | None:
        """Return what is recorded of a call with these arguments; None where the tool does nothing outside the run."""
        if not (self.effect != "pure" if self.acts is None else self.acts):
            return None
        return act_of(args, self.identifies, declared=self._declares_effect)

    @property
    def declares_act(self) -> bool:
        """True for a tool that says that it does something outside the run."""
        return (self.effect != "pure" if self.acts is None else self.acts) and self._declares_effect

    @property
    def _declares_effect(self) -> bool:
        stated = self.effect is not UNMARKED and self.effect is not UNREVIEWED
        return stated or bool(self.acts or self.identifies)

    def failure(self, value: Any, text: str) -> str:
        """Why a result counts as a failure by `fails_when`; empty if it does not."""
        if self.fails_when is None:
            return ""
        if isinstance(self.fails_when, str):
            return text if re.search(self.fails_when, text) else ""
        verdict = self.fails_when(value)
        return verdict if isinstance(verdict, str) else text if verdict else ""

    @property
    def schema(self) -> ToolSchema:
        parameters = dict(self.parameters)
        if self.defaults:
            required = [name for name in parameters.get("required", ()) if name not in self.defaults]
            parameters["required"] = required
        return ToolSchema(self.name, self.description, parameters)

    @property
    def external(self) -> bool:
        """True for a tool without a body: the caller supplies its results."""
        return self.execute is answered_by_caller

    @property
    def marked_unsafe(self) -> bool:
        """True when its author declared that it sends, pays, deletes or executes."""
        return self.effect == "unsafe" and self.effect is not UNMARKED

    @property
    def __signature__(self) -> Signature:
        """The function's own, for `help()` and editors."""
        return signature(self.execute)

    @property
    def all_names(self) -> tuple[str, ...]:
        return (self.name, *self.earlier_names)

    def replace(self, **changes: Any) -> Tool[P, R_co]:
        if changes.get("name", self.name) != self.name:
            changes.setdefault("earlier_names", self.all_names)
        return msgspec.structs.replace(self, **changes)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Calls `execute`: a decorated function can still be called as before."""
        return self.execute(*args, **kwargs)


class ToolOutcome(Struct, frozen=True, omit_defaults=True):
    """The result of one call, successful or not."""

    content: Content
    error: str = ""
    """Empty, or the kind of failure.

    unknown_tool | invalid_args | timeout | exception | denied | cancelled | unknown_outcome | rejected
    """
    elapsed: float = 0.0
    full: str | None = None
    """The text before `content` was cut; None when it was not."""
    artifacts: tuple[Artifact, ...] = ()
    final: bool = False
    extras: Mapping[str, Any] = {}
    usage: Usage = NO_USAGE
    executed: bool = True
    """False when nothing was executed (unknown tool, invalid arguments): safe to try again."""
    source: str = ""
    """Where it comes from, if from outside."""
    waiting: tuple[ToolCall, ...] = ()
    """Calls inside this one that wait for a person."""
    why: Mapping[str, str] = {}
    """Why each of them waits, by its id."""
    task_successful: bool | None = None
    """Of a final result: what is said about having done the task."""
    ledger: tuple[LedgerEntry, ...] = ()
    """What an agent that was asked has done."""
    instead: Mapping[str, Any] = {}
    """Arguments with which the call has to be made instead."""
    exception: BaseException | None = None
    """What the tool raised: for the developer (log, `result.steps`), never for the model, and never stored."""


class Limits(Struct, frozen=True):
    """The settings for every tool call of a run."""

    timeout: float | None = None
    """Overrides each tool's own time-out."""
    max_chars: int = 12_000
    error_detail: Literal["class", "message", "full"] = "class"
    unknown_args: Literal["prune", "reject", "schema"] = "reject"
    """Arguments that the schema does not name: dropped, refused, or left to the schema's `additionalProperties`."""
