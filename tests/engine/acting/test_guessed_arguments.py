"""Arguments that had to be guessed run tools without effects only; for all others the model is asked again."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

import msgspec
import pytest

from dialects.samples import NAMES, load
from engine.executions import started
from kit import go
from treadle import Agent, ScriptedModel, Tool, tool
from treadle._engine.acting.execute import Admitted, admit
from treadle._engine.plugin import Plugin
from treadle._journal.memory import MemoryJournal
from treadle._tools.base import ToolOutcome
from treadle._types import events as ev
from treadle._types.messages import ToolCall, ToolMessage
from treadle._types.request import RawCall, Reply

RAN: list[dict[str, Any]] = []
TEXT = {"tool_call": False, "json_schema": False, "json_mode": False}


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()


@tool
async def delete(path: str) -> str:
    """Delete a folder."""
    RAN.append({"path": path})
    return "deleted"


@tool(effect="pure")
async def look(path: str) -> str:
    """List a folder."""
    RAN.append({"path": path})
    return "empty"


async def _take(**fields: Any) -> str:
    RAN.append(fields)
    return "taken"


anything = Tool("take", "Take anything.", {"type": "object"}, _take)
"""Without a declared effect: what nobody has called pure is taken for unsafe."""


def native(name: str, arguments: str) -> Reply:
    return Reply(calls=(RawCall("c1", name, arguments),), finish="calls")


@pytest.mark.parametrize("arguments", ["0", "-1.5", "true"])
def test_a_bare_number_is_not_taken_for_the_only_argument(arguments: str):
    go(Agent(ScriptedModel([native("delete", arguments), "sorry"]), [delete]).run("clean up"))
    assert RAN == []


def agent(tools: list[Any], script: list[Any], dialect: str = "auto", **options: Any) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(script, abilities={} if dialect in ("auto", "native") else TEXT, repeat_last=True)
    return Agent(model, tools, dialect=dialect, **options), model


GUESSES = ['{"path": /srv/data/old/}', '{"path" null}', '{"path": "/srv" "/old"}', '{"path": "C:\\Users\\new"}']


@pytest.mark.parametrize("arguments", GUESSES)
@pytest.mark.parametrize("effect", ["unsafe", "idempotent"])
def test_broken_arguments_never_run_a_tool_with_effects(arguments: str, effect: Any):
    one, model = agent([delete.replace(effect=effect)], [native("delete", arguments), "I gave up."])
    result = go(one.run("Delete it."))
    assert RAN == []
    (shown,) = [message for message in model.requests[-1].messages if isinstance(message, ToolMessage)]
    assert shown.error
    assert re.search("was not run|could not be read", str(shown.content))
    assert result.answer.startswith("I gave up.")
    assert result.usage.tool_calls == 0


@pytest.mark.parametrize("arguments", GUESSES[:2])
@pytest.mark.parametrize("dialect", [name for name in NAMES if name != "native"])
def test_broken_json_in_text_never_runs_one_either(dialect: str, arguments: str):
    reply = f'{{"tool": "delete", "args": {arguments}}}'
    reply = f"Action: {reply}" if dialect == "action" else f"[{reply}]" if dialect == "array" else reply
    one, _ = agent([delete], [reply], dialect, max_iterations=4)
    result = go(one.run("Delete it."))
    assert RAN == []
    assert not result.success


def test_the_model_is_shown_what_was_read_and_what_is_wrong_and_may_correct_it():
    one, model = agent(
        [delete], [native("delete", GUESSES[0]), native("delete", '{"path": "/srv/data/old/"}'), "Gone."]
    )
    result = go(one.run("Delete it."))
    assert RAN == [{"path": "/srv/data/old/"}]
    assert result.success
    (told, *_) = [message for message in model.requests[1].messages if isinstance(message, ToolMessage)]
    assert '{"path":""}' in str(told.content)
    assert "the JSON is broken" in str(told.content)


def test_a_pure_tool_runs_on_a_guess():
    one, _ = agent([look], [native("look", '{"path": "/srv" '), "Seen."])
    assert go(one.run("Look.")).success
    assert RAN == [{"path": "/srv"}]


def test_the_mark_is_in_the_log_and_survives_it():
    journal = MemoryJournal()
    one, _ = agent([look], [native("look", '{"path": "/srv" '), "Seen."], journal=journal)
    result = go(one.run("Look."))
    records = msgspec.json.decode(msgspec.json.encode(go(journal.load(result.run_id))), type=list[ev.Record])
    (began,) = [record.event for record in records if isinstance(record.event, ev.ToolStarted)]
    assert "closing bracket is missing" in began.call.repaired


def test_a_call_of_an_old_log_has_no_mark():
    assert msgspec.json.decode(b'{"id": "a", "name": "delete", "raw": "x"}', type=ToolCall).repaired == ""


def test_broken_arguments_again_and_again_end_the_run():
    one, model = agent([delete], [native("delete", GUESSES[0])], max_iterations=50)
    result = go(one.run("Delete it."))
    assert RAN == []
    assert not result.success
    assert len(model.requests) <= 12


class Redirect(Plugin):
    name = "redirect"

    async def before_tool(self, run: Any, call: ToolCall) -> ToolCall:
        return msgspec.structs.replace(call, name="delete")


def test_a_plug_in_cannot_send_a_guess_to_another_tool():
    guess = ToolCall("c1", "look", {"path": ""}, repaired="the JSON is broken")

    async def main() -> tuple[Any, Any]:
        plain = await started(tools=[look, delete])
        redirected = await started(tools=[look, delete], plugins=[Redirect()])
        return await admit(plain, guess), await admit(redirected, guess)

    plain, redirected = go(main())
    assert isinstance(plain, Admitted)
    assert isinstance(redirected, ToolOutcome)
    assert redirected.error == "invalid_args"


# ---- the broken-JSON set

WRITTEN_OUT: dict[str, Any] = {
    '{ "key": { "key2": "value2" // comment\n}, "key3": "value3" }': {"key": {"key2": "value2"}, "key3": "value3"},
    '{ "key": { "key2": "value2" /* comment */ }, "key3": "value3" }': {"key": {"key2": "value2"}, "key3": "value3"},
    '{\n"a": "\n```{}```\n",\n"b": "x",\n}': {"a": "\n```{}```\n", "b": "x"},
    '{"name": "John", "age": 30, city: "New York"}': {"name": "John", "age": 30, "city": "New York"},
    '{“slanted_delimiter”: "value"}': {"slanted_delimiter": "value"},
    '{"key": "value", 5: "value"}': {"key": "value", "5": "value"},
    '````{ "key": "value" }```': {"key": "value"},
    '{"key": TRUE, "key2": FALSE, "key3": Null}   ': {"key": True, "key2": False, "key3": None},
    '[{"b":"v2","b":"v2"}]': {"b": "v2"},
    **{
        text: {"key": "value"}
        for text in ('{"key": "value"}, []', '{"key": "value"}, {}', '[]{"key":"value"}', '{"key":"value"}[]')
    },
    '{"key":"value"}{}': {"key": "value"},
}
"""What neither a JSON parser nor Python reads, and what has one meaning all the same; read by eye."""


def meaning(text: str) -> Any:
    """What the text means beyond doubt, by other parsers than ours; `...` when it is not beyond doubt."""
    if text in WRITTEN_OUT:
        return WRITTEN_OUT[text]
    plain = re.sub(r"^```\w*\s*|\s*```$", "", text.strip()).strip()
    if plain in ("", "{}[]") or plain.lower() in ("null", "none"):
        return {}
    try:
        return json.loads(plain, strict=False)
    except ValueError:
        pass
    for word, python in (("true", "True"), ("false", "False"), ("null", "None")):
        plain = re.sub(rf"\b{word}\b", python, plain)
    try:
        return json.loads(json.dumps(ast.literal_eval(plain)))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ...


@pytest.mark.parametrize("dialect", ["native", "json"])
def test_the_broken_json_set_runs_nothing_on_a_guess(dialect: str):
    """280 broken texts, each as the arguments of a call of a tool with effects."""
    texts = [row["input"] for row in load("bad_json.json") if isinstance(row["input"], str)]
    assert len(texts) == 280
    asked = 0
    for text in texts:
        RAN.clear()
        wrapped = f'{{"tool": "take", "args": {text}}}'
        reply = native("take", text) if dialect == "native" else wrapped
        one, _ = agent([anything], [reply, "Done."], dialect, max_iterations=2, on_limit="fallback")
        go(one.run("Take it."))
        asked += not RAN
        for fields in RAN:
            meant = meaning(text)
            if dialect == "native":
                assert fields == ({} if meant in (None, [], "") else meant), text
            else:
                assert meant is not ..., text
    assert asked > 150
