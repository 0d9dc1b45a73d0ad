"""A proof is one file: whoever changes anything in it is found out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit import add, call, go
from treadle import Agent, ConfigError, ScriptedModel, open_journal, prove_answer, tool, verify_proof
from treadle._inspect.proof import count_text, grounds_of_answer


@tool(effect="pure")
def rain(month: str) -> str:
    """Days of rain."""
    return f"In {month} it rained on 12 days."


OTHER = b'{"format":"other","version":1,"run":"r","method":"m"}\n{}\n{}'
ANSWER = "In May it rained on 12 days. In June it rained on 30 days."


async def proof() -> bytes:
    helper = Agent(ScriptedModel([call("rain", month="May"), "In May it rained on 12 days."]), [rain], name="helper")
    asked = call("helper", user_prompt="May?", reasoning="r", context="c")
    journal = open_journal("memory:")
    agent = Agent(ScriptedModel([asked, ANSWER]), [helper.as_tool(), add], journal=journal)
    result = await agent.run("How often did it rain?")
    return await prove_answer(journal, result.run_id)


@pytest.fixture(scope="module")
def data() -> bytes:
    return go(proof())


def test_an_intact_proof_says_what_is_supported(data: bytes):
    verdict = verify_proof(data)
    assert verdict.intact
    assert verdict.answer == ANSWER
    assert count_text(verdict.claims) == "1 supported, 1 unsupported"
    assert [claim.text for claim in verdict.unsupported] == ["In June it rained on 30 days."]
    (ground,) = verdict.claims[0].grounds
    assert ground.run.startswith(f"{verdict.run}."), "the tool of the agent that was asked, not its words"
    assert verify_proof(data, head=verdict.head).intact
    assert verify_proof(data, head="0" * 64).problems == ("the last hash is not the one you were given",)


def fails(data: bytes) -> bool:
    try:
        return not verify_proof(data).intact
    except ConfigError:
        return True


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(at=st.integers(0, 10**9), byte=st.integers(0, 255))
def test_any_changed_byte_is_found(data: bytes, at: int, byte: int):
    at %= len(data)
    if data[at] == byte:
        byte ^= 1
    assert fails(data[:at] + bytes([byte]) + data[at + 1 :])
    assert fails(data[:at] + data[at + 1 :])
    assert fails(data[:at] + bytes([byte]) + data[at:]) or data[at : at + 1] == bytes([byte])


def test_what_the_hashes_do_not_cover_cannot_be_changed_either(data: bytes):
    """The ends of lines, blanks between fields, fields that nobody asked for."""
    lines = data.splitlines()
    for end in (b"\r", b"\r\n", b"\n\n"):
        assert fails(data.replace(b"\n", end, 1))
    assert fails(data[:-1])
    assert fails(data + b"\n")
    for number in (1, len(lines) // 2, len(lines) - 1):
        for changed in (lines[number][:-1] + b',"x":1}', lines[number].replace(b":", b": ", 1), lines[number] + b" "):
            assert fails(b"\n".join((*lines[:number], changed, *lines[number + 1 :], b"")))


def rehashed(data: bytes, change: Callable[[list[str]], None]) -> bytes:
    """The proof after somebody has changed it and made the hashes fit again."""
    import hashlib

    first, *rest = data.decode().splitlines()
    bodies = [line.partition('":')[2].partition('":')[2][:-1] for line in rest]
    change(bodies)
    head, lines = hashlib.sha256(b"\n" + first.encode()).hexdigest(), [first]
    for number, body in enumerate(bodies):
        head = hashlib.sha256(f"{head}\n{body}".encode()).hexdigest()
        name = "answer" if number == len(bodies) - 1 else "record"
        lines.append(f'{{"hash":"{head}","{name}":{body}}}')
    return "\n".join((*lines, "")).encode()


def test_every_changed_line_is_found(data: bytes):
    lines = data.splitlines()
    for number in range(1, len(lines)):
        changed = [*lines]
        changed[number] = (
            changed[number].replace(b'"event":{', b'"event":{ ', 1).replace(b'"answer":"In', b'"answer":"On')
        )
        if changed[number] != lines[number]:
            assert not verify_proof(b"\n".join((*changed, b""))).intact
    assert verify_proof(rehashed(data, lambda bodies: None)).intact


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("it rained on 12 days", "it rained on 30 days", ""),
        ('"status":"unsupported","why"', '"status":"words","why"', "the claims do not follow"),
        ('{"answer":"In May', '{"answer":"In Mai', "the answer is not the one"),
    ],
)
def test_hashes_that_fit_again_do_not_help(data: bytes, old: str, new: str, said: str):
    def change(bodies: list[str]) -> None:
        place = next(i for i in reversed(range(len(bodies))) if old in bodies[i])
        if not said:  # only the result of the tool
            place = next(i for i, body in enumerate(bodies) if old in body and '"tool_done"' in body)
        bodies[place] = bodies[place].replace(old, new)

    problems = verify_proof(rehashed(data, change)).problems
    assert problems
    assert any(said in problem for problem in problems)


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"{}",
        b"[]\n" * 3,
        b'{"format":"other","version":1,"run":"r","method":"m"}\n{}\n{}',
        b"\xff\n\n",
        b"[" * 100_000,
    ],
)
def test_what_is_no_proof_is_refused(broken: bytes):
    with pytest.raises(ConfigError, match="no proof"):
        verify_proof(broken)


def test_records_of_a_stranger_cannot_do_anything(data: bytes):
    def change(bodies: list[str]) -> None:
        bodies[1:-1] = ['{"run":"x","seq":0,"time":0,"event":{"type":"nonsense"}}'] * 3

    assert "cannot be read" in verify_proof(rehashed(data, change)).problems[0]
    lines = data.splitlines()
    newer = lines[0].replace(b'"version":1', b'"version":9')
    with pytest.raises(ConfigError, match="version 9"):
        verify_proof(b"\n".join((newer, *lines[1:], b"")))
    other = rehashed(data.replace(b'"method":"support-2"', b'"method":"other"'), lambda bodies: None)
    assert "another method" in verify_proof(other).problems[0]


def test_a_run_without_an_answer_has_none():
    async def main() -> None:
        journal = open_journal("memory:")
        agent = Agent(ScriptedModel([call("add", a=1, b=2)]), [add], journal=journal, ask=["add"])
        result = await agent.run("q")
        await prove_answer(journal, result.run_id)

    with pytest.raises(ConfigError, match="no answer"):
        go(main())


async def test_the_grounds_alone_are_those_of_the_proof_and_say_when_they_are_not_whole(data: bytes):
    journal = open_journal("memory:")
    long = " ".join(f"In May it rained on {n} days." for n in range(600))
    agent = Agent(ScriptedModel([call("rain", month="May"), ANSWER, call("rain", month="May"), long, ""]), [rain])
    agent.journal = journal
    result = await agent.run("How often did it rain in May?")
    grounds = await grounds_of_answer(journal, result.run_id)
    assert grounds.complete
    assert grounds.claims == verify_proof(await prove_answer(journal, result.run_id)).claims
    much = await grounds_of_answer(journal, (await agent.run("How often did it rain in May?")).run_id)
    assert (len(much.claims), much.complete) == (500, False)


@pytest.mark.parametrize("acts", [True, False])
def test_what_was_claimed_and_not_done_is_not_intact_support(acts: bool):
    """The call raises, or was never made; the request names the order and is no ground."""

    @tool(effect="unsafe", identifies="order")
    def refund(order: int) -> str:
        """Refund an order."""
        raise ValueError("card expired")

    async def main() -> Any:
        journal = open_journal("memory:")
        statuses: list[str] = []
        for order in range(4711, 4741):
            replies = [call("refund", order=order), f"Order {order} was refunded."]
            agent = Agent(ScriptedModel(replies[0 if acts else 1 :]), [refund], journal=journal, receipts="off")
            result = await agent.run(f"Please refund order {order}.")
            verdict = verify_proof(await prove_answer(journal, result.run_id))
            assert verdict.intact
            assert [entry.state for entry in verdict.ledger] == ["failed"] * acts
            statuses += [claim.status for claim in verdict.not_supported]
        return statuses

    assert go(main()) == ["contradicted" if acts else "unsupported"] * 30
