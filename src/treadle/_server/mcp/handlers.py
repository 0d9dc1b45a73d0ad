"""The answers to the requests of MCP clients: tools, resources and prompts in the words of the protocol."""

from __future__ import annotations

import inspect
from base64 import b64encode
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import quote

import mcp_types as types
from mcp import MCPError
from mcp.server.streamable_http import EventMessage, EventStore

from treadle._flows.direct_calls import DirectCalls
from treadle._safety.logs import get_logger, log_handled
from treadle._server.mcp.own_resources import RUNS
from treadle._server.mcp.peer import LogLevels, McpPeer, session_id
from treadle._server.mcp.values import McpPrompt, McpResource
from treadle._tools.base import ToolOutcome
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import ToolError
from treadle._types.events import Artifact
from treadle._types.messages import AssistantMessage, AudioPart, ImagePart, MediaPart, Part, UserMessage

logger = get_logger()
_MAX_WATCHED = 1_000
_KEPT = 1_000
"""Events that were sent lately, for a client whose stream was cut."""


class Handlers:
    """Answers the requests of MCP clients. An error of ours is a plain sentence, nothing else."""

    def __init__(
        self, toolkit: Toolkit, name: str, resources: Sequence[McpResource], prompts: Sequence[McpPrompt]
    ) -> None:
        self.tools = toolkit.filtered(lambda tool: tool.approval == "allow")
        self.calls = DirectCalls(self.tools, name=name)
        self.resources, self.levels = resources, LogLevels()
        self.prompts = {prompt.name: prompt for prompt in prompts}
        self.watched: dict[tuple[str, str], Any] = {}

    async def list_tools(self, context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=dict(tool.parameters),
                    annotations=types.ToolAnnotations(
                        read_only_hint=tool.effect == "pure", idempotent_hint=tool.effect in ("pure", "idempotent")
                    ),
                )
                for tool in self.tools
            ]
        )

    async def call_tool(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        peer = McpPeer(context, self.levels)
        outcome = await self.calls.call(params.name, dict(params.arguments or {}), peer.output, deps=peer)
        await peer.flush()
        await self._tell_watchers()
        return types.CallToolResult(content=_blocks(outcome), is_error=bool(outcome.error))

    async def list_resources(self, context: Any, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=it.uri, name=it.name, description=it.description, mime_type=it.mime)
                for it in self.resources
                if not it.is_template
            ]
        )

    async def list_templates(self, context: Any, params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(uri_template=it.uri, name=it.name, description=it.description, mime_type=it.mime)
                for it in self.resources
                if it.is_template
            ]
        )

    async def read_resource(self, context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        for resource in self.resources:
            if (values := resource.values_in(uri)) is not None:
                content = await _called(f"resource {resource.name}", resource.read, values)
                if isinstance(content, bytes):
                    blob = types.BlobResourceContents(
                        uri=uri, mime_type=resource.mime, blob=b64encode(content).decode()
                    )
                    return types.ReadResourceResult(contents=[blob])
                return types.ReadResourceResult(
                    contents=[types.TextResourceContents(uri=uri, mime_type=resource.mime, text=content)]
                )
        raise _refusal(f"there is no resource {uri[:200]!r}")

    async def subscribe(self, context: Any, params: Any) -> types.EmptyResult:
        if len(self.watched) < _MAX_WATCHED:
            self.watched[session_id(context), str(params.uri)[:2_000]] = context.session
        return types.EmptyResult()

    async def unsubscribe(self, context: Any, params: Any) -> types.EmptyResult:
        self.watched.pop((session_id(context), str(params.uri)[:2_000]), None)
        return types.EmptyResult()

    async def _tell_watchers(self) -> None:
        """A call has ended, so there may be another run in the list."""
        for key, session in [(key, session) for key, session in self.watched.items() if key[1] == RUNS]:
            try:
                await session.send_resource_updated(RUNS)
            except Exception:  # a client that went away
                self.watched.pop(key, None)

    async def list_prompts(self, context: Any, params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=it.name,
                    description=it.description,
                    arguments=[
                        types.PromptArgument(name=name, description=text, required=True)
                        for name, text in it.arguments.items()
                    ],
                )
                for it in self.prompts.values()
            ]
        )

    async def get_prompt(self, context: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        prompt = self.prompts.get(params.name)
        if prompt is None:
            raise _refusal(f"there is no prompt {params.name[:200]!r}")
        given = dict(params.arguments or {})
        if missing := prompt.missing(given):
            raise _refusal(f"the prompt {prompt.name} needs {', '.join(missing)}")
        rendered = await _called(
            f"prompt {prompt.name}", prompt.render, {name: given[name] for name in prompt.arguments}
        )
        return types.GetPromptResult(description=prompt.description, messages=prompt_messages(rendered))

    async def complete(self, context: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
        wanted = str(getattr(params.ref, "uri", ""))
        found: Sequence[str] = []
        for resource in self.resources:
            if resource.uri == wanted and resource.complete is not None:
                found = await resource.complete(params.argument.name, params.argument.value)
        return types.CompleteResult(
            completion=types.Completion(values=list(found[:100]), total=len(found), has_more=False)
        )

    async def set_level(self, context: Any, params: types.SetLevelRequestParams) -> types.EmptyResult:
        self.levels.set(context, params.level)
        return types.EmptyResult()


async def _called(what: str, function: Callable[..., Any], values: dict[str, str]) -> Any:
    try:
        value = function(**values)
        return await value if inspect.isawaitable(value) else value
    except ToolError as error:
        raise _refusal(str(error)) from None
    except Exception:
        log_handled(logger, "the %s failed", what)
        raise _refusal(f"the {what} failed") from None


def _refusal(text: str) -> Exception:
    return MCPError(types.INVALID_PARAMS, text)


def prompt_messages(rendered: Any) -> list[types.PromptMessage]:
    """The messages of a prompt: text, parts (a message each, as the protocol has it), or messages of ours."""
    given: list[Any] = [rendered] if isinstance(rendered, str) else list(rendered)
    messages: list[types.PromptMessage] = []
    for item in given:
        parts: Sequence[Any] = [item]
        if isinstance(item, AssistantMessage):
            parts = [item.text]
        elif isinstance(item, UserMessage):
            parts = [item.content] if isinstance(item.content, str) else item.content
        role = "assistant" if isinstance(item, AssistantMessage) else "user"
        for part in parts:
            block = _resource(part) if isinstance(part, Artifact) else _block(part)
            messages.append(types.PromptMessage(role=role, content=block))
    return messages


def _blocks(outcome: ToolOutcome) -> list[types.ContentBlock]:
    parts = [outcome.content] if isinstance(outcome.content, str) else outcome.content
    return [_block(part) for part in parts] + [_resource(artifact) for artifact in outcome.artifacts]


def _block(part: str | Part) -> types.ContentBlock:
    if isinstance(part, ImagePart) and part.data:
        return types.ImageContent(data=part.data, mime_type=part.mime)
    if isinstance(part, AudioPart) and part.data:
        return types.AudioContent(data=part.data, mime_type=part.mime)
    if isinstance(part, MediaPart):
        return types.TextContent(text=part.text or part.url or f"[{part.name or 'file'}: {part.mime}]")
    return types.TextContent(text=part if isinstance(part, str) else part.text)


def _resource(artifact: Artifact) -> types.ContentBlock:
    uri = artifact.name if "://" in artifact.name else f"artifact:///{quote(artifact.name)}"
    if artifact.base64:
        return types.EmbeddedResource(
            resource=types.BlobResourceContents(uri=uri, blob=artifact.content, mime_type=artifact.mime)
        )
    return types.EmbeddedResource(
        resource=types.TextResourceContents(uri=uri, text=artifact.content, mime_type=artifact.mime)
    )


class RecentEvents(EventStore):
    """The last events of all streams; an id is the place in the order in which they were sent."""

    def __init__(self) -> None:
        self._events: deque[tuple[int, str, types.JSONRPCMessage | None]] = deque(maxlen=_KEPT)
        self._next = 1

    async def store_event(self, stream_id: str, message: types.JSONRPCMessage | None) -> str:
        self._events.append((self._next, stream_id, message))
        self._next += 1
        return str(self._next - 1)

    async def replay_events_after(
        self, last_event_id: str, send_callback: Callable[[EventMessage], Awaitable[None]]
    ) -> str | None:
        last = int(last_event_id) if last_event_id.isdecimal() and len(last_event_id) < 19 else 0
        stream = next((stream for number, stream, _ in self._events if number == last), None)
        if stream is None:
            return None
        for number, owner, message in list(self._events):
            if owner == stream and number > last and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream
