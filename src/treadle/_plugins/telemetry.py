"""Telemetry: OpenTelemetry spans by the GenAI conventions, and one structured `logging` record per step.

Both are made from a run's records, so the loop knows nothing of them. Spans are made when the program has set up a
tracer provider; nothing here imports `opentelemetry`, so a program without it pays for one look into `sys.modules`.
"""

from __future__ import annotations

import logging
import sys
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from treadle._engine.plugin import Plugin
from treadle._safety.logs import get_logger
from treadle._types.events import (
    Event,
    Paused,
    Record,
    Resumed,
    RunFinished,
    RunStarted,
    StepDone,
    ThinkDone,
    ThinkFailed,
    ThinkStarted,
    ToolDone,
    ToolStarted,
)
from treadle._types.messages import text_of

if TYPE_CHECKING:
    from treadle._engine.run import Run

logger = get_logger()


class Telemetry(Plugin):
    """For an agent that is not traced as usual.

    `content` puts questions, arguments and results into the spans; `spans=False` keeps this agent out of the traces.
    """

    name = "telemetry"

    def __init__(self, *, content: bool = False, provider: Any = None, spans: bool = True) -> None:
        self.content, self.provider, self.spans = content, provider, spans


_DEFAULT = Telemetry()


def watch(run: Run[Any]) -> None:
    """Trace and log a run that is about to begin. The records of runs inside it are forwarded to it."""
    if run.has_parent:
        return
    log = run.blueprint.logger or logger
    if log.isEnabledFor(logging.INFO):
        run.subscribe(partial(_log_step, log, run.blueprint.settings.verbose), live=False)
    if "opentelemetry.trace" not in sys.modules:
        return
    options = next((plugin for plugin in run.blueprint.plugins if isinstance(plugin, Telemetry)), _DEFAULT)
    provider = options.provider or _program_provider()
    if provider is None or not options.spans:
        return
    spans = Spans(provider, run, options.content)
    run.subscribe(spans, live=False)
    run.task.add_done_callback(lambda _: spans.close())


def _program_provider() -> Any:
    """The tracer provider this program has set up, or None: the API's own placeholders record nothing."""
    trace = sys.modules["opentelemetry.trace"]
    provider = trace.get_tracer_provider()
    return None if isinstance(provider, (trace.ProxyTracerProvider, trace.NoOpTracerProvider)) else provider


_LOGGED: dict[type[Any], tuple[str, dict[str, str]]] = {
    RunStarted: ("run started", {"agent": "agent", "model": "model"}),
    ThinkDone: (
        "model answered",
        {name: name for name in ("component", "iteration", "finish", "elapsed")}
        | {name: f"usage.{name}" for name in ("input_tokens", "output_tokens")},
    ),
    ThinkFailed: ("model call failed", {name: name for name in ("component", "iteration", "attempt", "error")}),
    ToolDone: ("tool finished", {"tool": "name", "iteration": "iteration", "elapsed": "elapsed", "error": "error"}),
    StepDone: ("step finished", {name: name for name in ("step", "status", "elapsed")}),
    Paused: ("run paused", {"reason": "reason"}),
    RunFinished: ("run finished", {"stop_reason": "stop_reason", "error": "error_type"}),
}
"""What is logged, with its facts and where each of them stands in the event."""


def _log_step(log: logging.Logger, verbose: bool, record: Record) -> None:
    """One line per thing done, with its facts as attributes of the log record; when `verbose` with what tools said."""
    event = record.event
    if type(event) not in _LOGGED:
        return
    text, fields = _LOGGED[type(event)]
    facts: dict[str, Any] = {"run": record.run, **{name: attrgetter(path)(event) for name, path in fields.items()}}
    if verbose and isinstance(event, ToolDone):
        facts["observation"] = text_of(event.content)
    log.info("%s: %s", text, " ".join(f"{name}={value}" for name, value in facts.items() if value != ""), extra=facts)


class Spans:
    """The spans of a run and of the runs inside it, made from their records: times are those of the log."""

    def __init__(self, provider: Any, run: Run[Any], content: bool) -> None:
        from treadle._version import __version__

        self._trace = sys.modules["opentelemetry.trace"]
        self._tracer = provider.get_tracer("treadle", __version__)
        self._root = run
        self._content = content
        self._parent_context = sys.modules["opentelemetry.context"].get_current()
        self._models: dict[str, str] = {}
        self._open: dict[tuple[str, str], list[Any]] = {}
        """Open spans by run and kind: `run`, `think:COMPONENT`, `tool:CALL_ID`."""

    def __call__(self, record: Record) -> None:
        event = record.event
        match event:
            case RunStarted():
                self._begin_run(record, event.agent, event.model, event)
            case Resumed():
                self._begin_run(
                    record, self._root.blueprint.name if record.run == self._root.id else "agent", "", event
                )
            case ThinkStarted():
                self._begin_think(record, event)
            case ThinkFailed():
                self._think_failed(record, event)
            case ThinkDone():
                self._think_done(record, event)
            case ToolStarted():
                self._begin_tool(record, event)
            case ToolDone():
                self._tool_done(record, event)
            case RunFinished() | Paused():
                self._run_done(record, event)
            case _:
                pass

    def close(self) -> None:
        """End the spans that no record has ended: the run was dropped or its log failed."""
        for key in list(self._open):
            for span in self._open.pop(key):
                span.end()

    def _begin(self, record: Record, key: str, name: str, kind: str, attributes: dict[str, Any], context: Any) -> None:
        span = self._tracer.start_span(
            name,
            context=context,
            kind=getattr(self._trace.SpanKind, kind),
            attributes=attributes,
            start_time=_nanoseconds(record),
        )
        self._open.setdefault((record.run, key), []).append(span)

    def _take(self, run: str, key: str) -> Any:
        spans = self._open.get((run, key))
        if not spans:
            return None
        span = spans.pop(0)
        if not spans:
            del self._open[run, key]
        return span

    def _context(self, run: str, key: str = "run") -> Any:
        spans = self._open.get((run, key)) or self._open.get((run, "run"))
        return self._trace.set_span_in_context(spans[-1], self._parent_context) if spans else self._parent_context

    def _begin_run(self, record: Record, agent: str, model: str, event: Event) -> None:
        if (record.run, "run") in self._open:
            return
        self._models[record.run] = model or self._root.model.name
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": agent,
            "treadle.run.id": record.run,
        }
        attributes |= self._model_attributes(record.run)
        if isinstance(event, RunStarted):
            if event.conversation:
                attributes["gen_ai.conversation.id"] = event.conversation
            if self._content:
                attributes["gen_ai.input.messages"] = _message("user", text_of(event.question))
        else:
            attributes["treadle.resumed"] = True
        # An agent that is a tool runs under the call that asked for it; its run id ends with that call's id.
        context = (
            self._context(record.parent, f"tool:{record.run.removeprefix(f'{record.parent}.')}")
            if record.parent
            else self._parent_context
        )
        self._begin(record, "run", f"invoke_agent {agent}", "INTERNAL", attributes, context)

    def _model_attributes(self, run: str) -> dict[str, str]:
        provider = str(getattr(self._root.model, "provider", "") or "treadle")
        name = _PROVIDERS.get(provider, provider)
        return {"gen_ai.request.model": self._models.get(run, ""), "gen_ai.provider.name": name}

    def _begin_think(self, record: Record, event: ThinkStarted) -> None:
        attributes: dict[str, Any] = {"gen_ai.operation.name": "chat", **self._model_attributes(record.run)}
        attributes |= {"treadle.component": event.component, "treadle.iteration": event.iteration}
        if record.run == self._root.id and event.component == "loop":
            settings = self._root.settings
            wanted = {"temperature": settings.temperature, "max_tokens": settings.max_tokens, "seed": settings.seed}
            attributes |= {f"gen_ai.request.{name}": value for name, value in wanted.items() if value is not None}
        name = f"chat {self._models.get(record.run, '')}".strip()
        self._begin(record, f"think:{event.component}", name, "CLIENT", attributes, self._context(record.run))

    def _think_failed(self, record: Record, event: ThinkFailed) -> None:
        key = f"think:{event.component}"
        if event.wait is not None:
            for span in self._open.get((record.run, key), [])[:1]:
                span.add_event(
                    "treadle.attempt_failed", {"attempt": event.attempt, "wait": event.wait}, _nanoseconds(record)
                )
        elif span := self._take(record.run, key):
            self._fail(span, "model_error", event.error)
            span.end(_nanoseconds(record))

    def _think_done(self, record: Record, event: ThinkDone) -> None:
        if (span := self._take(record.run, f"think:{event.component}")) is None:
            return
        finish = _FINISH.get(event.finish, event.finish)
        span.set_attribute("gen_ai.response.finish_reasons", [finish])
        span.set_attributes(_usage(event.usage))
        if self._content:
            span.set_attribute("gen_ai.output.messages", _message("assistant", event.message.text, finish))
        span.end(_nanoseconds(record))

    def _begin_tool(self, record: Record, event: ToolStarted) -> None:
        call = event.call
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id,
        }
        attributes |= {"gen_ai.tool.type": "function", "treadle.iteration": event.iteration}
        if self._content:
            attributes["gen_ai.tool.call.arguments"] = msgspec.json.encode(call.args).decode()
        self._begin(
            record, f"tool:{call.id}", f"execute_tool {call.name}", "INTERNAL", attributes, self._context(record.run)
        )

    def _tool_done(self, record: Record, event: ToolDone) -> None:
        if (span := self._take(record.run, f"tool:{event.call_id}")) is None:
            return
        if event.error:
            self._fail(span, event.error)
        if self._content:
            span.set_attribute("gen_ai.tool.call.result", text_of(event.content))
        span.end(_nanoseconds(record))

    def _run_done(self, record: Record, event: RunFinished | Paused) -> None:
        for key in [key for key in self._open if key[0] == record.run and key[1] != "run"]:
            for span in self._open.pop(key):
                span.end(_nanoseconds(record))
        if (span := self._take(record.run, "run")) is None:
            return
        if isinstance(event, RunFinished):
            span.set_attribute("treadle.stop_reason", event.stop_reason)
            if record.run == self._root.id:
                span.set_attributes(_usage(self._root.state.usage))
            if event.error_type:
                self._fail(span, event.error_type, event.error)
        else:
            span.set_attribute("treadle.stop_reason", "paused")
        span.end(_nanoseconds(record))

    def _fail(self, span: Any, kind: str, text: str = "") -> None:
        span.set_attribute("error.type", kind)
        span.set_status(self._trace.StatusCode.ERROR, text if self._content else None)


_FINISH = {"calls": "tool_calls", "filter": "content_filter"}
"""Our names for the reasons a reply ended, where the conventions have others."""


_PROVIDERS = {
    "gemini": "gcp.gemini",
    "vertex": "gcp.vertex_ai",
    "bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
    "watsonx": "ibm.watsonx.ai",
}
"""Our names of providers, where the conventions have others."""


def _usage(usage: Any) -> dict[str, int]:
    counts = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
    }
    return {
        name: count
        for name, count in counts.items()
        if count or name.endswith(("usage.input_tokens", "usage.output_tokens"))
    }


def _message(role: str, text: str, finish: str = "") -> str:
    message: dict[str, Any] = {"role": role, "parts": [{"type": "text", "content": text}]}
    return msgspec.json.encode([{**message, "finish_reason": finish} if finish else message]).decode()


def _nanoseconds(record: Record) -> int:
    return int(record.time * 1e9)
