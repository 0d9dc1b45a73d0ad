"""Settings: groups of keywords for callers, and the one frozen value that both groups and flat names end in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from treadle._models.transport.retry import RetryPolicy
from treadle._safety.bounds import (
    Amount,
    Count,
    NotNegative,
    Pause,
    Positive,
    Seconds,
    Whole,
    check_fields,
)
from treadle._tools.base import Limits
from treadle._types.errors import ConfigError, WrongValueError, nearest
from treadle._types.intent import Intent, intent_of

NOT_SET: Any = msgspec.UNSET
"""The default of every field of a group."""
_ALL = 1_000_000
PROVENANCE = ("off", "ask", "deny")
CHANGED_TOOLS = ("run", "ask", "refuse")
"""From the least to the most careful."""


class RepairPolicy(Struct, frozen=True, kw_only=True):
    """What to do about replies that cannot be read and calls that fail."""

    max_parse: Amount = 2
    """How often an unreadable reply is sent back before its text is taken as the (unsuccessful) answer."""
    max_tool: Amount = 0
    """How often a failed tool call is given to the model for repair, beside the ordinary observation."""
    backoff: Pause = 0.0
    """Seconds before a repair, times the number of the attempt."""
    separate_call: bool = False
    """Repair in a call of its own at low temperature, instead of in the next step of the loop."""
    counts_as_iteration: bool = True
    """Whether a repair uses up one of `max_iterations`."""
    missing: bool | Literal["strict"] = False
    """Also ask again when a reply is plain prose; in the end the prose is the answer, with `strict` an unsuccessful
    one."""
    exhausted: Literal["answer", "observation"] = "answer"
    """What an unreadable action becomes in the end: the (unsuccessful) answer, or an observation."""

    def __post_init__(self) -> None:
        check_fields(self, "RepairPolicy.")


class Budget(Struct, frozen=True, kw_only=True):
    """Upper bounds on what a run, with everything it starts, may spend."""

    tokens: Count | None = None
    """Read and written, all in all."""
    input_tokens: Count | None = None
    """Read by models."""
    output_tokens: Count | None = None
    """Written by models."""
    cost: Positive | None = None
    """US dollars; needs a model whose prices are known."""
    requests: Count | None = None
    """To models."""
    tool_calls: Amount | None = None
    """That are executed."""
    seconds: Seconds | None = None
    """From the start of the run on."""

    def __post_init__(self) -> None:
        check_fields(self, "Budget.")


class SharedBudget(Budget, frozen=True, kw_only=True):
    """Upper bounds (the fields of `Budget`) on what several runs spend together, in whatever processes on one journal.
    `seconds` have no meaning here."""

    by: Literal["user", "tenant", "agent", "all"] = "all"
    """Whose runs: those of each user, of each tenant (of the users `acme/ann` and `acme/bob`: `acme`), of each agent,
    or all."""
    per: Literal["day", "month", "ever"] = "day"
    """After what time it begins anew, in UTC."""

    def __post_init__(self) -> None:
        if self.seconds is not None:
            raise WrongValueError("SharedBudget has no seconds: give the run a Budget(seconds=...)")
        check_fields(self, "SharedBudget.")


class SettingGroup(Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """Some settings that belong together, as one keyword of `Agent(...)` and of a run. What is not set in a group
    stays as the preset or the agent has it."""

    def changes(self) -> dict[str, Any]:
        """The settings that were set, by name."""
        return {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not NOT_SET}


class RunLimits(SettingGroup, frozen=True, kw_only=True):
    """How long a run may go on, what it may spend, and what happens then."""

    max_iterations: int = NOT_SET
    """How often the model may think before it has to have answered."""
    on_limit: Literal["fallback", "raise", "force_answer", "salvage"] = NOT_SET
    """What happens then: `force_answer` asks once more, without tools; `salvage` and `fallback` give what was found so
    far; `raise` raises `MaxIterationsError`."""
    summarize_progress: bool = NOT_SET
    """With `on_limit="salvage"`: spend one more call on a summary of the progress."""
    budget: Budget | None = NOT_SET
    """What the run may spend (below); reserved before it is spent."""
    budgets: Sequence[SharedBudget] = NOT_SET
    """What the run may spend together with other runs (below); needs a journal."""
    on_budget: Literal["raise", "force_answer"] = NOT_SET
    """What happens when it is used up: `BudgetExhaustedError`, or one last answer from what is reserved for it."""
    on_error: Literal["raise", "result"] = NOT_SET
    """When a run ends in an error without an answer: raise `RunError` with the result inside, or return that result."""
    raise_errors: bool = NOT_SET
    """Raise the model's last error out of the run instead of reporting it in the result."""


class ModelSettings(SettingGroup, frozen=True, kw_only=True):
    """How the model is asked, and what happens when a request or a reply fails."""

    temperature: float | None = NOT_SET
    """How freely the model chooses its words; None leaves it to the provider."""
    max_tokens: int | None = NOT_SET
    """The longest reply; None leaves it to the provider."""
    seed: int | None = NOT_SET
    """For models that can repeat themselves."""
    dialect: str = NOT_SET
    """auto | auto:json (native, else json) | native | schema | json | direct | compact | brief | array | action |
    code"""
    complete_name: str = NOT_SET
    """The call that means "done" in the array dialect."""
    probe: bool = NOT_SET
    """At first contact with an unknown server, try in two to four small requests whether native tool calls work. On at
    the terminal."""
    retry: RetryPolicy = NOT_SET
    """How often a failed model call is made again (below)."""
    repair: RepairPolicy = NOT_SET
    """What happens to replies that cannot be read and calls that fail (below)."""


class ToolSettings(SettingGroup, frozen=True, kw_only=True):
    """How tools are run, and which calls need approval."""

    max_parallel: int | None = NOT_SET
    """How many calls of one reply run at the same time; None: all of them."""
    max_calls: int | None = NOT_SET
    """How many calls of one reply are run; those after them are answered with an error. None: all of them."""
    one_tool_per_step: bool | Literal["text"] = NOT_SET
    """Run only the first call of a reply and reject the others with an error; `text`: only in text dialects."""
    tool_timeout: float | None = NOT_SET
    """Overrides every tool's own time-out."""
    max_observation_chars: int = NOT_SET
    """How much of a tool's result the model is shown; the log keeps all of it."""
    error_detail: Literal["class", "message", "full"] = NOT_SET
    """What the model is told of an exception in a tool: its class, its message, too, or the traceback."""
    unknown_args: Literal["prune", "reject", "schema"] = NOT_SET
    """Arguments that a tool's schema does not name: `prune` drops them, `reject` refuses the call, `schema` leaves it
    to `additionalProperties`."""
    repaired_args: Literal["pure", "all"] = NOT_SET
    """Which tools run with arguments that had to be repaired: those with `effect="pure"`, or `all`."""
    ask: Sequence[str] = NOT_SET
    """Tools that need approval besides those that say so themselves, wherever they come from: their names, or `all`."""
    provenance: Literal["off", "ask", "deny"] = NOT_SET
    """After a result of an `untrusted` tool: `ask` about calls of `unsafe` tools whose arguments are not in the user's
    own words, `deny` them, or neither."""
    may: Intent | Literal["derive"] | Sequence[str | Mapping[str, Any]] | Mapping[str, Any] | None = NOT_SET
    """What a run may do without a question ([how](../howto/intent.md)); what is outside of it is asked about. `derive`:
    the model chooses it among the values in the person's words."""
    changed_tools: Literal["run", "ask", "refuse"] = NOT_SET
    """Calls of tools that a deployment has changed since the run started: `run` them, `ask` a person, or `refuse`
    them."""
    imports: Sequence[str] | None = NOT_SET
    """The modules that code may import (preset `code`); None: all that the sandbox has."""
    executor: Literal["monty", "python"] = NOT_SET
    """What runs the code (preset `code`): `monty`, a small interpreter, or `python`, a real one in bubblewrap with
    `packages`."""
    packages: Sequence[str] = NOT_SET
    """Packages for `executor="python"`; an environment with them is made once and used again."""
    files: Sequence[str] = NOT_SET
    """Files for the code of a run (preset `code`), which finds copies of them in /work."""


class ContextSettings(SettingGroup, frozen=True, kw_only=True):
    """What goes into a request: messages and tools."""

    max_history_messages: int | None = NOT_SET
    """How many messages a request has at most; the oldest are left out."""
    context_budget: int | None = NOT_SET
    """Tokens one request may have; the model's window (less the answer's share) when not given."""
    selection_threshold: int | None = NOT_SET
    """Above this many tools, one call picks those to offer; None never does."""
    selection_max: int = NOT_SET
    """How many it may pick."""


class AnswerSettings(SettingGroup, frozen=True, kw_only=True):
    """How the answer is written, and what is shown and logged beside it."""

    answer: Literal["direct", "synthesize", "complete"] = NOT_SET
    """`direct`: the loop's last words. Otherwise a request of its own: `synthesize` from the question and the results,
    `complete` as the next turn of the conversation."""
    synthesis_chars: int = NOT_SET
    """How much of each tool result the synthesis reads."""
    receipts: Literal["off", "mark", "correct", "refuse"] = NOT_SET
    """When a call that acts was not done and the answer does not say so: `mark` adds a line to it, `correct` first
    sends it back to the model, `refuse` does that and gives no answer ([more](../howto/receipts.md))."""
    stream_thoughts: bool = NOT_SET
    """Stream what the model writes inside the loop."""
    markers: bool = NOT_SET
    """Put `<__final_answer__>` markers around the answer in the text view."""
    verbose: bool = NOT_SET
    """Log what the tools say, not only that they ran, to the agent's `logger`."""


class Settings(Struct, frozen=True, kw_only=True):
    """All settings of a run as one frozen value: the fields of all groups, which describe them."""

    # RunLimits
    max_iterations: Count = 50
    on_limit: Literal["fallback", "raise", "force_answer", "salvage"] = "force_answer"
    summarize_progress: bool = False
    budget: Budget | None = None
    budgets: tuple[SharedBudget, ...] = ()
    on_budget: Literal["raise", "force_answer"] = "raise"
    on_error: Literal["raise", "result"] = "raise"
    raise_errors: bool = False
    # ModelSettings
    temperature: NotNegative | None = None
    max_tokens: Count | None = None
    seed: Whole | None = None
    dialect: str = "auto"
    complete_name: str = "__complete_task__"
    probe: bool = False
    retry: RetryPolicy = RetryPolicy()
    repair: RepairPolicy = RepairPolicy()
    # ToolSettings
    max_parallel: Count | None = 32
    max_calls: Count | None = 64
    one_tool_per_step: bool | Literal["text"] = False
    tool_timeout: Seconds | None = None
    max_observation_chars: Count = 12_000
    error_detail: Literal["class", "message", "full"] = "class"
    unknown_args: Literal["prune", "reject", "schema"] = "reject"
    repaired_args: Literal["pure", "all"] = "pure"
    ask: tuple[str, ...] = ()
    provenance: Literal["off", "ask", "deny"] = "off"
    may: Intent | Literal["derive"] | None = None
    changed_tools: Literal["run", "ask", "refuse"] = "run"
    imports: tuple[str, ...] | None = None
    executor: Literal["monty", "python"] = "monty"
    packages: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    # ContextSettings
    max_history_messages: Count | None = None
    context_budget: Count | None = None
    selection_threshold: Amount | None = 12
    selection_max: Count = 6
    # AnswerSettings
    answer: Literal["direct", "synthesize", "complete"] = "direct"
    synthesis_chars: Count = 2_000
    receipts: Literal["off", "mark", "correct", "refuse"] = "mark"
    stream_thoughts: bool = False
    markers: bool = False
    verbose: bool = False

    def __post_init__(self) -> None:
        check_fields(self)

    def with_changes(self, changes: Mapping[str, Any]) -> Settings:
        """Replace some settings, given in groups or by their flat names; an unknown name or a wrong value is a clear
        error."""
        if not changes:
            return self
        changes = flat_settings(changes)
        for name in changes:
            if name not in self.__struct_fields__:
                fields = self.__struct_fields__
                hint = _ELSEWHERE.get(name) or nearest(name, (*fields, *_KEYWORDS), sorted(fields), 0.7)
                raise ConfigError(f"unknown setting {name!r}; {hint}")
        if changes.get("unknown_args") == "repair":
            raise ConfigError(
                'unknown_args="repair" was removed, because it did the same as "reject"; expected one of: "reject" '
                '(add repair=RepairPolicy(max_tool=1) to have the model fix the call), "prune", "schema"'
            )
        if changes.get("may") not in (None, "derive"):
            changes = {**changes, "may": intent_of(changes["may"])}
        plain = {name: getattr(self, name) for name in self.__struct_fields__} | changes
        if plain["may"] is not None and plain["provenance"] == "off":
            plain["provenance"] = "ask"
        try:
            return msgspec.convert(plain, Settings, from_attributes=True)
        except msgspec.ValidationError as error:
            raise WrongValueError(f"a setting has a wrong value: {error}{_right_value(str(error))}") from None

    @property
    def parallel(self) -> int:
        """`max_parallel` as a number."""
        return _ALL if self.max_parallel is None else self.max_parallel

    def asks_about(self, names: Iterable[str]) -> bool:
        """Return whether `ask` has one of these names of a tool (`Tool.all_names`)."""
        return "all" in self.ask or any(name in self.ask for name in names)

    def with_recorded(self, recorded: dict[str, Any], changes: dict[str, Any]) -> Settings:
        """These settings with those of a recorded run and `changes` to them. What must be asked about now is asked
        about, whatever held when it started. A number that older versions allowed and this one does not is left out:
        the run must still load."""
        recorded = dict(recorded)
        if "ask" in recorded:
            recorded["ask"] = tuple(dict.fromkeys((*recorded["ask"], *self.ask)))
        for name, steps in (("provenance", PROVENANCE), ("changed_tools", CHANGED_TOOLS)):
            if recorded.get(name) in steps:
                recorded[name] = max(recorded[name], getattr(self, name), key=steps.index)
        if self.budgets:  # of whoever operates it now
            recorded.pop("budgets", None)
        try:
            return self.with_changes({**recorded, **changes})
        except ConfigError:
            kept = {name: value for name, value in recorded.items() if not self._refuses_number(name, value)}
            return self.with_changes({**kept, **changes})

    def _refuses_number(self, name: str, value: object) -> bool:
        if not isinstance(value, int | float | dict) or name not in self.__struct_fields__:
            return False
        try:
            self.with_changes({name: value})
        except ConfigError:
            return True
        return False

    @property
    def limits(self) -> Limits:
        return Limits(
            timeout=self.tool_timeout,
            max_chars=self.max_observation_chars,
            error_detail=self.error_detail,
            unknown_args=self.unknown_args,
        )

    def asdict(self) -> dict[str, Any]:
        """As plain JSON values, for the log; only what differs from the defaults."""
        return _changed(self)


PresetName = Literal[
    "default", "two_phase", "streaming", "strict", "reflective", "planned", "code", "coding", "research"
]  # fmt: skip
"""The presets that come with Treadle. For a name that is known at run time only: `presets.get(name)`."""
PluginFactory = Callable[[Settings], list[Any]]


def no_plugins(settings: Settings) -> list[Any]:
    return []


class Preset(Struct, frozen=True):
    """Settings that belong together, and the plug-ins they need. One of your own: `Agent(..., preset=Preset("mine",
    Settings(max_iterations=3)))`."""

    name: str
    settings: Settings
    plugins: PluginFactory = no_plugins


GROUPS: dict[str, type[SettingGroup]] = {
    "limits": RunLimits,
    "model_settings": ModelSettings,
    "tool_settings": ToolSettings,
    "context": ContextSettings,
    "answering": AnswerSettings,
}
"""The groups, by the keyword that takes each."""


def flat_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in `options` by their flat names: those inside groups, and those that were passed by themselves."""
    flat = {name: value for name, value in options.items() if name not in GROUPS}
    if len(flat) == len(options):
        return flat
    for keyword, kind in GROUPS.items():
        group = options.get(keyword)
        if group is None:
            continue
        if not isinstance(group, kind):
            hint = "; for the objects that your tools use, write deps=..." if keyword == "context" else ""
            raise ConfigError(f"{keyword} takes {kind.__name__}(...), not {type(group).__name__}{hint}")
        for name, value in group.changes().items():
            if name in flat:
                raise ConfigError(f"{name} was set twice: by itself, and in {keyword}=")
            flat[name] = value
    return flat


_KEYWORDS = (*GROUPS, "system", "instructions", "plugins", "skills", "output_type", "deps", "journal", "fallbacks",
             "prompts", "preset", "name", "model", "tools", "history", "conversation")  # fmt: skip
"""What is no setting, and may have been meant."""
_CHECKED = "write output_type=... with a type that checks itself (pydantic), or a plug-in with before_finish"
_ELSEWHERE = {
    "system_prompt": "write system=...",
    "prompt": "write system=..., or prompts={name: text} for the prompts of the engine",
    "result_type": "write output_type=...",
    "response_model": "write output_type=...",
    "response_format": "write output_type=... with a type or a JSON Schema",
    "output_schema": "write output_type=... with a type or a JSON Schema",
    "output_validator": _CHECKED,
    "validators": _CHECKED,
    "guardrails": "write plugins=[Guardrail(...)], from treadle.plugins",
    "hooks": "write plugins=[...] with an object that has the hooks",
    "callbacks": "write plugins=[...] with an object that has the hooks, or watch the events of agent.stream(...)",
    "memory": "write plugins=[Memory()], from treadle.plugins; a conversation is Conversation(agent)",
    "checkpointer": "write journal='runs.db'",
    "stream": "use agent.stream(question), or agent.text(question) without await",
    "timeout": "write budget=Budget(seconds=...) for a run, tool_timeout=... for its tools",
    "max_turns": "write max_iterations=...",
    "max_steps": "write max_iterations=...",
    "recursion_limit": "write max_iterations=...",
    "max_retries": "write retry=RetryPolicy(attempts=...)",
    "retries": "write retry=RetryPolicy(attempts=...)",
    "handoffs": "write tools=[other.as_handoff()]",
    "mcp_servers": "write plugins=[McpTools(server)]",
    "toolsets": "write tools=[...]",
    "session": "use Conversation(agent, id)",
    "llm": "the model is the first argument: Agent('provider:model', ...)",
}
"""What other engines call what is here under another name."""


def _right_value(problem: str) -> str:
    """Return what to write, where the message of the check does not say it."""
    field = problem.rpartition("`$.")[2].rstrip("`")
    kind = get_type_hints(Settings).get(field)
    if get_origin(kind) is Literal:
        return f"; expected one of: {', '.join(map(str, get_args(kind)))}"
    return _RIGHT_VALUES.get(field, "")


_RIGHT_VALUES = {
    "budget": ": write budget=Budget(tokens=20_000), or cost=, requests=, seconds=",
    "retry": ": write retry=RetryPolicy(attempts=5)",
    "repair": ": write repair=RepairPolicy(max_parse=3)",
    "budgets": ': write budgets=[SharedBudget(by="user", per="day", cost=2.0)]',
    "ask": ": it is a list of names of tools, as in ask=['pay']",
    "imports": ": it is a list of modules",
    "files": ": it is a list of paths",
}
_DEFAULT = Settings()


@lru_cache(maxsize=64)
def _changed(settings: Settings) -> dict[str, Any]:
    changed = {
        name: getattr(settings, name)
        for name in settings.__struct_fields__
        if getattr(settings, name) != getattr(_DEFAULT, name)
    }
    return msgspec.to_builtins(changed)
