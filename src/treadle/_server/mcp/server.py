"""Tools, resources and prompts as an MCP server, over stdio or HTTP on this machine."""

from __future__ import annotations

import inspect
from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from treadle._flows.direct_calls import DirectCalls
from treadle._safety.logs import get_logger, log_handled
from treadle._server.listening import listen
from treadle._server.mcp.own_resources import RUNS
from treadle._server.mcp.peer import LogLevels, McpPeer, session_id
from treadle._server.mcp.values import McpPrompt, McpResource
from treadle._tools.base import ToolOutcome
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import MissingExtraError, ToolError
from treadle._types.events import Artifact
from treadle._types.messages import AssistantMessage, AudioPart, ImagePart, MediaPart, Part, UserMessage
from treadle._version import __version__

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server import Server

logger = get_logger()
_MAX_WATCHED = 1_000


class _Handlers:
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
        from mcp_types import ListToolsResult, Tool, ToolAnnotations

        return ListToolsResult(
            tools=[
                Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=dict(tool.parameters),
                    annotations=ToolAnnotations(
                        read_only_hint=tool.effect == "pure", idempotent_hint=tool.effect in ("pure", "idempotent")
                    ),
                )
                for tool in self.tools
            ]
        )

    async def call_tool(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        from mcp_types import CallToolResult

        peer = McpPeer(context, self.levels)
        outcome = await self.calls.call(params.name, dict(params.arguments or {}), peer.output, deps=peer)
        await peer.flush()
        await self._tell_watchers()
        return CallToolResult(content=_blocks(outcome), is_error=bool(outcome.error))

    async def list_resources(self, context: Any, params: Any) -> types.ListResourcesResult:
        from mcp_types import ListResourcesResult, Resource

        return ListResourcesResult(
            resources=[
                Resource(uri=it.uri, name=it.name, description=it.description, mime_type=it.mime)
                for it in self.resources
                if not it.is_template
            ]
        )

    async def list_templates(self, context: Any, params: Any) -> types.ListResourceTemplatesResult:
        from mcp_types import ListResourceTemplatesResult, ResourceTemplate

        return ListResourceTemplatesResult(
            resource_templates=[
                ResourceTemplate(uri_template=it.uri, name=it.name, description=it.description, mime_type=it.mime)
                for it in self.resources
                if it.is_template
            ]
        )

    async def read_resource(self, context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        from mcp_types import BlobResourceContents, ReadResourceResult, TextResourceContents

        uri = str(params.uri)
        for resource in self.resources:
            if (values := resource.values_in(uri)) is not None:
                content = await _called(f"resource {resource.name}", resource.read, values)
                if isinstance(content, bytes):
                    blob = BlobResourceContents(uri=uri, mime_type=resource.mime, blob=b64encode(content).decode())
                    return ReadResourceResult(contents=[blob])
                return ReadResourceResult(
                    contents=[TextResourceContents(uri=uri, mime_type=resource.mime, text=content)]
                )
        raise _refusal(f"there is no resource {uri[:200]!r}")

    async def subscribe(self, context: Any, params: Any) -> types.EmptyResult:
        from mcp_types import EmptyResult

        if len(self.watched) < _MAX_WATCHED:
            self.watched[session_id(context), str(params.uri)[:2_000]] = context.session
        return EmptyResult()

    async def unsubscribe(self, context: Any, params: Any) -> types.EmptyResult:
        from mcp_types import EmptyResult

        self.watched.pop((session_id(context), str(params.uri)[:2_000]), None)
        return EmptyResult()

    async def _tell_watchers(self) -> None:
        """A call has ended, so there may be another run in the list."""
        for key, session in [(key, session) for key, session in self.watched.items() if key[1] == RUNS]:
            try:
                await session.send_resource_updated(RUNS)
            except Exception:  # a client that went away
                self.watched.pop(key, None)

    async def list_prompts(self, context: Any, params: Any) -> types.ListPromptsResult:
        from mcp_types import ListPromptsResult, Prompt, PromptArgument

        return ListPromptsResult(
            prompts=[
                Prompt(
                    name=it.name,
                    description=it.description,
                    arguments=[
                        PromptArgument(name=name, description=text, required=True)
                        for name, text in it.arguments.items()
                    ],
                )
                for it in self.prompts.values()
            ]
        )

    async def get_prompt(self, context: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        from mcp_types import GetPromptResult

        prompt = self.prompts.get(params.name)
        if prompt is None:
            raise _refusal(f"there is no prompt {params.name[:200]!r}")
        given = dict(params.arguments or {})
        if missing := prompt.missing(given):
            raise _refusal(f"the prompt {prompt.name} needs {', '.join(missing)}")
        rendered = await _called(
            f"prompt {prompt.name}", prompt.render, {name: given[name] for name in prompt.arguments}
        )
        return GetPromptResult(description=prompt.description, messages=prompt_messages(rendered))

    async def complete(self, context: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
        from mcp_types import CompleteResult, Completion

        wanted = str(getattr(params.ref, "uri", ""))
        found: Sequence[str] = []
        for resource in self.resources:
            if resource.uri == wanted and resource.complete is not None:
                found = await resource.complete(params.argument.name, params.argument.value)
        return CompleteResult(completion=Completion(values=list(found[:100]), total=len(found), has_more=False))

    async def set_level(self, context: Any, params: types.SetLevelRequestParams) -> types.EmptyResult:
        from mcp_types import EmptyResult

        self.levels.set(context, params.level)
        return EmptyResult()


def make_server(
    toolkit: Toolkit,
    name: str = "treadle",
    *,
    resources: Sequence[McpResource] = (),
    prompts: Sequence[McpPrompt] = (),
) -> Server[Any]:
    """Every tool that needs no approval; there is nobody here who could give one."""
    try:
        from mcp.server import Server
        from mcp_types import SetLevelRequestParams
    except ImportError:
        raise MissingExtraError("serving over MCP", "mcp") from None
    does = _Handlers(toolkit, name, resources, prompts)
    with_resources: dict[str, Any] = {
        "on_list_resources": does.list_resources,
        "on_list_resource_templates": does.list_templates,
        "on_read_resource": does.read_resource,
        "on_subscribe_resource": does.subscribe,
        "on_unsubscribe_resource": does.unsubscribe,
    }
    with_prompts: dict[str, Any] = {"on_list_prompts": does.list_prompts, "on_get_prompt": does.get_prompt}
    server: Server[Any] = Server(
        name,
        version=__version__,
        on_list_tools=does.list_tools,
        on_call_tool=does.call_tool,
        on_completion=does.complete,
        **(with_resources if resources else {}),
        **(with_prompts if prompts else {}),
    )
    # Not as an argument, which warns: the newest version of the protocol has no levels, all others have.
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, does.set_level)
    return server


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
    from mcp import MCPError
    from mcp_types import INVALID_PARAMS

    return MCPError(INVALID_PARAMS, text)


async def serve_mcp(
    toolkit: Toolkit,
    *,
    name: str = "treadle",
    port: int | None = None,
    resources: Sequence[McpResource] = (),
    prompts: Sequence[McpPrompt] = (),
) -> None:
    """Serve a toolkit to MCP clients, over standard input and output, or HTTP with `port`."""
    server = make_server(toolkit, name, resources=resources, prompts=prompts)
    await (serve_stdio(server) if port is None else serve_http(server, port))


async def serve_stdio(server: Server[Any]) -> None:
    """Until the client closes our standard input."""
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


async def serve_http(server: Server[Any], port: int, on_ready: Callable[[str], None] | None = None) -> None:
    """On loopback only: whoever reaches the port may use the tools."""
    from treadle._server.mcp.events import RecentEvents

    app = server.streamable_http_app(host="127.0.0.1", event_store=RecentEvents(), retry_interval=500)
    import uvicorn

    [listening] = listen("127.0.0.1", port, "--http")
    with listening:
        if on_ready is not None:
            on_ready(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp")
        await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[listening])


def prompt_messages(rendered: Any) -> list[types.PromptMessage]:
    """The messages of a prompt: text, parts (a message each, as the protocol has it), or messages of ours."""
    from mcp_types import PromptMessage

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
            messages.append(PromptMessage(role=role, content=block))
    return messages


def _blocks(outcome: ToolOutcome) -> list[types.ContentBlock]:
    parts = [outcome.content] if isinstance(outcome.content, str) else outcome.content
    return [_block(part) for part in parts] + [_resource(artifact) for artifact in outcome.artifacts]


def _block(part: str | Part) -> types.ContentBlock:
    from mcp_types import AudioContent, ImageContent, TextContent

    if isinstance(part, ImagePart) and part.data:
        return ImageContent(data=part.data, mime_type=part.mime)
    if isinstance(part, AudioPart) and part.data:
        return AudioContent(data=part.data, mime_type=part.mime)
    if isinstance(part, MediaPart):
        return TextContent(text=part.text or part.url or f"[{part.name or 'file'}: {part.mime}]")
    return TextContent(text=part if isinstance(part, str) else part.text)


def _resource(artifact: Artifact) -> types.ContentBlock:
    from urllib.parse import quote

    from mcp_types import BlobResourceContents, EmbeddedResource, TextResourceContents

    uri = artifact.name if "://" in artifact.name else f"artifact:///{quote(artifact.name)}"
    if artifact.base64:
        return EmbeddedResource(resource=BlobResourceContents(uri=uri, blob=artifact.content, mime_type=artifact.mime))
    return EmbeddedResource(resource=TextResourceContents(uri=uri, text=artifact.content, mime_type=artifact.mime))
