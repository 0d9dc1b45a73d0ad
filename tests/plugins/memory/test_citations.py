"""Citations: an answer names the passages it rests on, and every id it names exists."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest

from kit import call, echo, user_texts
from plugins.aids import run_of
from plugins.scenes import DIALECTS, TEXT_ONLY, answer_in, components, in_dialect, request_text
from treadle import Agent, ScriptedModel, tool
from treadle._plugins.memory.citations import Citations, passages
from treadle._tools.builtin.knowledge.retrieval import KnowledgeBase, retrieval
from treadle._types.events import AnswerDone, Noted
from treadle._types.messages import ToolMessage
from treadle._types.request import Request


def base(path: Path, name: str = "base.db", texts: dict[str, str] | None = None) -> Path:
    store = KnowledgeBase(path / name)
    for title, text in (
        texts or {"oslo": "Oslo is the capital of Norway.", "rome": "Rome is the capital of Italy."}
    ).items():
        store.add(text, name=f"{title}.txt")
    return path / name


@pytest.mark.parametrize("dialect", DIALECTS)
def test_inline_over_the_retrieval_tool(dialect: str, tmp_path: Path):
    tools = [retrieval(base(tmp_path))]

    def reply(request: Request) -> Any:
        if len(model.requests) == 1:
            return in_dialect(dialect, "retrieval", query="capital of Norway")
        number = re.search(r'"id":(\d+),"document":"oslo.txt"', request_text(request).replace(" ", ""))[1]
        return answer_in(dialect, f"Oslo is the capital [ID:{number}]. So says everyone [ID:4711].")

    model = ScriptedModel(reply, abilities={} if dialect == "native" else TEXT_ONLY)
    result, run = run_of(Agent(model, tools, dialect=dialect, plugins=[Citations()]))
    rules = [text for text in user_texts(model.requests[1].messages) if "at most 4 in a sentence" in text]
    assert len(rules) == 1
    cited = result.metadata["reports"]["citations"]["cited"]
    assert result.answer == f"Oslo is the capital [ID:{cited[0]['id']}]. So says everyone."
    assert (cited[0]["document"], cited[0]["position"], cited[0]["tool"]) == ("oslo.txt", 0, "retrieval")
    assert KnowledgeBase(tmp_path / "base.db").chunk(cited[0]["chunk"]).text == "Oslo is the capital of Norway."
    assert result.metadata["reports"]["citations"]["removed"] == ["4711"]
    assert run.state.answer.done.text == result.answer


def test_without_passages_nothing_is_said_about_citations():
    model = ScriptedModel([call("echo", text="x"), "done"])
    result, _ = run_of(Agent(model, [echo], plugins=[Citations()]))
    assert len(user_texts(model.requests[-1].messages)) == 1
    assert result.metadata["reports"] == {}


def test_an_invented_citation_goes_even_when_nothing_was_retrieved(caplog: pytest.LogCaptureFixture):
    model = ScriptedModel(["So it is [ID:3]."])
    with caplog.at_level(logging.WARNING, "treadle"):
        result, _ = run_of(Agent(model, [echo], plugins=[Citations()]))
    assert result.answer == "So it is."
    assert result.metadata["reports"]["citations"]["removed"] == ["3"]
    assert "removed: 3" in caplog.text


def test_ids_are_unique_across_tools_and_the_same_passage_keeps_its_id(tmp_path: Path):
    first = retrieval(base(tmp_path, "a.db", {"oslo": "Oslo is the capital of Norway."}), name="geography")
    second = retrieval(base(tmp_path, "b.db", {"bread": "The capital of bread is flour."}), name="cooking")
    both = [call("geography", query="capital"), call("cooking", query="capital")]
    model = ScriptedModel([both, call("cooking", query="flour"), "done"])
    _, run = run_of(Agent(model, [first, second], plugins=[Citations()]))
    known = passages(run.state)
    assert len(known) == 2
    assert {passage.document for passage in known.values()} == {"oslo.txt", "bread.txt"}
    shown = [
        re.findall(r'"id":(\d+),"document":"(\w+)', m.content)
        for m in model.requests[-1].messages
        if isinstance(m, ToolMessage)
    ]
    ids = {
        document: {number for found in shown for number, name in found if name == document}
        for document in ("oslo", "bread")
    }
    assert all(len(numbers) == 1 for numbers in ids.values()), "one passage, one id"
    assert ids["oslo"] != ids["bread"]


def test_the_second_pass_adds_citations_and_nothing_else(tmp_path: Path):
    tools = [retrieval(base(tmp_path))]

    def reply(request: Request) -> Any:
        if request.component == "citations":
            number = re.search(r"\[ID:(\d+)\] Oslo", request_text(request))[1]
            return f"Oslo is the capital. [ID:{number}] It is cold. [ID:4711]"
        return (
            call("retrieval", query="capital of Norway")
            if len(model.requests) == 1
            else "Oslo is the capital. It is cold."
        )

    model = ScriptedModel(reply)
    result, _ = run_of(Agent(model, tools, plugins=[Citations("second_pass")]))
    assert components(model) == ["loop", "loop", "citations"]
    assert re.fullmatch(r"Oslo is the capital. \[ID:\d+\] It is cold.", result.answer)
    assert result.metadata["components"]["citations"]["calls"] == 1
    assert "at most 4 in a sentence" not in request_text(model.requests[1])


def test_a_second_pass_that_changes_the_words_is_not_taken(tmp_path: Path):
    model = ScriptedModel([call("retrieval", query="Norway"), "Oslo it is.", "Oslo, I would say, it is [ID:1]."])
    result, _ = run_of(Agent(model, [retrieval(base(tmp_path))], plugins=[Citations("second_pass")]))
    assert result.answer == "Oslo it is."


def test_a_synthesised_answer_gets_its_citations_by_a_second_pass(tmp_path: Path):
    model = ScriptedModel([call("retrieval", query="Norway"), "brief", "Oslo it is.", "Oslo it is [ID:1]."])
    result, run = run_of(Agent(model, [retrieval(base(tmp_path))], preset="two_phase", plugins=[Citations()]))
    assert components(model) == ["loop", "loop", "synthesis", "citations"]
    assert result.answer == "Oslo it is [ID:1]."
    assert [record.event.text for record in run.records if isinstance(record.event, AnswerDone)] == [
        "Oslo it is [ID:1]."
    ]


def test_the_complete_answer_of_the_reflective_preset_is_checked(tmp_path: Path):
    replies = iter(
        [
            '[{"name": "retrieval", "arguments": {"query": "Norway"}}]',
            '[{"name": "__complete_task__", "arguments": {}}]',
        ]
    )
    texts = {"complete": "Oslo it is [ID:1][ID:77].", "analysis": "look it up", "reflection": "fine"}
    model = ScriptedModel(lambda request: texts.get(request.component) or next(replies))
    result, _ = run_of(Agent(model, [retrieval(base(tmp_path))], preset="reflective"))
    assert result.answer == "Oslo it is [ID:1]."
    assert "at most 4 in a sentence" in request_text(model.requests[-1])


def test_passages_of_a_result_that_was_cut_are_known_too(tmp_path: Path):
    many = base(tmp_path, "long.db", {f"d{number}": f"capital number {number} " * 40 for number in range(5)})
    model = ScriptedModel([call("retrieval", query="capital"), "All of them [ID:1][ID:2][ID:3][ID:4]."])
    result, _ = run_of(Agent(model, [retrieval(many)], plugins=[Citations()], max_observation_chars=1_000))
    assert len(result.metadata["reports"]["citations"]["cited"]) == 4
    assert result.metadata["reports"]["citations"]["removed"] == []


def test_what_only_looks_like_passages_is_left_alone():
    @tool
    async def odd(kind: int) -> Any:
        """Give odd things."""
        return ['{"chunks": ', {"chunks": "none"}, {"chunks": [{"id": "x"}]}, {"chunks": []}, "chunks"][kind]

    model = ScriptedModel([*[call("odd", kind=kind) for kind in range(5)], "done"])
    result, run = run_of(Agent(model, [odd], plugins=[Citations()]))
    assert result.answer == "done"
    assert not any(isinstance(record.event, Noted) for record in run.records)


def test_the_passages_of_a_second_pass_are_cut_to_what_fits(tmp_path: Path):
    many = base(tmp_path, "long.db", {f"d{number}": f"capital number {number} " * 60 for number in range(5)})
    model = ScriptedModel([call("retrieval", query="capital"), "All of them.", "All of them [ID:1]."])
    agent = Agent(model, [retrieval(many)], plugins=[Citations("second_pass")], context_budget=2_000)
    result, _ = run_of(agent)
    assert result.answer == "All of them [ID:1]."
    assert len(request_text(model.requests[-1])) < 2_000 * 4
