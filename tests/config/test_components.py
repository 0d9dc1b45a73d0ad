"""Components that lead the way, ask, repeat and transform: each in a whole run of a document."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kit import call, go
from treadle import Plugin, ScriptedModel
from treadle._config.document import parse_document
from treadle._config.graph import GraphAgent
from treadle._engine.context import RunContext
from treadle._journal.memory import MemoryJournal
from treadle._tools.builtin.knowledge.retrieval import KnowledgeBase
from treadle._types.errors import ConfigError
from treadle._types.events import AnswerDelta, StepDone, StepStarted
from treadle._types.messages import text_of


def component(name: str, *after: str, parent: str = "", **params: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"obj": {"component_name": name, "params": params}, "downstream": list(after)}
    return {**made, "parent_id": parent} if parent else made


def agent(prompt: str, *after: str, parent: str = "", **params: Any) -> dict[str, Any]:
    prompts = [{"role": "user", "content": prompt}]
    return component("Agent", *after, parent=parent, preset="default", prompts=prompts, **params)


def echo(request: Any) -> str:
    """Reply with what was asked last."""
    asked = [message for message in request.messages if getattr(message, "kind", "") == "question"]
    return f"<{text_of(asked[-1].content)}>"


def graph(components: dict[str, Any], model: Any = echo, base: Path | None = None, **more: Any) -> GraphAgent:
    model = model if isinstance(model, ScriptedModel) else ScriptedModel(model)
    options = {key: more.pop(key) for key in ("journal", "plugins") if key in more}
    return GraphAgent(parse_document({"components": components, **more}), base or Path(), model=model, **options)


CATEGORIES = {
    "Praise": {"description": "They like it.", "examples": ["Great!"], "to": ["Agent:Thanks"]},
    "Complaint": {"description": "They do not.", "to": ["Agent:Sorry"]},
}
ROUTED = {
    "begin": component("Begin", "Categorize:C"),
    "Categorize:C": component("Categorize", category_description=CATEGORIES, query="begin@content"),
    "Agent:Thanks": agent("thanks for {{sys.query}}", "VariableAggregator:V"),
    "Agent:Sorry": agent("sorry for {{sys.query}}", "VariableAggregator:V"),
    "VariableAggregator:V": component(
        "VariableAggregator",
        "Message:M",
        groups=[
            {"group_name": "reply", "variables": [{"value": f"Agent:{name}@content"} for name in ("Thanks", "Sorry")]}
        ],
    ),
    "Message:M": component("Message", content=["{{Categorize:C@category_name}}: {{VariableAggregator:V@reply}}"]),
}


@pytest.mark.parametrize("reply", ["Complaint", "The category is **complaint**.", '{"category": "Complaint"}'])
def test_a_category_leads_the_way(reply: str):
    asked: list[str] = []

    def model(request: Any) -> str:
        asked.append(str(request.messages[0]))
        return reply if "categories" in asked[-1] else echo(request)

    result = go(graph(ROUTED, model).run("the lid is broken"))
    assert (result.answer, result.success) == ("Complaint: <sorry for the lid is broken>", True)
    assert len(asked) == 2  # one choice, one answer: the other branch never ran


def test_a_reply_without_a_category_is_an_error():
    result = go(graph(ROUTED, lambda request: "I do not know.").run("q", on_error="result"))
    assert (result.stop_reason, result.success) == ("error", False)
    assert "none of the categories" in str(result.error)


@pytest.mark.parametrize(("question", "answer"), [("urgent: 12", "<fast>"), ("5", "<slow>"), ("99 bottles", "<slow>")])
def test_conditions_lead_the_way(question: str, answer: str):
    urgent = {"items": [{"cpn_id": "sys.query", "operator": "contains", "value": "URGENT"}], "to": ["Agent:Fast"]}
    data = {
        "begin": component("Begin", "Switch:S"),
        "Switch:S": component("Switch", conditions=[urgent], end_cpn_ids=["Agent:Slow"]),
        "Agent:Fast": agent("fast", "Message:M"),
        "Agent:Slow": agent("slow", "Message:M"),
        "Message:M": component("Message", content=["{{Agent:Fast@content}}{{Agent:Slow@content}}"]),
    }
    assert go(graph(data).run(question)).answer == answer


def test_a_list_is_worked_through_item_by_item():
    data = {
        "begin": component("Begin", "StringTransform:Split"),
        "StringTransform:Split": component("StringTransform", "Iteration:I", method="split", split_ref="sys.query"),
        "Iteration:I": component(
            "Iteration",
            "Message:M",
            items_ref="StringTransform:Split@result",
            outputs={"all": {"ref": "Agent:Each@content"}},
        ),
        "IterationItem:Item": component("IterationItem", "Agent:Each", parent="Iteration:I"),
        "Agent:Each": agent("{{IterationItem:Item@index}} {{IterationItem:Item@item}}", parent="Iteration:I"),
        "Message:M": component("Message", content=["{{Iteration:I@all}}"]),
    }
    result = go(graph(data).run("a, b"))
    assert result.answer == '["<0 a>","<1 b>"]'
    assert list(result.metadata["document"]) == ["Agent:Each#0", "Agent:Each#1"]


async def test_a_form_pauses_the_run_and_is_checked():
    data = {
        "begin": component("Begin", "Agent:Plan"),
        "Agent:Plan": agent("plan {{sys.query}}", "UserFillUp:F"),
        "UserFillUp:F": component(
            "UserFillUp", "Agent:Do", tips="Plan: {{Agent:Plan@content}}", inputs={"rounds": {"type": "integer"}}
        ),
        "Agent:Do": agent("do it {{UserFillUp:F@rounds}} times", "Message:M"),
        "Message:M": component("Message"),
    }
    journal, model = MemoryJournal(), ScriptedModel(echo)
    result = await graph(data, model, journal=journal).run("it")
    (waiting,) = result.pending
    form = {"properties": {"rounds": {"type": "integer", "title": "rounds"}}, "required": ["rounds"]}
    asked = {"tips": "Plan: <plan it>", "form": {"type": "object", **form}}
    assert (result.stop_reason, waiting.external, waiting.args) == ("paused", True, asked)
    again = graph(data, model, journal=journal)
    result = await again.resume(result.run_id, results={waiting.call_id: {"rounds": 3}})
    assert (result.answer, len(model.requests)) == ("<do it 3 times>", 2)


def test_variables_are_assigned_and_read():
    assign = [{"variable": "env.tone", "operator": "overwrite", "parameter": "{{sys.query}}"}]
    data = {
        "begin": component("Begin", "VariableAssigner:V"),
        "VariableAssigner:V": component("VariableAssigner", "Agent:A", variables=assign),
        "Agent:A": agent("be {{env.tone}} in {{env.place}}"),
    }
    assert go(graph(data, globals={"env.tone": "", "env.place": "Oslo"}).run("kind")).answer == "<be kind in Oslo>"


def test_code_is_a_component():
    pytest.importorskip("pydantic_monty")
    script = "def main(text: str, times: str) -> dict:\n    return {'long': text * int(times)}"
    data = {
        "begin": component("Begin", "CodeExec:C"),
        "CodeExec:C": component(
            "CodeExec", "Agent:A", script=script, arguments={"text": "{{sys.query}}", "times": "2"}
        ),
        "Agent:A": agent("{{CodeExec:C@long}}"),
    }
    assert go(graph(data).run("ab")).answer == "<abab>"


def test_the_inputs_of_the_beginning_come_by_name():
    data = {
        "begin": component("Begin", "Agent:A", inputs={"review": {"type": "paragraph"}, "stars": {"type": "integer"}}),
        "Agent:A": agent("{{begin@review}}/{{begin@stars}}"),
    }
    assert go(graph(data).run('{"review": "fine", "stars": 4}')).answer == "<fine/4>"
    assert go(graph(data).run("fine")).answer == "<fine/>"


@pytest.mark.parametrize(("size", "texts"), [(None, ["one", "two", "three", "q"]), (2, ["three", "q"]), (1, ["q"])])
def test_an_agent_sees_a_window_of_the_conversation(size: int | None, texts: list[str]):
    model = ScriptedModel(["done"])
    history = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three"},
    ]
    data = {"begin": component("Begin", "Agent:A"), "Agent:A": agent("{{sys.query}}", message_history_window_size=size)}
    go(graph(data, model).run("q", history=history))
    messages = [m for m in model.requests[0].messages if getattr(m, "role", "") != "system"]
    assert [getattr(m, "text", None) or text_of(m.content) for m in messages][-len(texts) :] == texts
    assert len(messages) == len(texts)


def test_a_message_without_content_repeats_what_leads_to_it_from_either_side():
    data = {"Agent:A": agent("from A", "Message:M"), "Message:M": component("Message"), "Agent:B": agent("from B")}
    assert go(graph(data).run("q")).answer == "<from A>"


async def test_branches_run_side_by_side():
    together = asyncio.Barrier(2)

    class Meet(Plugin):
        name = "meet"

        async def before_round(self, run: RunContext) -> None:
            if run.state.question in ("left", "right"):
                await asyncio.wait_for(together.wait(), 20)  # never alone

    data = {
        "begin": component("Begin", "Agent:L", "Agent:R"),
        "Agent:L": agent("left", "Agent:Both"),
        "Agent:R": agent("right", "Agent:Both"),
        "Agent:Both": agent("{{Agent:L@content}} and {{Agent:R@content}}"),
    }
    assert (await graph(data, plugins=[Meet()]).run("q")).answer == "<<left> and <right>>"


async def test_after_a_crash_only_what_was_open_is_repeated():
    data = {
        "begin": component("Begin", "Agent:L", "Agent:R"),
        "Agent:L": agent("left", "Message:M"),
        "Agent:R": agent("right", "Message:M"),
        "Message:M": component("Message", content=["{{Agent:L@content}} {{Agent:R@content}}"]),
    }
    journal = MemoryJournal()
    run = graph(data, journal=journal).start("q")
    await run
    steps = [r for r in run.records if isinstance(r.event, StepStarted | StepDone)]
    first = next(r for r in steps if isinstance(r.event, StepDone))
    assert isinstance(first.event, StepDone)
    await journal.append([type(r)("copy", r.seq, r.time, r.event) for r in run.records if r.seq <= first.seq])
    model = ScriptedModel(echo)
    result = await graph(data, model, journal=journal).resume("copy")
    assert result.answer == "<left> <right>"
    assert len(model.requests) == 1
    assert {"Agent:L": "right", "Agent:R": "left"}[first.event.step] in str(model.requests[0].messages)


async def test_a_message_streams_while_the_agent_writes_it():
    data = {
        "Agent:A": agent("say", "Message:M"),
        "Message:M": component("Message", content=["Answer: {{Agent:A@content}}!"]),
    }
    model = ScriptedModel(["one two three four"], chunk=4)
    pieces = [text async for text, _ in graph(data, model).deltas("q") if text]
    assert "".join(pieces) == "Answer: one two three four!"
    assert len(pieces) > 3
    events = [event async for event in graph(data, ScriptedModel(["one two"], chunk=4)).stream("q")]
    deltas = [index for index, event in enumerate(events) if isinstance(event, AnswerDelta)]
    done = next(index for index, event in enumerate(events) if isinstance(event, StepDone))
    assert deltas[1] < done  # while the agent still works


def knowledge(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "bridge.txt").write_text("The bridge of Aland is 312 m long.")
    KnowledgeBase(tmp_path / "kb.db").add(tmp_path / "bridge.txt")
    return {
        "begin": component("Begin", "Retrieval:R"),
        "Retrieval:R": component("Retrieval", "Agent:A", kb_ids=["notes"]),
        "Agent:A": agent("{{sys.query}}\n{{Retrieval:R@formalized_content}}", "Message:M"),
        "Message:M": component("Message", content=["{{Agent:A@content}}"]),
    }


def test_a_true_citation_of_a_passage_in_the_prompt_stays(tmp_path: Path):
    data = knowledge(tmp_path)
    model = ScriptedModel(["It is 312 m long [ID:1], or 9 [ID:7]."])
    result = go(graph(data, model, tmp_path, knowledge_bases={"notes": "kb.db"}).run("How long is the bridge?"))
    assert result.answer == "It is 312 m long [ID:1], or 9."
    assert [passage["id"] for passage in result.metadata["reports"]["citations"]["cited"]] == [1]
    assert "[ID:i]" in str(model.requests[0].messages)


def test_an_agent_that_does_not_cite_is_told_nothing_about_it(tmp_path: Path):
    data = knowledge(tmp_path)
    data["Agent:A"]["obj"]["params"]["cite"] = False
    model = ScriptedModel(["It is 312 m long."])
    go(graph(data, model, tmp_path, knowledge_bases={"notes": "kb.db"}).run("How long is the bridge?"))
    assert "[ID:i]" not in str(model.requests[0].messages)


def test_an_agent_without_tools_makes_one_request():
    data = {"begin": component("Begin", "Agent:A"), "Agent:A": component("Agent")}
    model = ScriptedModel(["hello"], repeat_last=True)
    assert go(graph(data, model).run("q")).answer == "hello"
    assert len(model.requests) == 1


def test_unnamed_agents_inside_an_agent_do_not_clash():
    helper = {"component_name": "Agent", "params": {"preset": "default", "description": "Helps."}}
    data = {"Agent:A": component("Agent", preset="default", tools=[helper, helper])}
    made = graph(data)
    assert [tool.name for tool in made.inner_agents[0].toolkit] == ["worker", "worker_2"]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (component("Agent", max_rounds=-3), "max_rounds"),
        (component("Agent", max_tokens=-1), "max_tokens"),
        (component("Agent", tools=[{"component_name": "Retrieval", "params": {"kb_ids": ["gone"]}}]), "is not there"),
        (component("Switch", conditions=[], end_cpn_ids=["Agent:None"]), "leads to 'Agent:None'"),
        (component("Categorize", categories={}), "categories"),
    ],
)
def test_what_is_wrong_is_refused_by_checking_and_loading_alike(wrong: dict[str, Any], text: str, tmp_path: Path):
    import json

    from treadle._config import load_agent
    from treadle._config.checking import check_file

    data = {"components": {"X": wrong, "Agent:A": component("Agent")}, "knowledge_bases": {"gone": "gone.db"}}
    for made in data["components"].values():
        if made["obj"]["component_name"] == "Agent":
            made["obj"]["params"]["llm_id"] = "gpt-4o@OpenAI"
    file = tmp_path / "document.json"
    file.write_text(json.dumps(data))
    checked = check_file(file)
    assert any(text in problem for problem in checked.problems)
    with pytest.raises(ConfigError) as refused:
        load_agent(file, model=ScriptedModel([]))
    assert str(refused.value).partition(": ")[2] in checked.problems[0]


def test_prompts_among_the_settings_are_used_and_not_refused(tmp_path: Path):
    import json

    from treadle._config.checking import check_file

    made = component("Agent", llm_id="gpt-4o@OpenAI", settings={"prompts": {"citations": "Cite."}})
    (tmp_path / "document.json").write_text(json.dumps({"components": {"Agent:A": made}}))
    assert check_file(tmp_path / "document.json").problems == []


def test_a_document_remembers_wherever_it_is_started(tmp_path: Path):
    from treadle._agent.presets import local_user, memory_stores
    from treadle._plugins.memory.plugin import Memory
    from treadle._plugins.memory.store import MemoryStore

    store = MemoryStore(tmp_path / "memory.db")

    def model(request: Any) -> Any:
        if request.component == "memory_summary":
            return "The sum was worked out: 42."
        answered = any(
            getattr(message, "kind", "") == "observation" or message.role == "tool" for message in request.messages
        )
        return "It is 42." if answered else call("calculator", expression="6*7")

    tools = [{"component_name": "calculator"}]
    data = {
        "begin": component("Begin", "Agent:A"),
        "Agent:A": agent("{{sys.query}}", tools=tools),
    }
    made = graph(data, model, plugins=[Memory(store, rank="text")])
    assert local_user(made) == "local"
    assert store.path in [one.path for one in memory_stores(made)]
    go(made.run("What is the sum?", user=local_user(made)))
    assert [memo.summary for memo in store.all("local")] == ["The sum was worked out: 42."]
    asked: list[Any] = []
    again = graph(data, lambda request: asked.append(request) or "42, as before.", plugins=[Memory(store, rank="text")])
    go(again.run("What was the sum again?", user="local"))
    assert "The user asked: What is the sum?" in str(asked[0].messages)
    assert "The agent answered: It is 42." in str(asked[0].messages)
    assert local_user(graph(data)) == ""
    inside = {"Agent:A": component("Agent", tools=tools), "begin": component("Begin")}
    assert local_user(graph(inside)) == "local"
