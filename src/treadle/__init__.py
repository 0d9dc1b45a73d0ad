"""Treadle turns any language model into a tool-using agent.

Public modules are `treadle`, `treadle.events`, `treadle.messages`, `treadle.plugins` and `treadle.testing`.
Everything else has a leading underscore and may change in any release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle._lazy import lazy_getattr
from treadle._version import __version__ as __version__

if TYPE_CHECKING:
    from treadle import events as events
    from treadle import messages as messages
    from treadle import plugins as plugins
    from treadle import testing as testing
    from treadle._agent import presets as presets
    from treadle._agent.agent import Agent as Agent
    from treadle._agent.batch import BatchAnswer as BatchAnswer
    from treadle._agent.batch import BatchState as BatchState
    from treadle._agent.conversation import Conversation as Conversation
    from treadle._agent.react import LoopResult as LoopResult
    from treadle._agent.react import react_loop as react_loop
    from treadle._config import load_agent as load_agent
    from treadle._dialects.reading.extract import extract_json as extract_json
    from treadle._durable.temporal import TemporalSubmitter as TemporalSubmitter
    from treadle._durable.temporal import temporal_worker as temporal_worker
    from treadle._engine.context import RunContext as RunContext
    from treadle._engine.plugin import Plugin as Plugin
    from treadle._engine.result import PendingCall as PendingCall
    from treadle._engine.result import RunResult as RunResult
    from treadle._engine.run import Run as Run
    from treadle._engine.settings import AnswerSettings as AnswerSettings
    from treadle._engine.settings import Budget as Budget
    from treadle._engine.settings import ContextSettings as ContextSettings
    from treadle._engine.settings import ModelSettings as ModelSettings
    from treadle._engine.settings import RepairPolicy as RepairPolicy
    from treadle._engine.settings import RunLimits as RunLimits
    from treadle._engine.settings import Settings as Settings
    from treadle._engine.settings import ToolSettings as ToolSettings
    from treadle._engine.structured import StructuredResult as StructuredResult
    from treadle._engine.structured import structured_llm_call as structured_llm_call
    from treadle._flows.dag.agent import DagAgent as DagAgent
    from treadle._flows.dag.picture import plan_diagram as plan_diagram
    from treadle._inspect.compare import compare as compare
    from treadle._inspect.evals.load import load_tasks as load_tasks
    from treadle._inspect.evals.report import evaluation_report as evaluation_report
    from treadle._inspect.evals.runner import Variant as Variant
    from treadle._inspect.evals.runner import run_tasks as run_tasks
    from treadle._inspect.prefixes import prefixes as prefixes
    from treadle._inspect.proof import Verdict as Verdict
    from treadle._inspect.proof import prove_answer as prove_answer
    from treadle._inspect.proof import verify_proof as verify_proof
    from treadle._inspect.regress.check import regress as regress
    from treadle._inspect.replay import blame as blame
    from treadle._inspect.replay import fork as fork
    from treadle._inspect.replay import replay as replay
    from treadle._inspect.why.changes import Change as Change
    from treadle._inspect.why.findings import Causes as Causes
    from treadle._inspect.why.marks import mark_wrong as mark_wrong
    from treadle._inspect.why.search import find_causes as find_causes
    from treadle._journal import open_journal as open_journal
    from treadle._journal.base import Journal as Journal
    from treadle._journal.base import RunInfo as RunInfo
    from treadle._local.model import LocalModel as LocalModel
    from treadle._models.anthropic.model import AnthropicModel as AnthropicModel
    from treadle._models.base import Model as Model
    from treadle._models.bedrock.model import BedrockModel as BedrockModel
    from treadle._models.catalog.registry import ModelRegistry as ModelRegistry
    from treadle._models.catalog.registry import resolve_model as resolve_model
    from treadle._models.gemini.model import GeminiModel as GeminiModel
    from treadle._models.openai.chat import OpenAIModel as OpenAIModel
    from treadle._models.openai.responses import ResponsesModel as ResponsesModel
    from treadle._models.scripted import ScriptedModel as ScriptedModel
    from treadle._models.transport.retry import RetryPolicy as RetryPolicy
    from treadle._models.vertex.model import VertexModel as VertexModel
    from treadle._plugins.guards.approval import Approval as Approval
    from treadle._plugins.mcp import McpTools as McpTools
    from treadle._server import create_app as create_app
    from treadle._server import make_server as make_server
    from treadle._server import serve as serve
    from treadle._server.mcp.peer import McpPeer as McpPeer
    from treadle._server.mcp.server import serve_mcp as serve_mcp
    from treadle._server.mcp.values import McpPrompt as McpPrompt
    from treadle._server.mcp.values import McpResource as McpResource
    from treadle._server.settings import ServerSettings as ServerSettings
    from treadle._tools.base import Tool as Tool
    from treadle._tools.base import ToolContext as ToolContext
    from treadle._tools.base import ToolResponse as ToolResponse
    from treadle._tools.builtin import builtin as builtin
    from treadle._tools.builtin.knowledge.base import KnowledgeBase as KnowledgeBase
    from treadle._tools.external import external_tool as external_tool
    from treadle._tools.function import tool as tool
    from treadle._tools.mcp.auth.settings import McpAuth as McpAuth
    from treadle._tools.mcp.client import McpConnection as McpConnection
    from treadle._tools.mcp.client import McpServer as McpServer
    from treadle._tools.signature import Extra as Extra
    from treadle._tools.skills.skill import Skill as Skill
    from treadle._tools.skills.skill import load_skills as load_skills
    from treadle._tools.spec import BaseTool as BaseTool
    from treadle._tools.spec import ToolParam as ToolParam
    from treadle._tools.spec import ToolReturn as ToolReturn
    from treadle._tools.spec import ToolSpec as ToolSpec
    from treadle._tools.toolkit import Toolkit as Toolkit
    from treadle._types.errors import BadReplyError as BadReplyError
    from treadle._types.errors import BudgetExhaustedError as BudgetExhaustedError
    from treadle._types.errors import ConfigError as ConfigError
    from treadle._types.errors import ContentFilteredError as ContentFilteredError
    from treadle._types.errors import ContextOverflowError as ContextOverflowError
    from treadle._types.errors import CorruptLogError as CorruptLogError
    from treadle._types.errors import DuplicateToolError as DuplicateToolError
    from treadle._types.errors import GuardrailError as GuardrailError
    from treadle._types.errors import JournalError as JournalError
    from treadle._types.errors import LimitError as LimitError
    from treadle._types.errors import MaxIterationsError as MaxIterationsError
    from treadle._types.errors import MissingExtraError as MissingExtraError
    from treadle._types.errors import MissingKeyError as MissingKeyError
    from treadle._types.errors import ModelError as ModelError
    from treadle._types.errors import NotAModelError as NotAModelError
    from treadle._types.errors import RequestRefusedError as RequestRefusedError
    from treadle._types.errors import RunBusyError as RunBusyError
    from treadle._types.errors import RunEndedError as RunEndedError
    from treadle._types.errors import RunError as RunError
    from treadle._types.errors import RunNotFoundError as RunNotFoundError
    from treadle._types.errors import SchemaError as SchemaError
    from treadle._types.errors import StructuredCallError as StructuredCallError
    from treadle._types.errors import ToolError as ToolError
    from treadle._types.errors import TransientModelError as TransientModelError
    from treadle._types.errors import TreadleError as TreadleError
    from treadle._types.errors import TreeError as TreeError
    from treadle._types.errors import UnknownModelError as UnknownModelError
    from treadle._types.errors import WrongValueError as WrongValueError
    from treadle._types.events import AnswerDelta as AnswerDelta
    from treadle._types.events import Artifact as Artifact
    from treadle._types.events import Event as Event
    from treadle._types.events import RunFinished as RunFinished
    from treadle._types.events import ToolDone as ToolDone
    from treadle._types.events import ToolStarted as ToolStarted
    from treadle._types.profile import Prices as Prices
    from treadle._types.profile import Profile as Profile
    from treadle._types.request import Reply as Reply
    from treadle._types.state_values import Step as Step
    from treadle._types.usage import Usage as Usage
    from treadle._workspace.workspace import Workspace as Workspace

_LAZY_IMPORTS = {
    "Agent": "_agent.agent",
    "AnswerDelta": "_types.events",
    "AnswerSettings": "_engine.settings",
    "AnthropicModel": "_models.anthropic.model",
    "Approval": "_plugins.guards.approval",
    "Artifact": "_types.events",
    "BadReplyError": "_types.errors",
    "BaseTool": "_tools.spec",
    "BatchAnswer": "_agent.batch",
    "BatchState": "_agent.batch",
    "BedrockModel": "_models.bedrock.model",
    "Budget": "_engine.settings",
    "BudgetExhaustedError": "_types.errors",
    "ConfigError": "_types.errors",
    "ContentFilteredError": "_types.errors",
    "ContextOverflowError": "_types.errors",
    "ContextSettings": "_engine.settings",
    "Conversation": "_agent.conversation",
    "CorruptLogError": "_types.errors",
    "DagAgent": "_flows.dag.agent",
    "DuplicateToolError": "_types.errors",
    "Event": "_types.events",
    "GeminiModel": "_models.gemini.model",
    "Journal": "_journal.base",
    "GuardrailError": "_types.errors",
    "JournalError": "_types.errors",
    "KnowledgeBase": "_tools.builtin.knowledge.base",
    "LimitError": "_types.errors",
    "LocalModel": "_local.model",
    "LoopResult": "_agent.react",
    "MaxIterationsError": "_types.errors",
    "McpConnection": "_tools.mcp.client",
    "McpAuth": "_tools.mcp.auth.settings",
    "McpPeer": "_server.mcp.peer",
    "McpPrompt": "_server.mcp.values",
    "McpResource": "_server.mcp.values",
    "McpServer": "_tools.mcp.client",
    "McpTools": "_plugins.mcp",
    "MissingExtraError": "_types.errors",
    "MissingKeyError": "_types.errors",
    "Model": "_models.base",
    "ModelError": "_types.errors",
    "ModelRegistry": "_models.catalog.registry",
    "ModelSettings": "_engine.settings",
    "OpenAIModel": "_models.openai.chat",
    "Plugin": "_engine.plugin",
    "Prices": "_types.profile",
    "Profile": "_types.profile",
    "RepairPolicy": "_engine.settings",
    "Reply": "_types.request",
    "RequestRefusedError": "_types.errors",
    "ResponsesModel": "_models.openai.responses",
    "RetryPolicy": "_models.transport.retry",
    "Run": "_engine.run",
    "RunBusyError": "_types.errors",
    "RunEndedError": "_types.errors",
    "RunError": "_types.errors",
    "RunContext": "_engine.context",
    "RunFinished": "_types.events",
    "RunInfo": "_journal.base",
    "RunLimits": "_engine.settings",
    "RunNotFoundError": "_types.errors",
    "RunResult": "_engine.result",
    "PendingCall": "_engine.result",
    "SchemaError": "_types.errors",
    "ScriptedModel": "_models.scripted",
    "ServerSettings": "_server.settings",
    "Settings": "_engine.settings",
    "Skill": "_tools.skills.skill",
    "Step": "_types.state_values",
    "StructuredCallError": "_types.errors",
    "StructuredResult": "_engine.structured",
    "Tool": "_tools.base",
    "ToolContext": "_tools.base",
    "ToolDone": "_types.events",
    "ToolError": "_types.errors",
    "ToolParam": "_tools.spec",
    "ToolResponse": "_tools.base",
    "ToolReturn": "_tools.spec",
    "ToolSettings": "_engine.settings",
    "ToolSpec": "_tools.spec",
    "ToolStarted": "_types.events",
    "Toolkit": "_tools.toolkit",
    "TransientModelError": "_types.errors",
    "TreadleError": "_types.errors",
    "TreeError": "_types.errors",
    "UnknownModelError": "_types.errors",
    "WrongValueError": "_types.errors",
    "NotAModelError": "_types.errors",
    "Extra": "_tools.signature",
    "extract_json": "_dialects.reading.extract",
    "Usage": "_types.usage",
    "Variant": "_inspect.evals.runner",
    "VertexModel": "_models.vertex.model",
    "Workspace": "_workspace.workspace",
    "blame": "_inspect.replay",
    "compare": "_inspect.compare",
    "Causes": "_inspect.why.findings",
    "Change": "_inspect.why.changes",
    "find_causes": "_inspect.why.search",
    "regress": "_inspect.regress.check",
    "mark_wrong": "_inspect.why.marks",
    "prefixes": "_inspect.prefixes",
    "prove_answer": "_inspect.proof",
    "verify_proof": "_inspect.proof",
    "Verdict": "_inspect.proof",
    "builtin": "_tools.builtin",
    "evaluation_report": "_inspect.evals.report",
    "external_tool": "_tools.external",
    "fork": "_inspect.replay",
    "load_agent": "_config",
    "load_skills": "_tools.skills.skill",
    "load_tasks": "_inspect.evals.load",
    "open_journal": "_journal",
    "plan_diagram": "_flows.dag.picture",
    "presets": "_agent.presets:",
    "react_loop": "_agent.react",
    "replay": "_inspect.replay",
    "resolve_model": "_models.catalog.registry",
    "run_tasks": "_inspect.evals.runner",
    "serve_mcp": "_server.mcp.server",
    "structured_llm_call": "_engine.structured",
    "tool": "_tools.function",
}
_NEEDS_EXTRA = {
    "TemporalSubmitter": "_durable.temporal",
    "create_app": "_server",
    "make_server": "_server",
    "serve": "_server",
    "temporal_worker": "_durable.temporal",
}
"""Not in `__all__`: `from treadle import *` works without the extras `server` and `temporal`."""

_MODULES = {name: f"{name}:" for name in ("events", "messages", "plugins", "testing")}
"""`import treadle` is enough for `treadle.events.ToolDone`."""

__all__ = sorted(_LAZY_IMPORTS)  # pyright: ignore[reportUnsupportedDunderAll] - the names are imported on use
if not TYPE_CHECKING:  # to a type checker, a module with `__getattr__` has every name
    __getattr__ = lazy_getattr(__name__, _LAZY_IMPORTS | _NEEDS_EXTRA | _MODULES)


def __dir__() -> list[str]:
    return [*__all__, *_NEEDS_EXTRA, *_MODULES, "__version__"]
