# pyright: basic, reportMissingImports=false
"""An agent as a solver of Inspect: its model is asked and its tools are run by Inspect, whose limits and approval
policies hold; all of it stands in Inspect's transcript."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from treadle._agent.agent import Agent
from treadle._models.base import Closing, Model
from treadle._models.media import data_url
from treadle._tools.base import Tool, ToolContext
from treadle._types.errors import MissingExtraError, ModelError, RunError, ToolError
from treadle._types.events import Record, ToolDone, ToolStarted
from treadle._types.messages import AssistantMessage, Content, ImagePart, Message, SystemMessage, ToolMessage, text_of
from treadle._types.profile import Profile
from treadle._types.request import Finish, RawCall, Reply, Request, StreamPart
from treadle._types.usage import Usage

try:
    from inspect_ai.event import ToolEvent
    from inspect_ai.log import transcript
    from inspect_ai.model import (
        ChatMessage,
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageTool,
        ChatMessageUser,
        ContentImage,
        ContentText,
        GenerateConfig,
        ModelOutput,
        ResponseSchema,
        execute_tools,
        get_model,
    )  # fmt: skip
    from inspect_ai.model import Model as TheirModel
    from inspect_ai.solver import Generate, Solver, TaskState
    from inspect_ai.solver import solver as as_solver
    from inspect_ai.tool import Tool as TheirTool
    from inspect_ai.tool import ToolCall, ToolCallError, ToolDef, ToolFunction, ToolInfo
    from inspect_ai.util import JSONSchema, LimitExceededError
except ImportError as error:
    raise MissingExtraError("treadle.interop.inspect", "inspect") from error

_FINISH: dict[str, Finish] = {
    "stop": "stop", "tool_calls": "calls", "max_tokens": "length", "model_length": "length", "content_filter": "filter",
}  # fmt: skip


class InspectModel(Closing):
    """The model that Inspect evaluates, as one of ours."""

    def __init__(self, model: TheirModel) -> None:
        self._model = model
        self.name = str(model)
        self.profile = Profile(tool_call=True, parallel_calls=True, forced_tool=True, json_schema=True, streaming=False)
        self.limit: LimitExceededError | None = None
        """The limit of the sample that has been reached."""

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        choice: Any = {"required": "any", "auto": "auto", "none": "none"}.get(request.tool_choice)
        schema = request.format.schema if request.format is not None else None
        settings: dict[str, Any] = {
            "temperature": request.temperature, "max_tokens": request.max_tokens, "seed": request.seed,
            "stop_seqs": list(request.stop) or None,
            "response_schema": schema and ResponseSchema(name="reply", json_schema=JSONSchema.model_validate(schema)),
        }  # fmt: skip
        try:
            output = await self._model.generate(
                [_theirs(message) for message in request.messages],
                tools=[ToolInfo.model_validate(msgspec.to_builtins(tool)) for tool in request.tools],
                tool_choice=choice or ToolFunction(request.tool_choice),
                config=GenerateConfig(**{name: value for name, value in settings.items() if value is not None}),
            )
        except LimitExceededError as reached:
            self.limit = reached
            raise ModelError(str(reached)) from reached
        yield _reply(output)


def _reply(output: ModelOutput) -> Reply:
    message, used = output.message, output.usage
    calls = [
        RawCall(call.id, call.function, msgspec.json.encode(call.arguments).decode())
        for call in message.tool_calls or ()
    ]
    thoughts = () if isinstance(message.content, str) else message.content
    usage = Usage(requests=1) if used is None else Usage(
        used.input_tokens + (used.input_tokens_cache_read or 0) + (used.input_tokens_cache_write or 0),
        used.output_tokens, used.input_tokens_cache_read or 0, requests=1, cost=used.total_cost,
    )  # fmt: skip
    reasoning = "\n".join(part.reasoning for part in thoughts if part.type == "reasoning")
    finish = _FINISH.get(output.stop_reason, "unknown")
    return Reply(message.text, tuple(calls), reasoning, finish, usage, output.model)


def _theirs(message: Message) -> ChatMessage:
    match message:
        case SystemMessage():
            return ChatMessageSystem(content=message.text)
        case AssistantMessage():
            calls = [ToolCall(call.id, call.name, call.args) for call in message.calls]
            return ChatMessageAssistant(content=message.text, tool_calls=calls or None)
        case ToolMessage():
            failed = ToolCallError("unknown", text_of(message.content)) if message.error else None
            return ChatMessageTool(
                content=_content(message.content), tool_call_id=message.call_id, function=message.name, error=failed
            )
        case _:
            return ChatMessageUser(content=_content(message.content))


def _content(content: Content) -> Any:
    if isinstance(content, str):
        return content
    images = [ContentImage(image=data_url(part)) for part in content if isinstance(part, ImagePart)]
    return [ContentText(text=text_of(content)), *images]


def _ours(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """Messages of a sample as they are given to an agent."""
    written: list[dict[str, Any]] = []
    for message in messages:
        one: dict[str, Any] = {"role": message.role, "content": message.text}
        if isinstance(message, ChatMessageUser) and not isinstance(message.content, str):
            images = [part for part in message.content if isinstance(part, ContentImage)]
            pictures = [{"type": "image_url", "image_url": {"url": part.image}} for part in images]
            one["content"] = [{"type": "text", "text": message.text}, *pictures] if pictures else message.text
        elif isinstance(message, ChatMessageAssistant) and message.tool_calls:
            one["tool_calls"] = [
                {"id": call.id, "function": {"name": call.function, "arguments": call.arguments}}
                for call in message.tool_calls
            ]
        elif isinstance(message, ChatMessageTool):
            one["tool_call_id"] = message.tool_call_id
        written.append(one)
    return written


def tool_of(item: TheirTool) -> Tool:
    """A tool of Inspect as one of ours: run by Inspect, with its approval policies, and an event in its transcript."""
    definition = ToolDef(item)

    async def run(_context: ToolContext, **arguments: Any) -> str:
        call = ToolCall(_context.call_id, definition.name, arguments)
        done = await execute_tools([ChatMessageAssistant(content="", tool_calls=[call])], [item])
        result = next(message for message in done.messages if isinstance(message, ChatMessageTool))
        if result.error is not None:
            raise ToolError(result.error.message)
        return result.text

    parameters = definition.parameters.model_dump(exclude_none=True)
    return Tool(definition.name, definition.description, parameters, run, timeout=None, context_param="_context")


def _note(theirs: set[str], started: dict[str, ToolStarted], record: Record) -> None:
    """Write the call of one of our own tools into the transcript; Inspect has written those of its own."""
    event = record.event
    if isinstance(event, ToolStarted) and event.call.name not in theirs:
        started[event.call.id] = event
    elif isinstance(event, ToolDone) and (begun := started.pop(event.call_id, None)) is not None:
        text = text_of(event.content)
        failed = ToolCallError("unknown", text) if event.error else None
        call = begun.call
        transcript()._event(  # pyright: ignore[reportPrivateUsage] - there is no other way to add one
            ToolEvent(id=call.id, function=call.name, arguments=call.args, result=text, error=failed)
        )


@as_solver(name="treadle")
def solver(make: Callable[[Model, list[Tool]], Agent] = Agent) -> Solver:
    """Answer a sample with the agent that `make` returns for the model under evaluation and the tools of the task:
    `solver()`, `solver(lambda model, tools: Agent(model, tools, preset="reflective"))`."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        model = InspectModel(get_model())
        tools = [tool_of(item) for item in state.tools]
        agent = make(model, tools)
        *history, question = _ours(state.messages)
        run = agent.start(question["content"], history=history)
        run.subscribe(partial(_note, {tool.name for tool in tools}, {}))
        try:
            await run
        except RunError:
            if model.limit is None:
                raise
        result = run.result()
        state.messages = [_theirs(message) for message in result.messages]
        if model.limit is not None:
            raise model.limit
        state.output = ModelOutput.from_content(model.name, result.answer)
        state.completed = True
        return state

    return solve
