"""Questions over a small encyclopedia, with `search` and `lookup`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit import call, go
from treadle import ScriptedModel
from treadle._inspect.evals.hotpot import PageIndex, load_hotpot, page_tools
from treadle._inspect.evals.runner import Variant, run_tasks
from treadle._types.errors import ConfigError, ToolError

WIKI = {
    "Loom": [
        "A loom weaves cloth.",
        " It was invented long ago.",
        " A loom has a treadle.",
        " It is big.",
        " It is loud.",
        " A loom is wooden.",
    ],
    "Treadle": ["A treadle is a pedal.", " It is worked with the foot."],
    "Treadle (song)": ["A song."],
}
QUESTIONS = [
    {
        "id": "q1",
        "question": "With what is a treadle worked?",
        "answer": "the foot",
        "type": "bridge",
        "level": "hard",
        "gold_titles": [],
    },
    {"id": "q2", "question": "Is a loom loud?", "answer": "yes", "type": "comparison"},
]


def folder(tmp_path: Path) -> Path:
    (tmp_path / "tasks.json").write_text(json.dumps(QUESTIONS))
    (tmp_path / "wiki.json").write_text(json.dumps(WIKI))
    return tmp_path


def test_search_and_lookup():
    search, lookup = page_tools(PageIndex(WIKI))
    with pytest.raises(ToolError, match="search for an entity first"):
        lookup(keyword="x")
    assert search(entity=" LOOM ") == (
        "Loom: A loom weaves cloth. It was invented long ago. A loom has a treadle. It is big. It is loud."
    )
    assert lookup(keyword="a loom") == "(Result 1 / 3) A loom weaves cloth."
    assert lookup(keyword="a loom") == "(Result 2 / 3) A loom has a treadle."
    assert lookup(keyword="wooden") == "(Result 1 / 1) A loom is wooden."
    assert lookup(keyword="a loom") == "(Result 1 / 3) A loom weaves cloth."
    assert lookup(keyword="cheap") == "The page does not mention 'cheap'."
    search(entity="Treadle")
    assert lookup(keyword="foot") == "(Result 1 / 1) It is worked with the foot."
    assert lookup(keyword="foot") == "No more results."


def test_similar_titles():
    (search, _) = page_tools(PageIndex(WIKI))
    with pytest.raises(
        ToolError, match=r"Could not find 'the treadle pedal'. Similar: \['Treadle', 'Treadle \(song\)'\]"
    ):
        search(entity="the treadle pedal")
    with pytest.raises(ToolError, match="Try another name"):
        search(entity="zebra")


def test_a_folder_is_a_task_set(tmp_path: Path):
    tasks = load_hotpot(folder(tmp_path))
    assert [(task.id, task.kind) for task in tasks.tasks] == [("q1", "bridge"), ("q2", "comparison")]
    model = ScriptedModel(
        [call("search", entity="Treadle"), call("lookup", keyword="foot"), "The foot.", "Yes, it is loud."]
    )
    trials = go(run_tasks(tasks, [Variant("v", model)]))
    assert [trial.passed for trial in trials] == [True, False]
    assert trials[0].scores == {"exact_match": 1.0, "f1": 1.0}
    assert trials[1].scores == {"exact_match": 0.0, "f1": 0.0}
    assert "as short as can be" in str(model.requests[0].messages[0])


def test_pages_of_one_run_are_not_open_in_another(tmp_path: Path):
    tasks = load_hotpot(folder(tmp_path))
    first, _ = tasks.make_tools(tasks.tasks[0])
    _, lookup = tasks.make_tools(tasks.tasks[1])
    first(entity="Loom")
    with pytest.raises(ToolError, match="no page is open"):
        lookup(keyword="loom")


def test_folders_that_cannot_be_used(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"needs tasks\.json and wiki\.json"):
        load_hotpot(tmp_path)
    folder(tmp_path)
    (tmp_path / "tasks.json").write_text('[{"id": 3}]')
    with pytest.raises(ConfigError, match="cannot be used"):
        load_hotpot(tmp_path)
    (tmp_path / "tasks.json").write_text("[]")
    with pytest.raises(ConfigError, match="holds no question"):
        load_hotpot(tmp_path)
