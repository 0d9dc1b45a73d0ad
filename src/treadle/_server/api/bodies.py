"""Types of request and response bodies; the OpenAPI document is made from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from treadle._journal.base import RunInfo
from treadle._journal.catalog.values import RunSummary
from treadle._server.api.content import AudioItem, FileItem, ImageItem, In, Items, Text
from treadle._types.events import LedgerEntry

Name = Annotated[str, Meta(min_length=1, max_length=200)]
RunId = Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{8,64}$")]


class PastMessage(In, frozen=True):
    role: Literal["user", "assistant", "system"]
    content: Text


class RunSettings(In, frozen=True):
    """Settings a client may change for one run; the others belong to the operator."""

    answer: Literal["direct", "synthesize", "complete"] | None = None
    stream_thoughts: bool | None = None
    max_iterations: Annotated[int, Meta(ge=1, le=1000)] | None = None
    """Not more than the agent's own."""
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None


class NewRun(In, frozen=True):
    question: Text | Items
    agent: Annotated[str, Meta(max_length=200)] = ""
    """The server's first agent when not given."""
    model: Annotated[str, Meta(max_length=200)] = ""
    """One of the agent's `models`; its own when not given."""
    preset: Annotated[str, Meta(max_length=200)] = ""
    """One of the agent's `presets`; its own when not given."""
    conversation: Annotated[str, Meta(max_length=64, pattern="^[A-Za-z0-9_.-]*$")] = ""
    """The conversation to continue; a new one when not given."""
    follows: Annotated[str, Meta(max_length=64, pattern="^[A-Za-z0-9_.-]*$")] = ""
    """Which run of the conversation it continues, where it has branches; the newest when not given."""
    history: Annotated[list[PastMessage], Meta(max_length=1000)] = []
    """Earlier messages, for clients that keep conversations themselves."""
    settings: RunSettings = RunSettings()
    tools: Annotated[list[ClientTool], Meta(max_length=128)] = []
    """Tools whose calls the caller executes."""
    output_schema: dict[str, Any] | None = None
    """The JSON Schema of the answer, an object: the run's `output` fits it."""
    run_id: RunId | None = None
    """Choose it yourself to make the request safe to repeat. One that does not begin with the `id_prefix` of the
    session stands for the `run_id` that is returned."""
    stream: Literal["plain", "full", "items"] | None = None
    """Answer with the run's events, as `GET /api/runs/{run_id}/events` gives them with this `detail`."""


class NewMessage(In, frozen=True):
    text: Text
    parts: Annotated[list[ImageItem | AudioItem | FileItem], Meta(max_length=20)] = []
    """Images, sound and files that go with it."""


class Decision(In, frozen=True):
    """About one call (`call_id` and `allow`), or with `all` about every call that waits."""

    call_id: Annotated[str, Meta(max_length=200)] = ""
    allow: bool | None = None
    """Only `true` allows the call."""
    all: bool | None = None
    """Instead of `call_id` and `allow`: allow (`true`) or refuse (`false`) every call that waits."""
    args: dict[str, Any] | None = None
    """Arguments that take the place of the model's. They are validated like those; the log has both."""
    always: bool = False
    """Allow every later call of this tool in this run, too."""
    note: Annotated[str, Meta(max_length=2000)] = ""
    """Shown to the model when the call is refused."""


class CallResult(In, frozen=True):
    """The result of a call that the caller executes: `content`, or `error` with what went wrong."""

    call_id: Annotated[str, Meta(min_length=1, max_length=200)]
    content: Annotated[str, Meta(max_length=1_000_000)] | Items = ""
    """Text, or parts. Data is sent as the text of its JSON."""
    error: Annotated[str, Meta(max_length=20_000)] = ""


class ClientTool(In, frozen=True):
    """A tool that the caller executes: a call pauses the run until `POST /api/runs/{run_id}/results` has its result."""

    name: Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{1,64}$")]
    description: Annotated[str, Meta(max_length=20_000)] = ""
    parameters: dict[str, Any] | None = None
    """The JSON Schema of its arguments."""


class Fork(In, frozen=True):
    at: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    """The last record the new run shares with the old one; the one before its last model call when not given."""
    message: Annotated[str, Meta(max_length=200_000)] = ""
    """A message to the new run before it continues."""
    question: Annotated[str, Meta(max_length=200_000)] = ""
    """Asked instead of the old question; only with `at: 0`."""
    branch: bool = False
    """Stay in the conversation, in place of the old run."""


class Login(In, frozen=True):
    token: Annotated[str, Meta(min_length=1, max_length=1000)]


class ConversationQuery(In, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 100
    """How many runs are considered, newest first."""


class TurnsQuery(In, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 1000
    """How many runs of the conversation, the newest ones."""


class RecordsQuery(In, frozen=True):
    after: Annotated[int, Meta(ge=-1, le=2**53)] = -1
    limit: Annotated[int, Meta(ge=1, le=1000)] = 500


class EventsQuery(In, frozen=True):
    detail: Literal["plain", "full", "items"] = "plain"
    after: Annotated[str, Meta(max_length=40, pattern=r"^(\d{1,15}(\.\d{1,15})?)?$")] = ""
    """Like the header `Last-Event-ID`, for clients that cannot set one."""


class ContentQuery(In, frozen=True):
    download: bool = False


class ArtifactQuery(ContentQuery, frozen=True):
    call_id: Annotated[str, Meta(max_length=200)] = ""
    """Which call's artifact, when several have the same name; the newest when not given."""


# ---- responses


class Problem(Struct, frozen=True):
    type: str
    message: str
    code: int


class ErrorBody(Struct, frozen=True):
    error: Problem
    type: Literal["error"] = "error"


class UsageBody(Struct, frozen=True):
    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    requests: int
    tool_calls: int
    cost: float | None
    estimated_tokens: int
    """The part of the tokens that the provider did not report."""


class ComponentBody(Struct, frozen=True):
    calls: int
    elapsed: float
    usage: UsageBody


class ArtifactBody(Struct, frozen=True):
    name: str
    mime: str
    summary: str
    size: int
    call_id: str


class WaitingCall(Struct, frozen=True):
    """A call that waits for a person's decision, or (`external`) for the result that the caller gives."""

    call_id: str
    tool_name: str
    tool_args: dict[str, Any]
    why: str
    """Why it is not simply made."""
    how: str
    """How to decide, or to give the result: the request to send."""
    external: bool


class RunLine(Struct, frozen=True):
    """One line about a run, for lists."""

    run_id: str
    parent: str
    agent: str
    model: str
    question: str
    conversation: str
    user: str
    status: str
    """running | idle (nobody drives it) | paused | parked | finished"""
    stop_reason: str
    created: float
    updated: float
    records: int
    cursor: str
    """Its place in the list: `after` continues behind it."""
    summary: RunSummary | None
    """What it took; null before it has ended."""
    tags: tuple[str, ...]
    note: str
    thumb: str
    """up, down, or empty"""
    title: str


def line(info: RunInfo) -> RunLine:
    return RunLine(**msgspec.structs.asdict(info))


def lines(infos: Iterable[RunInfo]) -> list[RunLine]:
    return [line(info) for info in infos]


class RunBody(Struct, frozen=True):
    """The current state of a run."""

    run_id: str
    parent: str
    agent: str
    model: str
    dialect: str
    conversation: str
    question: str
    status: Literal["running", "idle", "paused", "parked", "finished"]
    """idle: not finished, and nobody drives it. parked: it was resumed several times without progress.
    `POST /api/runs/{run_id}/resume` continues either."""
    live: bool
    """Whether this server drives it now."""
    stop_reason: str
    success: bool
    answer: str
    output: Any
    """The typed answer, where the agent or the caller asked for one."""
    ledger: list[LedgerEntry]
    """What became of each call that acts: done, failed, refused, or unknown."""
    error: str
    iterations: int
    created: float
    updated: float
    elapsed: float
    records: int
    tools: list[str]
    usage: UsageBody
    components: dict[str, ComponentBody]
    counters: dict[str, int]
    breaks: list[str]
    artifacts: list[ArtifactBody]
    waiting: list[WaitingCall]
    children: list[RunLine]
    tags: tuple[str, ...]
    note: str
    thumb: str


class Conversation(Struct, frozen=True):
    """One line about a conversation, for lists."""

    id: str
    title: str
    agent: str
    runs: int
    last_run: str
    status: str
    """Of its newest run: running | idle | paused | parked | finished"""
    created: float
    updated: float


class ConversationList(Struct, frozen=True):
    conversations: list[Conversation]


class QuestionFile(Struct, frozen=True):
    kind: Literal["image", "audio", "file"]
    mime: str
    name: str


class TurnLine(RunLine, frozen=True):
    """A run of a conversation. Runs that follow the same one are branches."""

    follows: str
    """The run it continues; empty for those that begin the conversation."""
    files: list[QuestionFile]
    """What was sent with the question; `GET /api/runs/{run_id}/files/{number}` has the content of each, from 0."""


class ConversationBody(Struct, frozen=True):
    id: str
    runs: list[TurnLine]
    """Oldest first."""
    more: bool
    """Whether there are earlier runs than those."""


class RecordBody(Struct, frozen=True):
    seq: int
    time: float
    type: str
    event: dict[str, Any]


class RecordList(Struct, frozen=True):
    records: list[RecordBody]
    more: bool


class RequestBody(Struct, frozen=True):
    """A request to the model, rendered again from the records before it."""

    seq: int
    component: str
    iteration: int
    model: str
    digest: str
    verified: bool
    """Whether the rendered request has the digest that was recorded when it was sent."""
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    options: dict[str, Any]


class Created(Struct, frozen=True):
    run_id: str
    conversation: str
    events: str
    """The path of its event stream."""


def created(run_id: str, conversation: str) -> Created:
    return Created(run_id, conversation, f"/api/runs/{run_id}/events")


class Accepted(Struct, frozen=True):
    id: str


class Recalled(Struct, frozen=True):
    recalled: bool
    """False when the run had read it already."""


class Done(Struct, frozen=True):
    ok: bool


class Health(Struct, frozen=True):
    status: str
    version: str
    runs: int
    streams: int


class Session(Struct, frozen=True):
    user: str
    needs_token: bool
    id_prefix: str = ""
    """How ids of runs begin that this user's clients choose; another id is turned into one that does."""
