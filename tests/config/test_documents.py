"""Agents from JSON and YAML documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from kit import call, go
from treadle import ScriptedModel
from treadle._config import load_agent
from treadle._config.document import json_schema, parse_document, read_document
from treadle._config.graph import GraphAgent, check, order_of
from treadle._journal.memory import MemoryJournal
from treadle._tools.builtin.knowledge.retrieval import KnowledgeBase
from treadle._types.errors import ConfigError
from treadle._types.events import StepDone
from treadle._types.messages import text_of

SAMPLE = Path(__file__).resolve().parent.parent / "data" / "config" / "research.json"
GRAPH: dict[str, Any] = {
    "begin": {"obj": {"component_name": "Begin"}, "downstream": ["Agent:First"]},
    "Agent:First": {
        "obj": {"component_name": "Agent", "params": {"tools": [{"component_name": "calculator"}]}},
        "downstream": ["Agent:Second"],
    },
    "Agent:Second": {
        "obj": {
            "component_name": "Agent",
            "params": {"prompts": [{"role": "user", "content": "Improve: {{Agent:First@content}} for {{sys.query}}"}]},
        },
        "downstream": ["Message:Out"],
    },
    "Message:Out": {"obj": {"component_name": "Message", "params": {"content": ["Result: {{Agent:Second@content}}"]}}},
}


def write(folder: Path, data: Any, name: str = "agent.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(data))
    return path


def test_the_sample_of_the_description_loads_with_its_names(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TREADLE_TEST_PYTHON", "python")
    monkeypatch.setenv("TREADLE_TEST_MCP", "server.py")
    document = read_document(SAMPLE)
    assert order_of(document, "sample") == ["begin", "Agent:Research", "Message:Output"]
    lines = check(document, SAMPLE.parent)
    assert lines[1] == "Agent:Research: agent on gpt-4o@OpenAI, tools: Retrieval, Google, mcp:mcp_server_123"


def test_a_graph_of_components_runs(tmp_path: Path):
    model = ScriptedModel([call("calculator", expression="6*7"), "42", "forty-two"])
    journal = MemoryJournal()
    agent = load_agent(write(tmp_path, GRAPH), model=model, journal=journal)
    assert isinstance(agent, GraphAgent)

    async def main() -> None:
        run = agent.start("6*7?")
        result = await run
        assert result.answer == "Result: forty-two"
        assert [r.event.step for r in run.records if isinstance(r.event, StepDone)] == ["Agent:First", "Agent:Second"]
        assert text_of(model.requests[-1].messages[-1].content) == "Improve: 42 for 6*7?"
        assert result.usage.requests == 3

    go(main())


def test_a_tool_in_the_graph_and_a_nested_agent(tmp_path: Path):
    base = KnowledgeBase(tmp_path / "kb.db")
    (tmp_path / "lighthouse.txt").write_text("The lighthouse of Lindesnes was built in 1655.")
    base.add(tmp_path / "lighthouse.txt")
    data = {
        "version": 1,
        "knowledge_bases": {"notes": "kb.db"},
        "components": {
            "Retrieval:Notes": {
                "obj": {"component_name": "Retrieval", "params": {"kb_ids": ["notes"]}},
                "downstream": ["Agent:Boss"],
            },
            "Agent:Boss": {
                "obj": {
                    "component_name": "Agent",
                    "params": {
                        "prompts": [{"role": "user", "content": "{{sys.query}}\nNotes: {{Retrieval:Notes@content}}"}],
                        "tools": [
                            {
                                "component_name": "Agent",
                                "id": "Boss-->helper",
                                "params": {"description": "Helps.", "user_prompt": "Help"},
                            }
                        ],
                    },
                }
            },
        },
    }
    order = {"reasoning": "r", "context": "c"}
    model = ScriptedModel([call("helper", **order), "helped", "built in 1655"])
    result = go(load_agent(write(tmp_path, data), model=model).run("When was the lighthouse built?"))
    assert result.answer == "built in 1655"
    assert "1655" in text_of(model.requests[0].messages[-1].content)


def test_yaml_short_form_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_PROMPT", "You are kind.")
    path = tmp_path / "agent.yaml"
    path.write_text(
        "agent:\n  llm_id: local:none\n  sys_prompt: ${MY_PROMPT} ${MISSING:-Always.}\n  tools:\n    - component_name: calculator\n"
        "  max_rounds: 3\n"
    )
    model = ScriptedModel(["hello"])
    agent = load_agent(path, model=model)
    assert agent.settings.max_iterations == 4
    assert go(agent.run("hi")).answer == "hello"
    assert "You are kind. Always." in model.requests[0].messages[0].text


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ([], "mapping"),
        ({"agent": {"llm_idd": "x"}}, "did you mean `llm_id`"),
        ({"agent": {"max_rounds": "many"}}, "max_rounds"),
        ({"agent": {"sys_prompt": "${NOT_SET_ANYWHERE}"}}, r"NOT_SET_ANYWHERE.*sys_prompt"),
        ({"agent": {}}, "llm_id"),
        ({"agent": {"llm_id": "nobody:x"}}, "nobody"),
        ({"agent": {"llm_id": "local:x", "tools": [{"component_name": "Telepathy"}]}}, "Telepathy"),
        ({"agent": {"mcp": [{"mcp_id": "ghost"}]}}, "ghost"),
        ({"version": 9, "components": {}}, "version 9"),
        ({"components": {"a": {"obj": {"component_name": "Begin"}, "downstream": ["b"]}}}, "'b', which does not exist"),
        (
            {
                "A": {"obj": {"component_name": "Agent"}, "downstream": ["B"]},
                "B": {"obj": {"component_name": "Agent"}, "downstream": ["A"]},
            },
            "circle",
        ),
        ({"begin": {"obj": {"component_name": "Begin"}}}, "no Agent"),
    ],
)
def test_errors_name_the_place_and_the_fix(data: Any, says: str, tmp_path: Path):
    with pytest.raises(ConfigError, match=says):
        load_agent(write(tmp_path, data))


@pytest.mark.parametrize(
    ("name", "text"), [("a.json", "{"), ("a.yaml", "a: ["), ("missing.json", None), ("b.json", "\x00")]
)
def test_files_that_cannot_be_read(name: str, text: str | None, tmp_path: Path):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=name):
        load_agent(tmp_path / name)


def test_the_published_schema_accepts_the_sample():
    schema = json_schema()
    validator = jsonschema_rs.validator_for(schema)
    validator.validate(json.loads(SAMPLE.read_text()))
    assert not validator.is_valid({"components": {"a": {"obj": {}}}})


def test_a_graph_goes_on_after_a_crash():
    model = ScriptedModel(["42", "forty-two"])
    journal = MemoryJournal()

    async def main() -> None:
        first = GraphAgent(parse_document(GRAPH), Path(), model=model, journal=journal)
        run = first.start("q")
        await run
        cut = next(r.seq for r in run.records if isinstance(r.event, StepDone))
        await journal.append([type(r)("copy", r.seq, r.time, r.event) for r in run.records if r.seq <= cut])
        again = ScriptedModel(["better"])
        result = await GraphAgent(parse_document(GRAPH), Path(), model=again, journal=journal).resume("copy")
        assert result.answer == "Result: better"
        assert len(again.requests) == 1

    go(main())
