"""The calls around the steps: plan, judge, and (in auto mode) decide whether a plan is needed at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treadle._engine.answering.output import instruction
from treadle._engine.core.execution import Execution
from treadle._engine.requests.model_calls import JUDGE
from treadle._engine.requests.model_calls import ask as ask_model
from treadle._engine.structured import structured_llm_call
from treadle._flows.dag.plan import SCHEMA, Plan
from treadle._plugins.guards.compaction import condense, transcript_of
from treadle._plugins.thinking.rewrite import QuestionRewrite, standalone_question
from treadle._types.events import DagJudged, StepDone
from treadle._types.messages import Message, SystemMessage, UserMessage, text_of

PLANNER = (
    "You break a question into steps that other agents carry out, each on its own, side by side where possible. "
    "Give 2 to 10 steps, or a single one where the question cannot be divided. A step's task must make sense to "
    "someone who knows the conversation so far, but of this plan only the task and the results of its dependencies. "
    "List a dependency only where a result is really needed. Do not add a step that merely repeats or rewords another."
)
ANALYZER = (
    "You judge whether the work below answers the question. Be strict about facts that are missing or uncertain. "
    "When it does, write the full answer for the user in the language of the question. "
    "Marks such as [ID:3] in the results name sources: keep them with what they belong to."
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


DONE = ("completed", "reused")
"""The states of steps whose results count."""
_CONVERSATION_TOKENS, _CONVERSATION_CHARS = 4_000, 40_000
"""How much of the conversation before the question planner and judge see."""
UNREADABLE_VERDICT = {"achieved": False, "confidence": 0.0, "reasoning": "the judgement could not be read"}


def read_verdict(raw: dict[str, Any]) -> dict[str, Any]:
    return {
        "achieved": raw["achieved"] is True,
        "confidence": min(1.0, max(0.0, float(raw["confidence"]))),
        "final_answer": str(raw.get("final_answer") or "").strip(),
        "reasoning": str(raw.get("reasoning") or ""),
    }


async def make_plan(run: Execution, tools: list[str], models: list[str], findings_so_far: str) -> Plan:
    facts = f"Tools: {', '.join(tools) or 'none'}\nModels: {', '.join(models)}"
    if findings_so_far:
        note = "keep a step as it is to reuse its result; do not redo finished work"
        facts += f"\n\nWhat earlier rounds found ({note}):\n{findings_so_far}"
    prompt = run.prompts.get("dag_planner", PLANNER)
    return await _ask(run, "planner", prompt, facts, SCHEMA, Plan.parse, "make_plan")


async def judge(run: Execution, round_number: int, findings_so_far: str) -> DagJudged:
    facts = f"Results of the steps:\n{findings_so_far or '(none)'}"
    prompt = run.prompts.get("dag_analyzer", ANALYZER)
    verdict = await _ask(run, JUDGE, prompt, facts, VERDICT, read_verdict, "judge", UNREADABLE_VERDICT)
    return DagJudged(round_number, **verdict)


async def choose_mode(run: Execution) -> str:
    prompt = run.prompts.get("dag_mode", MODE)
    return await _ask(run, "mode", prompt, "", MODES, lambda raw: str(raw["mode"]), "choose_mode", "loop")


async def _ask(
    run: Execution,
    component: str,
    prompt: str,
    facts: str,
    schema: dict[str, Any],
    parse: Callable[[dict[str, Any]], Any],
    name: str,
    *default: Any,
) -> Any:
    """A structured call of somebody who knows what an agent would know: its instructions, and what was said before."""
    known = [part for part in (await _conversation(run), f"Question:\n{standalone_question(run.state)}", facts) if part]
    messages: list[Message] = [SystemMessage(_with_instructions(run, prompt)), UserMessage("\n\n".join(known))]

    stream = component == JUDGE and run.settings.answer == "direct" and run.log.watched

    async def ask(conversation: Any, **options: Any) -> Any:
        run.answer.retract()  # what an unreadable judgement showed of its answer
        return await ask_model(run, component, conversation, stream=stream, **options)

    options: dict[str, Any] = {"default_value": default[0]} if default else {}
    result = await structured_llm_call(run.current.model, messages, schema, parse, name=name, ask=ask, **options)
    return result.value


def _with_instructions(run: Execution, prompt: str) -> str:
    system = instructions_of(run)
    return f"{prompt}\n\nThe instructions of the agent that does the work:\n{system}" if system else prompt


def instructions_of(run: Execution) -> str:
    """The system prompt of the run, without what it says about the form of the last answer."""
    system = run.state.started.system if run.state.started is not None else ""
    if run.blueprint.output_type is not None:
        system = system.removesuffix(instruction(run.blueprint.output_type)).rstrip()
    return system


async def _conversation(run: Execution) -> str:
    """Return what was said before the question, and what plug-ins have added to it (memories, for example)."""
    entries = run.state.conversation.window
    before = [entry.message for entry in entries if entry.component in ("history", "summary")]
    notes = [
        text_of(entry.message.content)
        for entry in entries
        if isinstance(entry.message, UserMessage)
        and entry.message.kind == "note"
        and entry.component != QuestionRewrite.name
    ]
    parts: list[str] = []
    if before:
        limit = run.current.token_limit
        tokens = _CONVERSATION_TOKENS if limit is None else min(_CONVERSATION_TOKENS, limit // 4)
        text = transcript_of(before, _CONVERSATION_CHARS)
        said = await condense(run.context, text, hint="planner_input", tokens=tokens)
        parts.append(f"The conversation so far:\n{said}")
    return "\n\n".join([*parts, *notes])


def findings(steps: dict[str, tuple[str, StepDone]], limit: int) -> str:
    """Return what the steps found, for a reader: task, status, result."""
    lines: list[str] = []
    for step_id, (task, done) in steps.items():
        text = done.result if done.status in DONE else f"{done.status}: {done.error}"
        if done.status not in DONE and has_partial_result(done):
            text = f"{text}\nSo far: {done.result}"
        lines.append(f"[{step_id}] {task}\n{text if len(text) <= limit else text[: limit - 10] + ' [... cut]'}")
    return "\n\n".join(lines)


def has_partial_result(done: StepDone) -> bool:
    """Return whether a step that was not completed has something to show for it."""
    worked = done.work is not None and any(not call.error for call in done.work.calls)
    return done.status == "failed" and worked and bool(done.result)
