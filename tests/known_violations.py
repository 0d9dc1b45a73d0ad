"""What tests/test_house.py still lets pass. Only take entries out: it fails when one of them is no longer true."""

from __future__ import annotations

CIRCLES: list[frozenset[str]] = [
    frozenset(
        {
            "treadle._engine.acting.call_context",
            "treadle._engine.acting.eager",
            "treadle._engine.answering.answer",
            "treadle._engine.core.hooks",
            "treadle._engine.plugin",
            "treadle._engine.requests.model_calls",
            "treadle._engine.run",
        }
    ),
    frozenset(
        {
            "treadle._flows.agent",
            "treadle._flows.agent_tool",
        }
    ),
    frozenset(
        {
            "treadle._flows.dag.agent",
            "treadle._flows.dag.executor",
        }
    ),
]

LONG_FILES: set[str] = set()

LONG_FUNCTIONS: set[str] = {
    "src/treadle/_engine/run.py __init__",
}

MISSING_TEST_FILES: set[str] = {
    # tests/engine/acting
    "tests/engine/acting/test_call_context.py",
    "tests/engine/acting/test_calls.py",
    "tests/engine/acting/test_eager.py",
    "tests/engine/acting/test_nested.py",
    # tests/engine/answering
    "tests/engine/answering/test_answer.py",
    "tests/engine/answering/test_ends.py",
    "tests/engine/answering/test_output.py",
    # tests/engine/core
    "tests/engine/core/test_budget.py",
    "tests/engine/core/test_hooks.py",
    "tests/engine/core/test_inbox.py",
    "tests/engine/core/test_log.py",
    "tests/engine/core/test_redaction.py",
    # tests/engine/loop
    "tests/engine/loop/test_driver.py",
    "tests/engine/loop/test_turn.py",
    # tests/engine/requests
    "tests/engine/requests/test_estimate.py",
    "tests/engine/requests/test_model_calls.py",
    "tests/engine/requests/test_prefix.py",
    "tests/engine/requests/test_render.py",
    # tests/engine/surfaces
    "tests/engine/surfaces/test_bridge.py",
    "tests/engine/surfaces/test_inputs.py",
    "tests/engine/surfaces/test_text_view.py",
    # tests/engine
    "tests/engine/test_plugin.py",
    "tests/engine/test_result.py",
    "tests/engine/test_run.py",
    "tests/engine/test_settings.py",
    "tests/engine/test_structured.py",
    # tests/flows/dag
    "tests/flows/dag/test_advice.py",
    "tests/flows/dag/test_agent.py",
    "tests/flows/dag/test_executor.py",
    "tests/flows/dag/test_picture.py",
    "tests/flows/dag/test_plan.py",
    # tests/flows
    "tests/flows/test_agent.py",
    "tests/flows/test_agent_tool.py",
    "tests/flows/test_flow.py",
    "tests/flows/test_presets.py",
    "tests/flows/test_react.py",
    "tests/flows/test_replay.py",
}

MISSING_TEST_FOLDERS: set[str] = {
    "tests/cli/chat",
    "tests/cli/display",
    "tests/cli/runs",
    "tests/cli/setup",
    "tests/models/anthropic",
    "tests/models/gemini",
    "tests/models/openai",
    "tests/models/transport",
    "tests/server/api",
    "tests/server/live",
}
