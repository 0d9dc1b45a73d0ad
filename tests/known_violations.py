"""What tests/test_house.py still lets pass. Only take entries out: it fails when one of them is no longer true."""

from __future__ import annotations

CIRCLES: list[frozenset[str]] = []

LONG_FILES: set[str] = set()

LONG_FUNCTIONS: set[str] = set()

MISSING_TEST_FILES: set[str] = {
    # tests/engine/answering
    "tests/engine/answering/test_answer.py",
    "tests/engine/answering/test_ends.py",
    # tests/engine/core
    "tests/engine/test_context.py",
    # tests/engine/loop
    "tests/engine/loop/test_driver.py",
    # tests/engine
    "tests/engine/test_plugin.py",
    "tests/engine/test_run.py",
    # tests/flows/dag
    "tests/flows/dag/test_advice.py",
    "tests/flows/dag/test_agent.py",
    "tests/flows/dag/test_executor.py",
    # tests/flows
    "tests/flows/test_agent.py",
    "tests/flows/test_agent_tool.py",
    "tests/flows/test_flow.py",
    "tests/flows/test_react.py",
}

MISSING_TEST_FOLDERS: set[str] = set()
