"""The agent's side of the Agent Client Protocol: sessions, questions before what acts, differences, cancellation."""

from __future__ import annotations

import asyncio
import os
from typing import Any, Literal, cast

import acp
import msgspec
from acp import schema

from treadle._agent.agent import Agent
from treadle._agent.conversation import history_of
from treadle._cli.display.text import arguments, clean
from treadle._cli.setup.launch import Launch, build_agent
from treadle._engine.core.decisions import Answer
from treadle._engine.run import Run
from treadle._journal import Journal
from treadle._plugins.guards.approval import Approval
from treadle._types.errors import TreadleError
from treadle._types.events import PlanChanged, Record, ToolDone, ToolStarted
from treadle._types.ids import fresh_id
from treadle._types.messages import Content, FilePart, ImagePart, Message, Part, TextPart, ToolCall, text_of
from treadle._version import __version__

_MOST_TITLE = 120
_KINDS: dict[str, Literal["read", "edit", "search", "execute", "think", "other"]] = {
    "bash": "execute", "bash_output": "execute", "read": "read", "write": "edit", "edit": "edit",
    "apply_patch": "edit", "glob": "search", "grep": "search", "todo": "think",
}  # fmt: skip
_OPTIONS = [
    schema.PermissionOption(option_id="once", name="Allow", kind="allow_once"),
    schema.PermissionOption(option_id="always", name="Always for this task", kind="allow_always"),
    schema.PermissionOption(option_id="no", name="Refuse", kind="reject_once"),
]


class Session:
    """One conversation of the editor, about one folder."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.history: list[Message] = []
        self.last_run = ""
        self.run: Run | None = None
        self.records: list[Record] = []
        """Those of the run under way that the editor was not told of yet."""


class Editor:
    """Answers an editor. Unknown sessions and folders are errors of the protocol."""

    def __init__(self, launch: Launch, journal: Journal, *, yes: bool = False) -> None:
        self._launch, self._journal, self._yes = launch, journal, yes
        self._sessions: dict[str, Session] = {}
        self._client: Any = None

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    async def close(self) -> None:
        """Close the agents of all sessions, and the journal."""
        for session in self._sessions.values():
            await session.agent.aclose()
        await self._journal.aclose()

    async def initialize(self, protocol_version: int, *_: Any, **more: Any) -> schema.InitializeResponse:
        prompts = schema.PromptCapabilities(image=True, embedded_context=True)
        return schema.InitializeResponse(
            protocol_version=min(protocol_version, acp.PROTOCOL_VERSION),
            agent_capabilities=schema.AgentCapabilities(prompt_capabilities=prompts),
            agent_info=schema.Implementation(name="treadle", version=__version__),
        )

    async def new_session(self, cwd: str, *_: Any, **more: Any) -> schema.NewSessionResponse:
        if not os.path.isabs(cwd) or not os.path.isdir(cwd):  # noqa: ASYNC240 - a folder of this machine
            raise acp.RequestError.invalid_params({"cwd": "not the absolute path of a folder"})
        session_id = fresh_id()

        async def ask(call: ToolCall) -> Answer:
            return await self._ask(session_id, call)

        launch = msgspec.structs.replace(self._launch, folder=cwd)
        agent = build_agent(launch, journal=self._journal, approval=Approval(ask), yes=self._yes)
        self._sessions[session_id] = Session(agent)
        return schema.NewSessionResponse(session_id=session_id)

    async def prompt(self, session_id: str, prompt: list[Any], **more: Any) -> schema.PromptResponse:
        session = self._session(session_id)
        if session.run is not None:
            raise acp.RequestError.invalid_request({"session_id": "a task of this session is under way"})
        run = session.agent.prepare(
            _content(prompt), history=session.history, conversation=session_id, follows=session.last_run
        )
        session.run = run
        run.subscribe(session.records.append)
        try:
            result = await self._shown(session_id, session, run)
        except TreadleError as error:
            raise acp.RequestError.internal_error({"message": clean(str(error))}) from None
        finally:
            session.run = None
        session.history, session.last_run = history_of(run.state), run.id
        if result.stop_reason == "cancelled":
            return schema.PromptResponse(stop_reason="cancelled")
        await self._client.session_update(session_id, acp.update_agent_message_text(result.answer or "(no answer)"))
        limited = result.stop_reason in ("limit", "budget")
        return schema.PromptResponse(stop_reason="max_turn_requests" if limited else "end_turn")

    async def cancel(self, session_id: str, **more: Any) -> None:
        session = self._sessions.get(session_id)
        if session is not None and session.run is not None:
            session.run.cancel()

    async def _shown(self, session_id: str, session: Session, run: Run) -> Any:
        """Drive a run, and tell the editor of each step as soon as it is recorded."""
        driving = asyncio.ensure_future(session.agent.launch(run))
        try:
            while not driving.done() or session.records:
                await self._tell(session_id, session)
                await asyncio.wait({driving}, timeout=0.05)
            return await driving
        finally:
            driving.cancel()

    async def _tell(self, session_id: str, session: Session) -> None:
        while session.records:
            if (update := _update(session.records.pop(0))) is not None:
                await self._client.session_update(session_id, update)

    async def _ask(self, session_id: str, call: ToolCall) -> Answer:
        session = self._session(session_id)
        await self._tell(session_id, session)
        asked = schema.ToolCallUpdate(
            tool_call_id=call.id, title=_title(call), kind=_KINDS.get(call.name, "other"), status="pending",
            content=_differences(call) or None, raw_input=call.args,
        )  # fmt: skip
        response = await self._client.request_permission(session_id=session_id, tool_call=asked, options=_OPTIONS)
        chosen = getattr(response.outcome, "option_id", "")
        if response.outcome.outcome == "cancelled" and session.run is not None:
            session.run.cancel()
        return {"allow": chosen in ("once", "always"), "always": chosen == "always", "by": "editor"}

    def _session(self, session_id: str) -> Session:
        if session_id not in self._sessions:
            raise acp.RequestError.invalid_params({"session_id": "there is no such session"})
        return self._sessions[session_id]


def _content(blocks: list[Any]) -> Content:
    parts: list[Part] = []
    for block in blocks:
        if isinstance(block, schema.TextContentBlock):
            parts.append(TextPart(block.text))
        elif isinstance(block, schema.ImageContentBlock):
            parts.append(ImagePart(block.data, block.mime_type))
        elif isinstance(block, schema.ResourceContentBlock):
            parts.append(TextPart(f"[{block.uri}]"))
        elif isinstance(block, schema.EmbeddedResourceContentBlock):
            text = getattr(block.resource, "text", None)
            uri = str(block.resource.uri)
            parts.append(TextPart(f"[{uri}]") if text is None else FilePart(text=text, mime="text/plain", name=uri))
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    return "\n\n".join(texts) if len(texts) == len(parts) else tuple(parts)


def _update(record: Record) -> Any:
    """Return what an editor is told of a record; None for what it does not show."""
    match record.event:
        case ToolStarted(call=call):
            return acp.start_tool_call(
                call.id, _title(call), kind=_KINDS.get(call.name, "other"), status="in_progress",
                content=_differences(call) or None, raw_input=call.args,
            )  # fmt: skip
        case ToolDone(call_id=call_id, content=content, error=error):
            shown = [acp.tool_content(acp.text_block(text_of(content)))]
            return acp.update_tool_call(call_id, status="failed" if error else "completed", content=shown)
        case PlanChanged(steps=steps):
            entries = [acp.plan_entry(step.text, status="completed" if step.done else "pending") for step in steps]
            return acp.update_plan(entries)
        case _:
            return None


def _title(call: ToolCall) -> str:
    shown = call.args.get("command") or call.args.get("path") or arguments(call.args, _MOST_TITLE)
    return clean(f"{call.name} {shown}")[:_MOST_TITLE]


def _differences(call: ToolCall) -> list[Any]:
    path, args = str(call.args.get("path", "")), call.args
    if call.name == "write":
        return [acp.tool_diff_content(path, str(args.get("content", "")))]
    if call.name != "edit":
        return []
    edits: Any = args.get("edits") or [args]
    every = cast("list[dict[str, Any]]", [one for one in edits if isinstance(one, dict)])
    return [acp.tool_diff_content(path, str(one.get("new", "")), str(one.get("old", ""))) for one in every]
