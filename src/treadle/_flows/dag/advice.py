"""The calls around the steps: plan, judge, and (in auto mode) decide whether a plan is needed at all."""

from __future__ import annotations

from typing import Any

from treadle._engine.core.execution import Execution
from treadle._engine.requests.model_calls import ask as ask_model
from treadle._engine.structured import structured_llm_call
from treadle._flows.dag.plan import SCHEMA, Plan
from treadle._types.events import DagJudged, StepDone
from treadle._types.messages import Message, SystemMessage, UserMessage

PLANNER = (
    "You break a question into steps that other agents carry out, each on its own, side by side where possible. "
    "Give 2 to 10 steps. A step's task must make sense to someone who sees nothing but it and the results of its "
    "dependencies. "
    "List a dependency only where a result is really needed. Do not add a step that merely repeats or rewords another."
)
ANALYZER = (
    "You judge whether the work below answers the question. Be strict about facts that are missing or uncertain. "
    "When it does, write the full answer for the user in the language of the question."
)
MODE = (
    "Decide how to work on a question. Say loop when one agent going step by step will do, which is most of the time; "
    "say dag only when there are several independent parts that gain from being done side by side."
)
VERDICT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "achieved": {"type": "boolean"},
        "confidence": {"type": "number", "description": "0 to 1"},
        "final_answer": {"type": "string"},
    },
    "required": ["achieved", "confidence"],
}
MODES: dict[str, Any] = {
    "type": "object",
    "properties": {"mode": {"type": "string", "enum": ["loop", "dag"]}},
    "required": ["mode"],
}


UNREADABLE_VERDICT = {"achieved": False, "confidence": 0.0, "reasoning": "the judgement could not be read"}


def read_verdict(raw: dict[str, Any]) -> dict[str, Any]:
    return {
        "achieved": raw["achieved"] is True,
        "confidence": min(1.0, max(0.0, float(raw["confidence"]))),
        "final_answer": str(raw.get("final_answer") or ""),
        "reasoning": str(raw.get("reasoning") or ""),
    }


def read_plan(raw: dict[str, Any]) -> Plan:
    return Plan.parse(raw, least=2)


def read_mode(raw: dict[str, Any]) -> str:
    return str(raw["mode"])


async def make_plan(run: Execution, tools: list[str], models: list[str], findings_so_far: str) -> Plan:
    prompt = run.prompts.get("dag_planner", PLANNER)
    facts = f"Question:\n{run.state.question}\n\nTools: {', '.join(tools) or 'none'}\nModels: {', '.join(models)}"
    if findings_so_far:
        note = "keep a step as it is to reuse its result; do not redo finished work"
        facts += f"\n\nWhat earlier rounds found ({note}):\n{findings_so_far}"
    return await _ask(run, "planner", prompt, facts, SCHEMA, read_plan, "make_plan")


async def judge(run: Execution, round_number: int, findings_so_far: str) -> DagJudged:
    facts = f"Question:\n{run.state.question}\n\nResults of the steps:\n{findings_so_far or '(none)'}"
    prompt = run.prompts.get("dag_analyzer", ANALYZER)
    verdict = await _ask(run, "analyzer", prompt, facts, VERDICT, read_verdict, "judge", UNREADABLE_VERDICT)
    return DagJudged(round_number, **verdict)


async def choose_mode(run: Execution) -> str:
    prompt = run.prompts.get("dag_mode", MODE)
    return await _ask(run, "mode", prompt, f"Question:\n{run.state.question}", MODES, read_mode, "choose_mode", "loop")


async def _ask(
    run: Execution,
    component: str,
    prompt: str,
    facts: str,
    schema: dict[str, Any],
    parse: Any,
    name: str,
    *default: Any,
) -> Any:
    messages: list[Message] = [SystemMessage(prompt), UserMessage(facts)]

    async def ask(conversation: Any, **options: Any) -> Any:
        return await ask_model(run, component, conversation, **options)

    options: dict[str, Any] = {"default_value": default[0]} if default else {}
    result = await structured_llm_call(run.model, messages, schema, parse, name=name, ask=ask, **options)
    return result.value


def findings(steps: dict[str, tuple[str, StepDone]], limit: int) -> str:
    """What the steps found, for a reader: task, status, result."""
    lines: list[str] = []
    for step_id, (task, done) in steps.items():
        text = done.result if done.status in ("completed", "reused") else f"{done.status}: {done.error}"
        lines.append(f"[{step_id}] {task}\n{text if len(text) <= limit else text[: limit - 10] + ' [... cut]'}")
    return "\n\n".join(lines)
