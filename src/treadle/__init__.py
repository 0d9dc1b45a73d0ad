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
    from treadle._engine.settings import SharedBudget as SharedBudget
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
    name: module
    for module, names in {
        "_agent.agent": "Agent",
        "_agent.batch": "BatchAnswer BatchState",
        "_agent.conversation": "Conversation",
        "_agent.presets:": "presets",
        "_agent.react": "LoopResult react_loop",
        "_config": "load_agent",
        "_dialects.reading.extract": "extract_json",
        "_engine.context": "RunContext",
        "_engine.plugin": "Plugin",
        "_engine.result": "PendingCall RunResult",
        "_engine.run": "Run",
        "_engine.settings": (
            "AnswerSettings Budget ContextSettings ModelSettings RepairPolicy RunLimits Settings SharedBudget "
            "ToolSettings"
        ),
        "_engine.structured": "StructuredResult structured_llm_call",
        "_flows.dag.agent": "DagAgent",
        "_flows.dag.picture": "plan_diagram",
        "_inspect.compare": "compare",
        "_inspect.evals.load": "load_tasks",
        "_inspect.evals.report": "evaluation_report",
        "_inspect.evals.runner": "Variant run_tasks",
        "_inspect.prefixes": "prefixes",
        "_inspect.proof": "Verdict prove_answer verify_proof",
        "_inspect.regress.check": "regress",
        "_inspect.replay": "blame fork replay",
        "_inspect.why.changes": "Change",
        "_inspect.why.findings": "Causes",
        "_inspect.why.marks": "mark_wrong",
        "_inspect.why.search": "find_causes",
        "_journal": "open_journal",
        "_journal.base": "Journal RunInfo",
        "_local.model": "LocalModel",
        "_models.anthropic.model": "AnthropicModel",
        "_models.base": "Model",
        "_models.bedrock.model": "BedrockModel",
        "_models.catalog.registry": "ModelRegistry resolve_model",
        "_models.gemini.model": "GeminiModel",
        "_models.openai.chat": "OpenAIModel",
        "_models.openai.responses": "ResponsesModel",
        "_models.scripted": "ScriptedModel",
        "_models.transport.retry": "RetryPolicy",
        "_models.vertex.model": "VertexModel",
        "_plugins.guards.approval": "Approval",
        "_plugins.mcp": "McpTools",
        "_server.mcp.peer": "McpPeer",
        "_server.mcp.server": "serve_mcp",
        "_server.mcp.values": "McpPrompt McpResource",
        "_server.settings": "ServerSettings",
        "_tools.base": "Tool ToolContext ToolResponse",
        "_tools.builtin": "builtin",
        "_tools.builtin.knowledge.base": "KnowledgeBase",
        "_tools.external": "external_tool",
        "_tools.function": "tool",
        "_tools.mcp.auth.settings": "McpAuth",
        "_tools.mcp.client": "McpConnection McpServer",
        "_tools.signature": "Extra",
        "_tools.skills.skill": "Skill load_skills",
        "_tools.spec": "BaseTool ToolParam ToolReturn ToolSpec",
        "_tools.toolkit": "Toolkit",
        "_types.errors": (
            "BadReplyError BudgetExhaustedError ConfigError ContentFilteredError ContextOverflowError "
            "CorruptLogError DuplicateToolError GuardrailError JournalError LimitError MaxIterationsError "
            "MissingExtraError MissingKeyError ModelError NotAModelError RequestRefusedError RunBusyError "
            "RunEndedError RunError RunNotFoundError SchemaError StructuredCallError ToolError "
            "TransientModelError TreadleError TreeError UnknownModelError WrongValueError"
        ),
        "_types.events": "AnswerDelta Artifact Event RunFinished ToolDone ToolStarted",
        "_types.profile": "Prices Profile",
        "_types.request": "Reply",
        "_types.state_values": "Step",
        "_types.usage": "Usage",
        "_workspace.workspace": "Workspace",
    }.items()
    for name in names.split()
}
_NEEDS_EXTRA = {
    "TemporalSubmitter": "_durable.temporal",
    "create_app": "_server",
    "make_server": "_server",
    "serve": "_server",
    "temporal_worker": "_durable.temporal",
}
"""Not in `__all__`: `from treadle import *` works without the extras `server` and `temporal`."""

_MODULES = {name: f"{name}:" for name in ("events", "interop", "messages", "plugins", "testing")}
"""`import treadle` is enough for `treadle.events.ToolDone`."""

__all__ = sorted(_LAZY_IMPORTS)  # pyright: ignore[reportUnsupportedDunderAll] - the names are imported on use
if not TYPE_CHECKING:  # to a type checker, a module with `__getattr__` has every name
    __getattr__ = lazy_getattr(__name__, _LAZY_IMPORTS | _NEEDS_EXTRA | _MODULES)


def __dir__() -> list[str]:
    return [*__all__, *_NEEDS_EXTRA, *_MODULES, "__version__"]
