"""`treadle config check`: everything that is wrong with a document, each with file, line and the nearest name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from treadle._cli.main import main
from treadle._config.checking import check_file, line_of, lines_of

SAMPLE = Path(__file__).resolve().parent.parent / "data" / "config" / "research.json"
GOOD: dict[str, Any] = {"llm_id": "ollama:llama3.2", "tools": [{"component_name": "calculator"}]}


def document(params: dict[str, Any], short: bool) -> dict[str, Any]:
    tail = {"knowledge_bases": {"notes": "kb.db"}, "mcp_servers": {"files": {"command": "x"}}}
    if short:
        return {"agent": params, **tail}
    components = {
        "begin": {"obj": {"component_name": "Begin"}, "downstream": ["Agent:A"]},
        "Agent:A": {"obj": {"component_name": "Agent", "params": params}, "downstream": ["Message:M"]},
        "Message:M": {"obj": {"component_name": "Message", "params": {"content": ["{{Agent:A@content}}"]}}},
    }
    return {"components": components, **tail}


@pytest.mark.parametrize("short", [True, False], ids=["agent file", "document"])
@pytest.mark.parametrize(
    ("params", "found", "text"),
    [
        (
            {"tools": [{"component_name": "calculater"}]},
            "unknown tool 'calculater'; did you mean 'calculator'?",
            "calculater",
        ),
        ({"tools": [{"component_name": "calculator", "params": {"foldr": "."}}]}, "'foldr'; it takes: ", "calculator"),
        (
            {"settings": {"max_iterationz": 3}},
            "unknown setting 'max_iterationz'; did you mean 'max_iterations'?",
            "iterationz",
        ),
        ({"settings": {"max_iterations": "many"}}, "a setting has a wrong value", "many"),
        ({"llm_id": "gpt-4o@OpenIA"}, "unknown provider 'OpenIA'; did you mean openai", "OpenIA"),
        ({"llm_id": "just-a-name"}, "names no provider", "just-a-name"),
        ({"preset": "reflektive"}, "unknown preset 'reflektive'; expected one of: ", "reflektive"),
        ({"preset": "reflektive"}, "did you mean 'reflective'?", "reflektive"),
        (
            {"tools": [{"component_name": "Retrieval", "params": {"kb_ids": ["notes", "ntes"]}}]},
            "kb_ids has 'ntes', which is not in `knowledge_bases`; did you mean 'notes'?",
            "Retrieval",
        ),
        (
            {"mcp": [{"mcp_id": "flies"}]},
            "uses the MCP server 'flies', which is not in `mcp_servers`; did you mean 'files'?",
            "flies",
        ),
        ({"max_roundz": 3}, "did you mean `max_rounds`?", "max_roundz"),
        (
            {"tools": [{"component_name": "Agent", "id": "x", "params": {"llm_id": "a:b", "preset": "default"}}]},
            "unknown provider 'a'",
            "a:b",
        ),
        ({"prompts": [{"role": "user", "content": "{{sys.quary}}"}]}, "did you mean 'sys.query'?", "quary"),
    ],
)
@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_what_is_unknown_is_found(
    params: dict[str, Any], found: str, text: str, short: bool, suffix: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):  # fmt: skip
    import yaml

    data = document({**GOOD, **params}, short)
    file = tmp_path / f"agent{suffix}"
    file.write_text(json.dumps(data, indent=2) if suffix == ".json" else yaml.safe_dump(data, sort_keys=False))
    assert main(["config", "check", str(file)]) == 2
    (problem,) = [line for line in capsys.readouterr().err.splitlines() if found in line]
    assert problem.startswith(f"treadle: {file}:")
    line = int(problem.removeprefix(f"treadle: {file}:").split(":")[0])
    assert any(text in row for row in file.read_text().splitlines()[line - 1 : line + 4])


@pytest.mark.parametrize("short", [True, False])
def test_a_good_document_is_described(short: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "agent.json"
    file.write_text(json.dumps(document(GOOD, short)))
    assert main(["config", "check", str(file)]) == 0
    shown = capsys.readouterr()
    assert "agent on ollama:llama3.2, tools: calculator" in shown.out
    assert shown.err == ""


def test_all_problems_are_named_at_once(tmp_path: Path):
    file = tmp_path / "agent.json"
    file.write_text(
        json.dumps(document({"preset": "x", "settings": {"y": 1}, "tools": [{"component_name": "z"}]}, False))
    )
    assert len(check_file(file).problems) == 4, "and there is no model"


def test_a_key_that_is_missing_here_is_not_the_documents_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("TAVILY_API_KEY", raising=False)
    file = tmp_path / "agent.json"
    file.write_text(json.dumps(document({**GOOD, "tools": [{"component_name": "Tavily"}]}, True)))
    assert check_file(file).problems == []


def test_the_sample_of_the_description_is_good(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TREADLE_TEST_PYTHON", "python")
    monkeypatch.setenv("TREADLE_TEST_MCP", "server.py")
    checked = check_file(SAMPLE)
    assert checked.problems == []
    assert checked.lines == [
        "begin: begin",
        "Agent:Research: agent on gpt-4o@OpenAI, tools: Retrieval, Google, mcp:mcp_server_123",
        "Message:Output: message",
    ]


@pytest.mark.parametrize("data", [{}, {"begin": {"obj": {"component_name": "Begin"}}}])
def test_a_document_without_an_agent_is_none(data: dict[str, Any], tmp_path: Path):
    file = tmp_path / "agent.json"
    file.write_text(json.dumps(data))
    assert any("at least one component named Agent" in problem for problem in check_file(file).problems)


def test_a_file_that_is_not_there_or_not_readable(tmp_path: Path):
    assert "cannot be read" in check_file(tmp_path / "none.json").problems[0]
    assert main(["config", "check", str(tmp_path / "none.json")]) == 2


YAML = """\
components:
  "Agent:A":
    obj:
      component_name: Agent
      params:
        settings:
          tempreature: 1
        tools:
          - component_name: calculator
          - component_name: nothing
"""
_PARAMS = {"settings": {"tempreature": 'a "quoted" [{'}, "tools": [{"x": 1}, {"y": []}], "empty": {}}
JSON = json.dumps({"components": {"Agent:A": {"obj": {"params": _PARAMS}}}}, indent=1)
PARAMS = ("components", "Agent:A", "obj", "params")


@pytest.mark.parametrize(("text", "suffix"), [(YAML, ".yaml"), (JSON, ".json")])
def test_each_key_and_item_has_its_line(text: str, suffix: str):
    lines = lines_of(text, suffix)
    rows = text.splitlines()
    assert "tempreature" in rows[line_of(lines, (*PARAMS, "settings", "tempreature")) - 1]
    first, second = line_of(lines, (*PARAMS, "tools", 0)), line_of(lines, (*PARAMS, "tools", 1))
    assert 0 < first < second
    assert line_of(lines, (*PARAMS, "tools", 1, "params", "no such thing")) == second


def test_short_forms_are_found():
    one = lines_of("name: x\nagent:\n  llm_id: y\n  settings:\n    a: 1\n", ".yml")
    assert line_of(one, (*PARAMS, "settings", "a")) == 5
    plain = lines_of('{"Agent:A":\n {"obj":\n {"params":\n {"llm_id": "x"}}}}', ".json")
    assert line_of(plain, (*PARAMS, "llm_id")) == 4


@pytest.mark.parametrize("text", ["{", '{"a" 1}', "[1 2]", "{a: [", ""])
def test_a_text_that_cannot_be_read_has_no_lines(text: str):
    assert line_of(lines_of(text, ".json"), ("a",)) == 0
