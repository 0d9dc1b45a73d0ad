"""The grounds of an answer and its proof, over HTTP."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from kit import call
from server.serving import ANN, BOB, TOKENS, has_results, held, serving
from treadle import Agent, ScriptedModel, tool, verify_proof
from treadle._journal.memory import MemoryJournal
from treadle._types import events as ev

NOTES = "In May it rained on 12 days. In June it rained on 3 days."
ANSWER = "In May it rained on 12 days. May and June together had 15 days of rain. The roses of Oslo suffered."


@tool(effect="pure")
async def weather(year: int) -> str:
    """How often it rained."""
    return NOTES


def gardener(answer: str = ANSWER) -> Agent:
    return Agent(
        ScriptedModel(lambda r: answer if has_results(r) else call("weather", year=2026)), tools=[weather], name="demo"
    )


def test_each_sentence_has_its_record_or_is_marked():
    with serving(gardener(), tokens=TOKENS) as server:
        ann, bob = server.as_user(ANN), server.as_user(BOB)
        run = ann.ran("How often did it rain in May and June?")
        found = ann.get(f"/api/runs/{run}/grounds")
        may, both, roses = found["claims"]
        assert [claim["status"] for claim in found["claims"]] == ["supported", "words", "unsupported"]
        assert {name: count for name, count in found["counts"].items() if count} == {
            "supported": 1, "words": 1, "unsupported": 1,
        }  # fmt: skip
        assert found["complete"]
        assert ANSWER[may["start"] : may["end"]] == may["text"]
        record = next(r for r in ann.get(f"/api/runs/{run}/records")["records"] if r["type"] == "tool_done")
        assert {(ground["run"], ground["seq"]) for ground in may["grounds"]} == {(run, record["seq"])}
        assert may["numbers"] == [{"text": "12", "run": run, "seq": record["seq"]}]
        assert both["numbers"][0]["worked_out"] == "12 + 3"
        assert "Oslo" in roses["why"]
        proof = ann.ask("GET", f"/api/runs/{run}/proof")
        assert proof.headers["content-disposition"].startswith('attachment; filename="proof-')
        verdict = verify_proof(proof.data)
        assert (verdict.intact, len(verdict.unsupported)) == (True, 1)
        for path in ("grounds", "proof"):
            assert bob.ask("GET", f"/api/runs/{run}/{path}").status == 404
            assert server.ask("GET", f"/api/runs/{run}/{path}").status == 401
            assert ann.ask("GET", f"/api/runs/nobody-knows-it/{path}").status == 404


def test_a_run_without_an_answer_has_no_grounds():
    gate, slow = held()
    with serving(Agent(ScriptedModel([call("slow"), "Done."]), tools=[slow])) as server:
        run = server.start("wait")
        refused = server.ask("GET", f"/api/runs/{run}/grounds")
        assert (refused.status, "finished" in refused.error) == (409, True)
        assert server.ask("GET", f"/api/runs/{run}/proof").status == 409
        gate.open()
        server.wait(run)
        assert server.ask("GET", f"/api/runs/{run}/grounds").status == 200


def long_run(run: str, results: int, sentences: int, answer: str) -> list[ev.Record]:
    """A log as a long run leaves it: the same few words everywhere, which is the worst case."""
    words = ["lorem", "ipsum", "dolor", "amet", "sit", "elit", "sed", "tempor", "labore", "magna", "aliqua", "enim"]

    def result(number: int) -> str:
        return " ".join(
            f"{' '.join(words[(number + k * j) % 12] for j in range(12)).capitalize()} {number + k}."
            for k in range(sentences)
        )

    events: list[ev.Event] = [ev.RunStarted("What?", "demo", "scripted", conversation=run)]
    events += [ev.ToolDone(f"c{number}", "read", 1, result(number)) for number in range(results)]
    events.append(ev.RunFinished("answer", answer, success=True))
    return [ev.Record(run, seq, float(seq), event) for seq, event in enumerate(events)]


def test_a_run_of_two_thousand_messages_is_bounded_and_others_are_answered_meanwhile():
    journal = MemoryJournal()
    answer = " ".join(f"Lorem ipsum dolor amet sit elit sed tempor {n}." for n in range(600))
    asyncio.run(journal.append(long_run("a-long-run", 2_000, 3, answer)))
    waits: list[float] = []
    with serving(gardener(), journal) as server, ThreadPoolExecutor(2) as others:
        began = time.process_time()
        both = [others.submit(server.ask, "GET", "/api/runs/a-long-run/grounds") for _ in range(2)]
        while not all(one.done() for one in both):
            before = time.monotonic()
            assert server.ask("GET", "/health").status == 200
            waits.append(time.monotonic() - before)
            time.sleep(0.05)
        spent = time.process_time() - began
    refused, answered = sorted((one.result() for one in both), key=lambda one: -one.status)
    assert (refused.status, answered.status) == (429, 200), "one at a time for each user"
    found = answered.json
    assert len(found["claims"]) == 500
    assert not found["complete"], "it says that it did not look at all of it"
    # A blocked loop would hold one of them for nearly as long as it all takes, however busy the machine is.
    assert len(waits) > 10
    assert max(waits) < sum(waits) / 2, (max(waits), sum(waits))
    assert spent < 60, spent


def test_hostile_answers_stay_small():
    huge = "x" * 200_000 + " " + "1 " * 50_000 + "[ID:1]" * 20_000
    journal = MemoryJournal()
    asyncio.run(journal.append(long_run("a-hostile-run", 20, 3, huge)))
    with serving(gardener(), journal) as server:
        answer = server.ask("GET", "/api/runs/a-hostile-run/grounds")
        assert answer.status == 200
        assert len(answer.data) < 20 * len(huge)
        assert all(len(claim["text"]) <= 2_000 for claim in answer.json["claims"])
        assert all(len(g["quote"]) <= 601 for claim in answer.json["claims"] for g in claim.get("grounds", ()))
