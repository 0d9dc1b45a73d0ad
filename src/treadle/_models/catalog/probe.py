"""Finds out with real calls what a model can do: one small task per ability, with one right outcome.

Claims and reality often differ: calls arrive as text, a schema is accepted and ignored, a stream comes in one piece. A
finding is True or False only when the reply shows it; a busy or silent server gives None.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from msgspec import Struct

from treadle._models.base import Model, complete
from treadle._models.catalog.probed_profiles import ProbedProfile
from treadle._models.transport.wire import read_as
from treadle._types.errors import ModelError, RequestRefusedError, TransientModelError
from treadle._types.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from treadle._types.profile import ABILITIES, Profile
from treadle._types.request import Delta, OutputFormat, RawCall, Reply, Request, TextDelta, ToolSchema
from treadle._types.usage import NO_USAGE, Usage

TIMEOUT = 120.0
MAX_TOKENS = 512
MAX_TOKENS_THINKING = 4096
MAX_NOTE_CHARS = 160

WEATHER = ToolSchema(
    "get_weather",
    "Get the current weather of one city.",
    {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Name of the city"}},
        "required": ["city"],
    },
)
DEGREES = "31"
# A model that is not constrained by the schema would not write this.
ENUM_VALUE = "quartz-7"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"stone": {"type": "string", "enum": [ENUM_VALUE]}, "count": {"type": "integer"}},
    "required": ["stone", "count"],
    "additionalProperties": False,
}

ANSWERS, RESULTS, USAGE = "answers", "tool_result", "usage"
"""What is probed besides the abilities of a profile."""
Verdict = tuple[bool | None, str]


class Finding(Struct, frozen=True, omit_defaults=True):
    ability: str
    claimed: bool | None
    """None: the profile has no such ability."""
    works: bool | None
    """None: it could not be found out."""
    note: str = ""
    """How it failed, or a remark."""
    elapsed: float = 0.0


class Report(Struct, frozen=True, omit_defaults=True):
    provider: str
    model: str
    address: str
    findings: tuple[Finding, ...]
    dialect: Literal["native", "schema", "json"]
    reason: str
    """Why this dialect."""
    accepts_temperature: bool | None = None
    window: int | None = None
    """As the server states it."""
    usage: Usage = NO_USAGE
    probed: float = 0.0

    def works(self, ability: str) -> bool | None:
        return next((finding.works for finding in self.findings if finding.ability == ability), None)

    @property
    def answers(self) -> bool:
        return self.works(ANSWERS) is True

    def probed_profile(self) -> ProbedProfile:
        """Return what is stored for later runs: only abilities with a finding; the others stay as claimed."""
        abilities = {f.ability: f.works for f in self.findings if f.ability in ABILITIES and f.works is not None}
        return ProbedProfile(
            self.provider,
            self.model,
            self.address,
            self.dialect,
            abilities,
            self.window,
            self.accepts_temperature,
            self.probed,
        )


async def probe(
    model: Model,
    claimed: Profile | None = None,
    *,
    timeout: float = TIMEOUT,
    window: int | None = None,
    on_finding: Callable[[Finding], None] | None = None,
    brief: bool = False,
) -> Report:
    """Try every ability of `model`; `claimed` is its usual profile, and `timeout` limits one reply. A `brief` probe
    tries only what decides about the dialect: two to four requests.

    A model omits from requests what its profile lacks, so `model` needs a profile with every ability
    (`treadle._models.catalog.probe_target` builds such a model).
    """
    return await _Probe(model, claimed or model.profile, timeout, on_finding).run(window, brief)


class _Probe:
    def __init__(
        self, model: Model, claimed: Profile, timeout: float, on_finding: Callable[[Finding], None] | None
    ) -> None:
        self.model = model
        self.claimed = claimed
        self.timeout = timeout
        self.on_finding = on_finding
        self.findings: dict[str, Finding] = {}
        self.usage = NO_USAGE
        self.temperature: float | None = 0.0
        self.max_tokens: int | None = MAX_TOKENS_THINKING if claimed.reasoning else MAX_TOKENS
        self.reasoned = ""
        self.call: RawCall | None = None

    async def run(self, window: int | None, brief: bool) -> Report:
        await self.check(ANSWERS, self.answers)
        if self.works(ANSWERS):
            await (self.what_decides() if brief else self.everything())
        dialect, reason = self.dialect()
        return Report(
            provider=getattr(self.model, "provider", ""),
            model=self.model.name,
            address=getattr(self.model, "address", ""),
            findings=tuple(self.findings.values()),
            dialect=dialect,
            reason=reason,
            accepts_temperature=False if self.temperature is None else None,
            window=window,
            usage=self.usage,
            probed=time.time(),
        )

    async def everything(self) -> None:
        await self.check("streaming", self.streaming)
        await self.check("tool_call", self.tools)
        await self.check(RESULTS, self.results)
        await self.check("parallel_calls", self.parallel)
        await self.check("forced_tool", self.forced)
        await self.check("json_mode", self.json_mode)
        await self.check("json_schema", self.json_schema)
        if self.claimed.grammar:
            await self.check("grammar", self.grammar)
        if self.works("json_schema"):
            await self.check("logprobs", self.logprobs)
        note = self.reasoned or "no reasoning was shown"
        self.add(Finding("reasoning", self.claimed.reasoning, True if self.reasoned else None, note))

    async def what_decides(self) -> None:
        await self.check("tool_call", self.tools)
        if self.works("tool_call"):
            await self.check(RESULTS, self.results)
        else:
            await self.check("json_schema", self.json_schema)

    def dialect(self) -> tuple[Literal["native", "schema", "json"], str]:
        if self.claimed.assisted and self.claimed.constrained and (self.works("json_schema") or self.works("grammar")):
            return "schema", "a model with few parameters, and its replies can be constrained"
        if self.works("tool_call") and self.works(RESULTS) is not False:
            return "native", "a native call came back parsed"
        if self.works("json_schema") or self.works("grammar"):
            return "schema", "native calls do not work, constrained replies do"
        return "json", "neither native calls nor constrained replies work"

    # ---- running a check

    async def check(self, ability: str, attempt: Callable[[], Awaitable[Verdict]]) -> None:
        begun = time.monotonic()
        try:
            works, note = await attempt()
        except TimeoutError:
            works, note = None, f"no complete reply within {self.timeout:g} s"
        except TransientModelError as error:
            works, note = None, str(error)
        except RequestRefusedError as error:
            works, note = False, f"refused: {error}"
        except ModelError as error:
            works, note = False, str(error)
        claimed = bool(getattr(self.claimed, ability)) if ability in ABILITIES else None
        self.add(Finding(ability, claimed, works, _short(note), round(time.monotonic() - begun, 3)))

    def add(self, finding: Finding) -> None:
        self.findings[finding.ability] = finding
        if self.on_finding is not None:
            self.on_finding(finding)

    def works(self, ability: str) -> bool | None:
        finding = self.findings.get(ability)
        return finding.works if finding else None

    async def ask(
        self, *messages: Message | str, on_delta: Callable[[Delta], None] | None = None, **options: Any
    ) -> Reply:
        """One exchange, tried again once if the server is busy."""
        conversation = [UserMessage(message) if isinstance(message, str) else message for message in messages]
        request = Request(
            conversation, temperature=self.temperature, max_tokens=self.max_tokens, component="probe", **options
        )
        try:
            return await self.exchange(request, on_delta)
        except TransientModelError as error:
            await asyncio.sleep(min(error.retry_after or 1.0, 10.0))
            return await self.exchange(request, on_delta)

    async def exchange(self, request: Request, on_delta: Callable[[Delta], None] | None) -> Reply:
        async with asyncio.timeout(self.timeout):
            reply = await complete(self.model, request, on_delta)
        self.usage += reply.usage
        if reply.reasoning:
            self.reasoned = "reasoning comes apart from the answer"
        elif reply.usage.reasoning_tokens:
            self.reasoned = self.reasoned or "reasoning is counted, not shown"
        return reply

    # ---- the checks

    async def answers(self) -> Verdict:
        """Return whether it answers at all, and which of the usual settings it accepts."""
        reply = await self.first_reply("What is the capital of France? Answer with one word.")
        if not reply.text.strip() and reply.finish == "length" and self.max_tokens == MAX_TOKENS:
            self.max_tokens = MAX_TOKENS_THINKING
            reply = await self.ask("What is the capital of France? Answer with one word.")
        if self.max_tokens is not None and self.reasoned:
            self.max_tokens = MAX_TOKENS_THINKING
        counted = reply.usage.input_tokens > 0 and reply.usage.output_tokens > 0
        self.add(Finding(USAGE, None, counted, "" if counted else "the server does not report token counts"))
        if not reply.text.strip():
            return False, f"an empty reply ({reply.finish})"
        note = "" if "paris" in reply.text.lower() else f"but the answer is wrong: {reply.text}"
        return True, "it accepts no temperature" if self.temperature is None and not note else note

    async def first_reply(self, question: str) -> Reply:
        """The first reply, with the settings that are refused omitted: some models accept no temperature, some no limit
        on their tokens, or only under another name."""
        cap = self.max_tokens
        for self.temperature, self.max_tokens in ((0.0, cap), (None, cap), (0.0, None)):
            try:
                return await self.ask(question)
            except RequestRefusedError as error:
                if error.status not in (400, 422):
                    raise
        self.temperature = None
        return await self.ask(question)

    async def streaming(self) -> Verdict:
        pieces: list[str] = []
        reply = await self.ask(
            "Write the numbers from 1 to 12, separated by commas.",
            stream=True,
            on_delta=lambda delta: pieces.append(delta.text) if isinstance(delta, TextDelta) else None,
        )
        if self.works(USAGE) and not reply.usage.input_tokens:
            self.add(Finding(USAGE, None, True, "only in whole replies, not in streams"))
        if not pieces:
            return False, "nothing was streamed before the whole reply"
        if "".join(pieces).strip() != reply.text.strip():
            return False, "the streamed pieces do not add up to the reply"
        return (True, "") if len(pieces) > 1 else (False, "the whole reply came in one piece")

    async def tools(self) -> Verdict:
        reply = await self.ask("What is the weather in Paris right now? Use the tool get_weather.", tools=(WEATHER,))
        works, note = _right_call(reply, "paris")
        if works:
            self.call = reply.calls[0]
        return works, note

    async def results(self) -> Verdict:
        """Return whether the model accepts the result of a call and uses it."""
        if self.call is None:
            return _not_tried(self.works("tool_call"))
        call = self.call
        reply = await self.ask(
            "What is the weather in Paris right now? Use the tool get_weather.",
            AssistantMessage(calls=(ToolCall(call.id, call.name, read_as(dict[str, Any], call.arguments) or {}),)),
            ToolMessage(call.id, call.name, f"sunny, {DEGREES} degrees"),
            tools=(WEATHER,),
        )
        if DEGREES in reply.text:
            return True, ""
        if reply.calls:
            return None, "the result was accepted, but the model called again instead of answering"
        return None, f"the result was accepted, but the answer does not have it: {reply.text or 'an empty reply'}"

    async def parallel(self) -> Verdict:
        if self.call is None:
            return _not_tried(self.works("tool_call"))
        question = (
            "What is the weather in Paris and what is it in Rome? "
            "Call get_weather for both cities now, two calls in one reply."
        )
        reply = await self.ask(question, tools=(WEATHER,))
        cities = {str((read_as(dict[str, Any], call.arguments) or {}).get("city", "")).lower() for call in reply.calls}
        if any("paris" in city for city in cities) and any("rome" in city or "roma" in city for city in cities):
            return True, ""
        return False, f"{len(reply.calls)} of 2 calls came"

    async def forced(self) -> Verdict:
        refused = self.findings["tool_call"].note.startswith("refused")
        if refused:
            return _not_tried(False)
        reply = await self.ask("Hello!", tools=(WEATHER,), tool_choice=WEATHER.name)
        works, note = _right_call(reply, "")
        return works, note if works or "as text" in note else "the choice was ignored"

    async def json_mode(self) -> Verdict:
        reply = await self.ask(
            "Say hello to the reader in one short sentence. Write it as JSON.", format=OutputFormat("json")
        )
        if read_as(dict[str, Any], reply.text) is not None:
            return True, ""
        return False, "JSON with other text around it" if "{" in reply.text else f"no JSON: {reply.text}"

    async def json_schema(self) -> Verdict:
        wanted = OutputFormat("schema", schema=SCHEMA)
        reply = await self.ask("Say hello to the reader in one short sentence. Write it as JSON.", format=wanted)
        fields = read_as(dict[str, Any], reply.text)
        if fields is not None and fields.get("stone") == ENUM_VALUE and isinstance(fields.get("count"), int):
            return True, ""
        return False, f"the schema was ignored: {reply.text or 'an empty reply'}"

    async def logprobs(self) -> Verdict:
        """Return whether it tells what the model would have written, also where a constraint left it no choice."""
        wanted = OutputFormat("schema", schema=SCHEMA)
        reply = await self.ask("Name a stone. Write it as JSON.", format=wanted, decision_after='"stone": "')
        if not reply.options:
            return False, "the server tells no probabilities"
        others = [text for text in reply.options if not ENUM_VALUE.startswith(text) and not text.startswith(ENUM_VALUE)]
        return (True, "") if others else (False, "only of what the constraint leaves")

    async def grammar(self) -> Verdict:
        wanted = OutputFormat("grammar", grammar='root ::= "quartz-" [0-9]')
        reply = await self.ask("Say hello to the reader in one short sentence.", format=wanted)
        text = reply.text.strip()
        if text.startswith("quartz-") and text[7:].isdigit():
            return True, ""
        return False, f"the grammar was ignored: {reply.text or 'an empty reply'}"


def _not_tried(tools: bool | None) -> Verdict:
    return False if tools is False else None, "not tried: a single call does not work"


def _right_call(reply: Reply, city: str) -> Verdict:
    if not reply.calls:
        if WEATHER.name in reply.text:
            return False, f"the call came as text: {reply.text}"
        return False, f"no call came: {reply.text or 'an empty reply'}"
    call = reply.calls[0]
    if call.name != WEATHER.name:
        return False, f"it called {call.name!r}, which is not a tool"
    args = read_as(dict[str, Any], call.arguments)
    if args is None:
        return False, f"the arguments are not JSON: {call.arguments}"
    if city not in str(args.get("city", "")).lower():
        return False, f"the arguments are wrong: {call.arguments}"
    return True, ""


def _short(note: str) -> str:
    flat = " ".join(note.split())
    return flat if len(flat) <= MAX_NOTE_CHARS else flat[: MAX_NOTE_CHARS - 1] + "…"
