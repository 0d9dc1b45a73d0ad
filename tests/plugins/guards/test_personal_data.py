"""Personal data: no model, record or log has them; the user and the tools that are named get them back."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from kit import add, call, go
from treadle import Agent, Conversation, JournalError, ScriptedModel, ToolResponse, tool
from treadle._inspect.replay import replay
from treadle._journal.memory import MemoryJournal
from treadle._safety.personal.national_ids import luhn
from treadle._safety.personal.vault import PLACEHOLDER
from treadle._types import events as ev
from treadle.messages import attach
from treadle.plugins import CodeMode, PersonalData, Plugin

EMAIL, NAME = "anna@example.org", "Anna Weber"


def placeholders(request: Any) -> list[str]:
    return [match[0] for match in PLACEHOLDER.finditer(" ".join(map(str, request.messages)))]


def said(model: ScriptedModel) -> str:
    return " ".join(msgspec.json.encode((r.messages, r.tools)).decode() for r in model.requests)


def stored(journal: MemoryJournal, run_id: str) -> str:
    return b" ".join(ev.encode_event(r.event) for r in go(journal.load(run_id))).decode()


# ---- the property

emails = st.from_regex(r"[a-z]{2,8}[.][a-z]{2,8}@[a-z]{3,8}[.](org|com)", fullmatch=True)
ips = st.tuples(*[st.integers(11, 250)] * 4).map(lambda four: ".".join(map(str, four)))
phones = st.integers(10**8, 10**9 - 1).map(lambda n: f"+49 {str(n)[:3]} {str(n)[3:]}")
cards = st.integers(10**13, 10**14 - 1).map(lambda n: next(f"4{n}{d}" for d in range(10) if luhn(f"4{n}{d}")))
ibans = st.integers(10**17, 10**18 - 1).map(lambda n: f"DE{98 - int(f'{n}131400') % 97:02}{n}")
names = st.sampled_from(["Anna Weber", "Jörg Müller", "Łukasz Żak", "O'Brien"])
data = emails | ips | phones | cards | ibans | names
words = st.sampled_from(["please write to", "see", "and then", "about", "\n", "call: ", '"', "(", ", "])
around = st.tuples(words, data, st.sampled_from([" today", ".", "", ")", '"', ",\nthanks"])).map(
    lambda three: (f"{three[0]} {three[1]}{three[2]}", three[1])
)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    texts=st.lists(around, min_size=1, max_size=5),
    places=st.lists(
        st.sampled_from(["question", "history", "system", "tool", "json", "sent", "long"]), min_size=5, max_size=5
    ),
    chunk=st.integers(1, 9),
    before=st.integers(7_850, 8_050),
)
def test_no_datum_is_in_any_request_or_record_and_the_answer_has_them_all(
    texts: list[tuple[str, str]], places: list[str], chunk: int, before: int
):
    by_place: dict[str, list[str]] = {}
    for (text, _), place in zip(texts, places, strict=False):
        by_place.setdefault(place, []).append(text)

    def given_to(place: str) -> str:
        return " | ".join(by_place.get(place, []))

    def read() -> str:
        """Read the file."""
        run.send(given_to("sent") or "go on")
        found = [given_to("tool"), json.dumps(given_to("json"))]
        if "long" in by_place:  # it is cut about where the datum stands
            found.insert(0, "x" * before + " " + given_to("long") + " " + "y " * 3_000)
        return "\n".join(found)

    def reply(request: Any) -> Any:
        if not any(message.role == "tool" for message in request.messages):
            return call("read")
        return f"Done: {' '.join(dict.fromkeys(placeholders(request)))}."

    model = ScriptedModel(reply, chunk=chunk)
    journal = MemoryJournal()
    listed = [datum for _, datum in texts if not re.search(r"[@\d]", datum)]
    agent = Agent(
        model, [read], system=given_to("system"), journal=journal, plugins=[PersonalData(names=listed)],
    )  # fmt: skip
    shown: list[str] = []

    async def main() -> Any:
        nonlocal run
        history = [{"role": "user", "content": given_to("history")}] if "history" in by_place else []
        run = agent.start(given_to("question") or "q", history=history)

        def show(record: Any) -> None:
            if isinstance(record.event, ev.Reset | ev.AnswerRetracted):
                shown.clear()
            elif isinstance(record.event, ev.AnswerDelta):
                shown.append(record.event.text)

        run.subscribe(show)
        return await run

    run: Any = None
    result = go(main())
    everywhere = said(model) + stored(journal, result.run_id)
    for (text, datum), place in zip(texts, places, strict=False):
        half = datum[: max(6, len(datum) * 2 // 3)]
        for form in (half, datum.replace(" ", ""), json.dumps(datum)[1:-1]):
            assert form.lower() not in everywhere.lower(), (text, place)
        if place != "long":  # of a long result the middle is left out
            assert datum in result.answer, (datum, place)
    assert "".join(shown) == result.answer
    assert replay(go(journal.load(result.run_id))).same


# ---- what is restored, and for whom


def test_only_the_tools_that_are_named_get_the_data():
    got: list[tuple[str, str]] = []

    def send_mail(to: str, text: str) -> str:
        """Send a mail."""
        got.append((to, text))
        return f"sent to {to}"

    def search(query: str) -> str:
        """Search."""
        got.append(("search", query))
        return f"{NAME} has no entry"

    def reply(request: Any) -> Any:
        email, name = ([one for one in placeholders(request) if kind in one] for kind in ("EMAIL", "NAME"))
        match sum(message.role == "tool" for message in request.messages):
            case 0:
                return call("search", query=email[0])
            case 1:
                return call("send_mail", to=email[0], text=f"Dear {name[0]}")
        return f"Sent to {email[0].lower()}, not to [EMAIL_bcdfghj]."

    model, journal = ScriptedModel(reply), MemoryJournal()
    guard = PersonalData(names=[NAME], tools=["send_mail"])
    result = Agent(model, [send_mail, search], plugins=[guard], journal=journal).run_sync(f"Write to {EMAIL}")
    assert got[0][1].startswith("[EMAIL_")
    assert got[1] == (EMAIL, f"Dear {NAME}")
    assert result.answer == result.output == f"Sent to {EMAIL}, not to [EMAIL_bcdfghj]."
    assert EMAIL not in said(model) + stored(journal, result.run_id) + str(result.messages) + str(result.steps)
    report = result.metadata["reports"]["personal_data"]
    assert report["masked"]["email"] >= 2
    assert report["masked"]["name"] == 1
    assert report["requests"] == 0


class Mail(BaseModel):
    to: str = Field(pattern=r"^\S+@\S+$", description="like bob@example.org")
    lines: list[str]


@pytest.mark.parametrize("first", ["json", "words"])
def test_a_typed_answer_is_checked_and_given_with_the_data(first: str):
    def reply(request: Any) -> Any:
        mail = placeholders(request)[-1]
        if first == "words" and request.component == "loop":
            return f"The address is {mail}."
        return json.dumps({"to": mail, "lines": [f"to {mail}"]})

    agent = Agent(ScriptedModel(reply), None, output_type=Mail, plugins=[PersonalData()], journal=MemoryJournal())
    result = agent.run_sync(f"Write to {EMAIL}")
    assert result.output == Mail(to=EMAIL, lines=[f"to {EMAIL}"])
    assert "bob@" not in said(agent.model)  # type: ignore[arg-type]
    assert go(agent.resume(result.run_id)).output == result.output


def test_who_approves_a_call_sees_what_is_really_sent():
    sent: list[str] = []

    @tool(approval="ask")
    def send_mail(to: str) -> str:
        """Send a mail."""
        sent.append(to)
        return "sent"

    model = ScriptedModel(lambda r: "ok" if r.messages[-1].role == "tool" else call("send_mail", to=placeholders(r)[0]))
    agent = Agent(model, [send_mail], plugins=[PersonalData(tools=["send_mail"])], journal=MemoryJournal())
    paused = agent.run_sync(f"Write to {EMAIL}")
    assert paused.pending[0].args == {"to": EMAIL}
    other = "bob@example.org"
    answer = {paused.pending[0].call_id: {"allow": True, "args": {"to": other}}}
    go(agent.resume(paused.run_id, approve=answer))
    assert sent == [other]
    assert other not in stored(agent.journal, paused.run_id)
    assert other not in said(model)


def test_agents_inside_and_code_are_under_the_same_mask():
    inner = ScriptedModel(lambda r: f"It is {placeholders(r)[0]}, beside bob@example.org.")
    helper = Agent(inner, None, name="helper")

    def order(request: Any) -> Any:
        if request.messages[-1].role == "tool":
            return f"It says: {request.messages[-1].content}"
        return call("helper", user_prompt=f"Who is {placeholders(request)[0]}?", reasoning="r", context="c")

    outer, journal = ScriptedModel(order), MemoryJournal()
    result = Agent(outer, [helper.as_tool()], plugins=[PersonalData()], journal=journal).run_sync(f"Who is {EMAIL}?")
    assert result.answer == f"It says: It is {EMAIL}, beside bob@example.org."
    ids = [info.run_id for info in go(journal.list())]
    assert len(ids) == 2
    assert "example.org" not in said(outer) + said(inner) + "".join(stored(journal, one) for one in ids)

    def look() -> str:
        """Look."""
        return EMAIL

    model = ScriptedModel(["```python\nx = look()\nprint(len(x), x)\n```", "```python\nfinal_answer('done ' + x)\n```"])
    result = Agent(model, [look], preset="code", plugins=[CodeMode(), PersonalData()]).run_sync("q")
    assert EMAIL not in said(model)


async def test_the_next_turn_of_a_conversation_knows_what_was_meant_and_another_user_does_not():
    model = ScriptedModel(lambda r: f"It is {placeholders(r)[0]}.")
    agent = Agent(model, None, plugins=[PersonalData()])
    talk = Conversation(agent, user="anna")
    await talk.ask(f"I am {EMAIL}")
    assert (await talk.ask("Who am I?")).answer == f"It is {EMAIL}."
    seen = placeholders(model.requests[0])[0]
    assert (await agent.run(f"Who is {seen}?", user="bob")).answer == f"It is {seen}."


@pytest.mark.parametrize("chunk", [3, 200])
def test_an_answer_that_is_written_afterwards_is_masked_and_restored(chunk: int):
    model = ScriptedModel(lambda r: f"Of {placeholders(r)[0]} [a", chunk=chunk)
    agent = Agent(model, None, plugins=[PersonalData()])

    async def main() -> str:
        result = await agent.run(f"Who is {EMAIL}?", user="anna")
        assert EMAIL in result.brief
        return "".join([piece async for piece in agent.stream_answer(result, user="anna")])

    assert go(main()) == f"Of {EMAIL} [a"
    assert EMAIL not in said(model)


# ---- what fails closed


def test_a_run_resumed_without_its_vault_tells_nothing_and_sends_nothing(tmp_path: Path):
    sent: list[str] = []

    @tool(approval="ask")
    def send_mail(to: str) -> str:
        """Send a mail."""
        sent.append(to)
        return "sent"

    def reply(request: Any) -> Any:
        last = request.messages[-1]
        return f"{last.content}" if last.role == "tool" else call("send_mail", to=placeholders(request)[0])

    def agent(vault: Path | None) -> Agent:
        guard = PersonalData(tools=["send_mail"], vault=vault)
        return Agent(ScriptedModel(reply), [send_mail], plugins=[guard], journal=journal)

    journal = MemoryJournal()
    paused = agent(None).run_sync(f"Write to {EMAIL}")
    result = go(agent(None).resume(paused.run_id, approve=True))  # as after a kill: the memory is gone
    assert not sent
    assert "is not known here any more" in result.answer
    assert EMAIL not in result.answer

    paused = agent(tmp_path / "vault.db").run_sync(f"Write to {EMAIL}")
    assert go(agent(tmp_path / "vault.db").resume(paused.run_id, approve=True)).answer == "sent"
    assert sent == [EMAIL]
    assert EMAIL not in stored(journal, paused.run_id)


def test_pictures_are_left_out_unless_they_are_allowed():
    picture = attach(b"\x89PNG\r\n\x1a\n" + b"0" * 50, name="anna.png")

    def snap() -> ToolResponse:
        """Take a picture."""
        return ToolResponse([picture, "a picture"])

    for allowed in (False, True):
        model = ScriptedModel([call("snap"), "ok"], abilities={"tool_call": True, "vision": True})
        guard = PersonalData(media=allowed)
        Agent(model, [snap], plugins=[guard]).run_sync(["What is this?", picture])
        assert ("was left out: personal data" in said(model)) is not allowed
        assert ("ImagePart" in str([r.messages for r in model.requests])) is allowed


class Leaky(Plugin):
    """Brings something past the state."""

    async def before_round(self, run: Any) -> None:
        from treadle._types.messages import UserMessage

        await run.ask("adviser", [UserMessage(f"Is {EMAIL} nice?")])


def test_what_a_plug_in_asks_is_masked_too():
    model = ScriptedModel(lambda r: "yes")
    Agent(model, None, plugins=[Leaky(), PersonalData()]).run_sync("q")
    assert len(model.requests) == 2
    assert EMAIL not in said(model)


class Late(PersonalData):
    """Fails when it meets a word."""

    def mask(self, user: str) -> Any:
        mask = super().mask(user)
        tree = mask.tree

        def failing(value: Any) -> Any:
            if "boom" in str(value):
                raise ValueError("no")
            return tree(value)

        mask.tree = failing  # type: ignore[method-assign]
        return mask


def test_a_mask_that_fails_stops_the_run_before_anything_is_sent():
    def read() -> str:
        """Read."""
        return "boom"

    model, journal = ScriptedModel([call("read"), "never"]), MemoryJournal()
    with pytest.raises(JournalError, match="nothing is sent or recorded unmasked"):
        Agent(model, [read], plugins=[Late()], journal=journal).run_sync("q")
    assert len(model.requests) == 1


@pytest.mark.parametrize("dialect", ["native", "json", "action", "array", "schema", "code"])
def test_the_engines_own_prompts_hold_nothing_personal(dialect: str):
    model = ScriptedModel(lambda r: "{}")
    Agent(model, [add], dialect=dialect, plugins=[PersonalData()],
          max_iterations=2).run_sync("q")  # fmt: skip
    assert model.requests


def test_forgetting_a_user():
    guard = PersonalData()
    agent = Agent(ScriptedModel(lambda r: placeholders(r)[0]), None, plugins=[guard], journal=MemoryJournal())
    result = agent.run_sync(f"I am {EMAIL}", user="anna")
    assert result.answer == EMAIL
    guard.forget("anna")
    assert go(agent.resume(result.run_id)).answer.startswith("[EMAIL_")


# ---- what is logged


@pytest.mark.parametrize("logger", [None, logging.getLogger("a program's own")])
def test_a_tool_or_a_model_that_fails_with_the_data_in_its_message_does_not_log_them(
    caplog: pytest.LogCaptureFixture, logger: logging.Logger | None
):
    def send_mail(to: str) -> str:
        """Send a mail."""
        raise ValueError(f"{'x' * 460} no route to {to}, nor to {to}: {to}")  # what is logged in one line is cut

    def reply(request: Any) -> Any:
        if request.messages[-1].role == "tool":
            raise RuntimeError(f"the provider does not like {EMAIL}")
        return call("send_mail", to=placeholders(request)[0])

    agent = Agent(ScriptedModel(reply), [send_mail], plugins=[PersonalData(tools=["send_mail"])], logger=logger)
    with caplog.at_level(0):
        agent.run_sync(f"Write to {EMAIL}")
    written = "\n".join(caplog.handler.format(record) for record in caplog.records)
    assert "no route to [EMAIL_" in written
    assert "does not like [EMAIL_" in written
    assert "anna" not in written


def test_what_cannot_be_masked_is_not_logged(caplog: pytest.LogCaptureFixture):
    from treadle._safety.logs import get_logger, logs_of

    def failing(text: str) -> str:
        raise ValueError("no")

    with caplog.at_level(0), logs_of("r", failing):
        get_logger().warning("to %s", EMAIL)
    assert [record.getMessage() for record in caplog.records] == ["(left out: it could not be masked)"]
