"""Exported workflows as documents: what is kept, translated and dropped, and that they run."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kit import go
from treadle import ScriptedModel
from treadle._cli.main import main
from treadle._config import load_agent
from treadle._config.importing import import_file, import_workflow
from treadle._types.errors import ConfigError


def part(kind: str, down: list[str], up: list[str], **params: Any) -> dict[str, Any]:
    return {"obj": {"component_name": kind, "params": params}, "downstream": down, "upstream": up}


RETRIEVAL = {"component_name": "Retrieval", "id": "Retrieval:X", "name": "Retrieval",
             "params": {"kb_ids": ["abc"], "top_n": 3, "top_k": 1024, "rerank_id": "", "outputs": {}}}  # fmt: skip
CATEGORIES = {
    "Refund ": {"description": "Money back.", "examples": ["I want my money."], "to": ["Agent:Refund"], "uuid": "u"},
    "Other": {"description": "", "examples": [], "to": ["Message:Other"]},
}
WORKFLOW: dict[str, Any] = {
    "id": 1,
    "dsl": {
        "components": {
            "begin": part("Begin", ["Categorize:Kind"], [], mode="conversational", prologue="Hi", enablePrologue=True),
            "Categorize:Kind": part("Categorize", ["Agent:Refund", "Message:Other"], ["begin"],
                                    category_description=CATEGORIES, query="sys.query", llm_id="", top_p=0.3),
            "Agent:Refund": part(
                "Agent", ["UserFillUp:Form"], ["Categorize:Kind"], llm_id="m@P", sys_prompt="For {sys.user_id}.",
                prompts=[{"role": "user", "content": "{sys.query} {not a reference}"}], tools=[RETRIEVAL],
                max_tokens=256, maxTokensEnabled=False, temperature=0.1, top_p=0.5, topPEnabled=False,
                presence_penalty=0.4,
                cite=True,
                message_history_window_size=6, visual_files_var="sys.files", max_retries=3, exception_goto=[],
            ),
            "UserFillUp:Form": part("UserFillUp", ["Message:Done"], ["Agent:Refund"], enable_tips=True,
                                    tips="{Agent:Refund@content}?",
                                    inputs={"iban": {"name": "IBAN", "type": "line", "key": "k"}}),
            "Message:Done": part("Message", [], ["UserFillUp:Form"],
                                 content=["{Agent:Refund@content} to {UserFillUp:Form@iban}"]),
            "Message:Other": part("Message", [], ["Categorize:Kind"], content=["{Categorize:Kind@category_name}"]),
        },
        "globals": {"sys.query": "", "env.tone": "kind"},
        "graph": {"nodes": [1]},
        "variables": {},
    },
}  # fmt: skip


def test_a_workflow_is_translated_with_a_report():
    imported = import_workflow(WORKFLOW, name="flow")
    made = imported.document["components"]
    agent = made["Agent:Refund"]["obj"]["params"]
    assert agent["prompts"] == [{"role": "user", "content": "{{sys.query}} {not a reference}"}]
    assert agent["sys_prompt"] == "For {{sys.user_id}}."
    assert (agent["temperature"], "max_tokens" in agent, "top_p" in agent) == (0.1, False, False)
    assert agent["tools"] == [{"component_name": "Retrieval", "params": {"kb_ids": ["abc"], "k": 3}}]
    assert (imported.bases, imported.document["globals"]) == (["flow.kb/abc.db"], {"env.tone": "kind"})
    report = imported.report()
    for line in (
        "kept: Agent:Refund (Agent)",
        "translated: Agent:Refund: Retrieval: the knowledge base abc is the empty file",
        "translated: Agent:Refund: visual_files_var: images of the question",
        "dropped: Agent:Refund: presence_penalty = '0.4': sampling",
        "dropped: Agent:Refund: max_retries = '3'",
        "dropped: Categorize:Kind: top_p = '0.3'",
        "dropped: graph: the editor's",
    ):
        assert line in report
    assert "topPEnabled" not in report


def test_an_imported_workflow_runs_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    monkeypatch.chdir(tmp_path)
    Path("flow.json").write_text(json.dumps(WORKFLOW))
    assert main(["config", "import", "flow.json", "--model", "openai:gpt-4o"]) == 0
    assert "written: flow.agent.json" in capsys.readouterr().out
    assert Path("flow.kb/abc.db").exists()

    def reply(request: Any) -> str:
        return "Refund" if "categories" in str(request.messages[0]) else "You get 5 euros"

    agent = load_agent("flow.agent.json", model=ScriptedModel(reply))
    paused = go(agent.run("Money back!"))
    (form,) = paused.pending
    result = go(agent.resume(paused, results={form.call_id: {"iban": "NO1"}}))
    assert (result.answer, result.success) == ("You get 5 euros to NO1", True)
    assert main(["config", "import", "flow.json"]) == 2  # what is there is not written over
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("components", "why"),
    [
        ({"File": part("File", [], []), "Parser:P": part("Parser", [], ["File"])}, "ingestion pipeline"),
        ({"Agent:A": part("Agent", ["Fax:F"], []), "Fax:F": part("Fax", [], ["Agent:A"])}, "Fax:F is a Fax"),
        ({"Agent:A": part("Agent", [], []), "Text:T": part("Text", [], [])}, "Text:T is a Text"),
        ({"Agent:A": part("Agent", [], []), "CodeExec:C": part("CodeExec", [], [], lang="javascript")}, "javascript"),
        ({}, "no components"),
        ({"Agent:A": {"downstream": []}}, "a component is not written as the system writes it"),
        ({"Agent:A": part("Agent", [], [], prompts=[{"content": "?"}])}, "Agent:A is not written as the system writes"),
        ({"Categorize:C": part("Categorize", [], [], category_description={"x": 3.5})}, "Categorize:C is not written"),
    ],
)
def test_what_cannot_be_a_document_is_refused_in_one_line(components: dict[str, Any], why: str):
    with pytest.raises(ConfigError, match=why) as refused:
        import_workflow({"dsl": {"components": components}}, name="flow")
    assert "\n" not in str(refused.value)


VALUES: list[Any] = [None, "", -1, True, [], {}, "x", 10**30, "{nobody@content}", ["a"], {"a": 1}, "${HOME}"]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every entry of nested data: what it is in, and its key there."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places(value[key])


@pytest.mark.parametrize("seed", range(60))
def test_what_is_written_loads_and_anything_else_is_refused_in_one_line(seed: int, tmp_path: Path):
    draw, workflow = Random(seed), copy.deepcopy(WORKFLOW)
    inside, key = draw.choice(list(places(workflow["dsl"]["components"])))
    if seed % 3:
        inside[key] = draw.choice(VALUES)
    else:
        del inside[key]
    source, target = tmp_path / "flow.json", tmp_path / "flow.agent.json"
    source.write_text(json.dumps(workflow))
    try:
        import_file(source, target)
    except ConfigError as error:
        refusal = str(error).replace(str(source), "")
    else:
        load_agent(target, model=ScriptedModel([]))
        return
    assert not list(tmp_path.glob("flow.*.json"))
    assert "\n" not in refusal
    assert tempfile.gettempdir() not in refusal


def test_a_workflow_reads_no_environment_variables_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET", "s3cret")
    prompt = "print(`${SECRET} ${A:-${SECRET}}`)"
    components = {"Agent:A": part("Agent", [], [], sys_prompt=prompt)}
    (tmp_path / "flow.json").write_text(json.dumps({"dsl": {"components": components}}))
    import_file(tmp_path / "flow.json", tmp_path / "flow.agent.json")
    model = ScriptedModel(["ok"])
    go(load_agent(tmp_path / "flow.agent.json", model=model).run("q"))
    assert prompt in str(model.requests[0].messages)


def test_a_model_that_there_is_not_here_is_reported(tmp_path: Path):
    components = {"Agent:A": part("Agent", [], [], llm_id="m@Nobody")}
    imported = import_workflow({"dsl": {"components": components}}, name="flow")
    assert "llm_id" not in imported.document["components"]["Agent:A"]["obj"]["params"]
    assert "add llm_id, or import with --model" in imported.report()


def test_branches_code_and_requests_are_translated():
    workflow = {
        "Agent:A": part("Agent", ["Switch:S"], [], tools=[{"component_name": "Fax", "params": {}}]),
        "Switch:S": part("Switch", ["Invoke:I"], ["Agent:A"], end_cpn_ids=["CodeExec:C"], conditions=[
            {"items": [{"cpn_id": "Agent:A@content", "operator": "≥", "value": "{sys.query}"}], "to": ["Invoke:I"]}]),
        "Invoke:I": part("Invoke", [], ["Switch:S"], url="https://example.org/{sys.query}", method="POST",
                         headers='{"a": "b"}', variables=[{"key": "q", "ref": "Agent:A@content"}], proxy="http://p"),
        "CodeExec:C": part("CodeExec", [], ["Switch:S"], lang="python", script="def main(x):\n    return x",
                           arguments={"x": "Agent:A@content"}),
    }  # fmt: skip
    imported = import_workflow({"dsl": {"components": workflow}}, name="flow", model="openai:m")
    made = {name: one["obj"]["params"] for name, one in imported.document["components"].items()}
    assert made["Switch:S"]["conditions"][0]["items"][0]["value"] == "{{sys.query}}"
    assert made["Invoke:I"]["variables"] == {"q": "{{Agent:A@content}}"}
    assert made["CodeExec:C"]["arguments"] == {"x": "{{Agent:A@content}}"}
    assert any("the tool Fax" in line for line in imported.dropped)
    assert any("proxy" in line for line in imported.dropped)


def test_passages_below_the_threshold_are_left_out_and_the_nearest_come_first(tmp_path: Path):
    from treadle._tools.builtin.knowledge.retrieval import KnowledgeBase, retrieval

    base = KnowledgeBase(tmp_path / "kb.db")
    long = "cat and a dog far away from any other word that could be meant here"
    for text in ("cat", "cat cat cat cat", long, "bird", "fish", "horse", "cow", "sheep"):
        base.add(text)

    async def lengths(texts: list[str]) -> list[list[float]]:
        return [[1.0, float(len(text))] for text in texts]

    async def found(**options: Any) -> list[str]:
        searched = await retrieval(tmp_path / "kb.db", **options).execute(query="cat")
        return [chunk.text for chunk in searched.chunks]

    everything = go(found())
    assert len(everything) == 3
    assert go(found(threshold=1.0)) == everything[:1]
    assert go(found(k=1, rerank=lengths)) == ["cat"]
