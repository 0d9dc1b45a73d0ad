"""The event stream of a real server: exact sequences for each mode, and clients that come and go."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from kit import add, call, echo, user_texts
from server.serving import Client, Gate, PacedModel, held, joined, send_mail, serving
from treadle import Agent, DagAgent, ScriptedModel, ToolContext, tool
from treadle._config.document import parse_document
from treadle._config.graph import GraphAgent
from treadle._types.errors import TransientModelError
from treadle._types.request import RawCall, Reply
from waiting import GUARD_SECONDS

VARIES = ("elapsed", "iter_elapsed", "usage", "run_id", "parent", "depth")


def stable(events: list[dict[str, Any]]) -> list[tuple[str, str, dict[str, Any]]]:
    """Events without what differs from run to run."""
    return [(e["id"], e["event"], {k: v for k, v in e["data"].items() if k not in VARIES}) for e in joined(events)]


def thinking(at: str, iteration: int, reasoning: str | None = None) -> tuple[str, str, dict[str, Any]]:
    if reasoning is None:
        return at, "step", {"type": "thinking", "status": "start", "iteration": iteration}
    return at, "step", {"type": "thinking", "status": "done", "iteration": iteration, "reasoning": reasoning}


def started(at: str, iteration: int, call_id: str, name: str, **args: Any) -> tuple[str, str, dict[str, Any]]:
    what = {"tool_name": name, "tool_args": args, "call_id": call_id}
    return at, "step", {"type": "iteration", "status": "start", "iteration": iteration, **what}


def finished(
    at: str, iteration: int, call_id: str, name: str, observation: str, error: str | None = None
) -> tuple[str, str, dict[str, Any]]:
    what = {"tool_name": name, "observation": observation, "error": error, "call_id": call_id}
    return at, "step", {"type": "iteration", "status": "done", "iteration": iteration, **what}


def answered(first: int, text: str, last: int, iterations: int) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (f"{first}", "step", {"type": "answer", "status": "start"}),
        (f"{first}.0", "answer", {"status": "start"}),
        (f"{first}.{len(text)}", "answer", {"status": "delta", "content": text}),
        (f"{last}", "answer", {"status": "done"}),
        (f"{last + 1}", "done", {"answer": text, "iterations": iterations, "stop_reason": "answer", "success": True}),
    ]


TWO_TOOLS = [[call("add", a=2, b=3), call("echo", text="hi")], "The sum is 5."]


def test_native_mode():
    script = [call("add", a=2, b=3), call("echo", text="hi"), "The sum is 5."]
    with serving(Agent(ScriptedModel(script), tools=[add, echo])) as client:
        assert stable(client.events(client.start("2+3?"))) == [
            thinking("1", 1),
            thinking("2", 1, ""),
            started("3", 1, "call_1_0", "add", a=2, b=3),
            finished("4", 1, "call_1_0", "add", "5"),
            thinking("5", 2),
            thinking("6", 2, ""),
            started("7", 2, "call_2_0", "echo", text="hi"),
            finished("8", 2, "call_2_0", "echo", "hi"),
            thinking("9", 3),
            thinking("10", 3, ""),
            *answered(11, "The sum is 5.", 12, 3),
        ]


def test_native_mode_side_by_side():
    with serving(Agent(ScriptedModel(TWO_TOOLS), tools=[add, echo])) as client:
        events = stable(client.events(client.start("2+3?")))
        both = {(data["status"], data["call_id"]) for _, _, data in events[2:6]}
        assert both == {(status, name) for status in ("start", "done") for name in ("call_1_0", "call_1_1")}
        assert events[:2] == [thinking("1", 1), thinking("2", 1, "")]
        assert events[6:] == [thinking("7", 2), thinking("8", 2, ""), *answered(9, "The sum is 5.", 10, 2)]


def test_json_mode_with_synthesis():
    script = [
        '{"type": "tool_call", "reasoning": "add them", "tool_name": "add", "tool_args": {"a": 2, "b": 3}}',
        '{"type": "final_answer", "reasoning": "done", "answer": "5"}',
        "  Two and three make **five**.\n",
    ]
    model = ScriptedModel(script, abilities={"tool_call": False})
    with serving(Agent(model, tools=[add, echo], preset="two_phase", dialect="json")) as client:
        assert stable(client.events(client.start("2+3?"))) == [
            thinking("1", 1),
            thinking("2", 1, "add them"),
            started("3", 1, "call_1_0", "add", a=2, b=3),
            finished("4", 1, "call_1_0", "add", "5"),
            thinking("5", 2),
            thinking("6", 2, "done"),
            *answered(7, "Two and three make **five**.", 10, 2),
        ]


def test_dag_mode():
    plan = {
        "steps": [
            {"id": "a", "task": "find it", "dependencies": []},
            {"id": "b", "task": "tell it", "dependencies": ["a"]},
        ]
    }
    verdict = {"achieved": True, "confidence": 0.9, "final_answer": "All told.", "reasoning": "ok"}
    advice = {"planner": call("make_plan", **plan), "analyzer": call("judge", **verdict)}
    with serving(DagAgent(ScriptedModel(lambda r: advice.get(r.component, "done")))) as client:
        run = client.start()

        def step(at: str, end: str, name: str, task: str) -> list[tuple[str, str, dict[str, Any]]]:
            begun = {"step": name, "status": "started", "task": task, "run": f"{run}.1.{name}", "round": 1}
            ended = {"step": name, "status": "completed", "result": "done", "error": None, "round": 1}
            return [(at, "step_progress", begun), (end, "step_progress", ended)]

        steps = [{"id": "a", "task": "find it"}, {"id": "b", "task": "tell it", "dependencies": ["a"]}]
        assert stable(client.events(run)) == [
            ("1", "phase", {"phase": "planning"}),
            ("4", "phase", {"phase": "plan", "round": 1, "steps": steps}),
            *step("5", "7", "a", "find it"),
            *step("8", "10", "b", "tell it"),
            ("13", "phase", {"phase": "verdict", "round": 1, **verdict}),
            *answered(14, "All told.", 15, 2),
        ]
        assert client.events(f"{run}.1.a")[-1]["data"]["answer"] == "done"


def test_an_interrupt_is_an_event_and_the_answer_waits_for_it():
    gate, slow = held()
    model = ScriptedModel([call("slow"), "first", "second"])
    with serving(Agent(model, tools=[slow])) as client:
        run = client.start()
        gate.wait_reached()
        message = client.post(f"/api/runs/{run}/messages", {"text": "and in euros?"}, 202)["id"]
        gate.open()
        events = stable(client.events(run))
        assert ("inject", {"type": "inject", "content": "and in euros?", "ids": [message]}) in [e[1:] for e in events]
        assert client.get(f"/api/runs/{run}")["answer"] == "first"
        assert user_texts(model.requests[1].messages)[-1] == "[USER INTERRUPT]\nand in euros?"


def test_a_run_that_waits_for_approval_says_so_and_is_resumed():
    model = ScriptedModel([call("send_mail", to="ann", text="hi"), "Mail sent."])
    with serving(Agent(model, tools=[send_mail])) as client:
        run = client.start()
        waiting = client.wait(run, "paused")["waiting"]
        how = f'POST /api/runs/{run}/approvals {{"call_id":"call_1_0","allow":true}}'
        args = {"to": "ann", "text": "hi"}
        why = "approval of send_mail"
        one = {"call_id": "call_1_0", "tool_name": "send_mail", "tool_args": args, "why": why}
        assert waiting == [{**one, "how": how, "external": False}]
        paused = next(event["data"] for event in client.events(run, until="phase") if event["event"] == "phase")
        assert paused["calls"] == [one]
        got: list[dict[str, Any]] = []
        follower = threading.Thread(target=lambda: got.extend(client.events(run)))
        follower.start()
        client.post(f"/api/runs/{run}/approvals", {"call_id": "call_1_0", "allow": True}, 202)
        follower.join(GUARD_SECONDS)
        phases = [e["data"]["phase"] for e in got if e["event"] == "phase"]
        assert phases == ["paused", "resumed", "approved"]
        assert got[-1]["data"]["answer"] == "Mail sent."


def drop_every(client: Client, run: str, many: int, detail: str = "plain") -> list[dict[str, Any]]:
    got: list[dict[str, Any]] = []
    while True:
        batch = client.events(run, got[-1]["id"] if got else "", limit=many, detail=detail)
        got += batch
        if not batch or batch[-1]["event"] == "done":
            return got


def test_a_client_that_drops_every_three_events_sees_each_once_live_and_finished():
    text = " ".join(f"word{number}" for number in range(200))
    model = PacedModel([*TWO_TOOLS[:1], "brief", text], pause=0.002)
    with serving(Agent(model, tools=[add, echo], answer="synthesize")) as client:
        run = client.start()
        live = drop_every(client, run, 3)
        client.wait(run)
        complete = client.events(run)
        again = drop_every(client, run, 3)
        assert joined(live) == joined(complete) == joined(again)
        assert len({e["id"] for e in live}) == len(live), "an event came twice"
        assert len([e for e in live if e["data"].get("status") == "delta"]) > 5, "the text did not stream"
        assert (
            "".join(e["data"]["content"] for e in live if e["data"].get("status") == "delta")
            == text
            == live[-1]["data"]["answer"]
        )


def test_a_stream_begun_in_the_middle_of_the_answer_gets_all_of_it():
    model = PacedModel(["brief", "0123456789" * 5], chunk=10)
    gate = model.hold(3)
    with serving(Agent(model, tools=None, answer="synthesize")) as client:
        run = client.start()
        gate.wait_reached()
        first = client.events(run, limit=5)
        assert first[-1]["data"]["content"] == "0123456789" * 3
        middle = first[-1]["id"].partition(".")[0] + ".15"
        late: list[dict[str, Any]] = []
        follower = threading.Thread(target=lambda: late.extend(client.events(run, middle)))
        follower.start()
        gate.open()
        follower.join(GUARD_SECONDS)
        text = "".join(e["data"]["content"] for e in late if e["data"].get("status") == "delta")
        assert text == ("0123456789" * 5)[15:]


def test_a_text_that_has_to_be_written_again_is_reset_and_never_spliced():
    class Breaks(PacedModel):
        attempts = 0

        async def stream(self, request: Any) -> Any:
            if request.component == "synthesis":
                Breaks.attempts += 1
            async for part in super().stream(request):
                yield part
                if request.component == "synthesis" and Breaks.attempts == 1 and len(self.requests) == 2:
                    raise TransientModelError("dropped")

    model = Breaks(["brief", "first words", "second words"], chunk=4)
    agent = Agent(model, tools=None, answer="synthesize", retry={"attempts": 3, "base": 0.01})
    with serving(agent) as client:
        run = client.start()
        live = client.events(run)
        names = [(e["event"], e["data"].get("status")) for e in joined(live)][-6:]
        assert names[-4:] == [("reset", None), ("answer", "delta"), ("answer", "done"), ("done", None)]
        assert names[-5] in [("answer", "delta"), ("answer", "start")]
        after_reset = live[[e["event"] for e in live].index("reset") + 1 :]
        assert (
            "".join(e["data"]["content"] for e in after_reset if e["data"].get("status") == "delta") == "second words"
        )
        assert drop_every(client, run, 2)[-1]["data"]["answer"] == "second words"


def test_a_finished_run_tells_a_browser_to_stop_asking():
    with serving(Agent(ScriptedModel(["hi"]), tools=None)) as client:
        run = client.start()
        last = client.events(run)[-1]["id"]
        assert client.ask("GET", f"/api/runs/{run}/events", last_event_id=last).status == 204
        assert client.ask("GET", f"/api/runs/{run}/events?after={last}").status == 204
        assert client.ask("GET", f"/api/runs/{run}/events", last_event_id="1").status == 200
        assert client.ask("GET", f"/api/runs/{run}/events", last_event_id="one").status == 400


def test_live_output_and_thoughts_for_those_who_want_them():
    gate, more = Gate(), Gate()

    @tool
    async def build(context: ToolContext) -> str:
        """Builds."""
        context.output("compiling\n")
        await gate.wait()
        context.output("linking\n")
        await more.wait()
        return "built"

    model = PacedModel([call("build"), "All is built."], chunk=4)
    with serving(Agent(model, tools=[build], stream_thoughts=True)) as client:
        run = client.start()
        gate.wait_reached()
        first = client.events(run, detail="full", until="output")
        whose = {"run_id": run, "parent": "", "depth": 0}
        assert first[-1]["data"] == {"content": "compiling\n", "call_id": "call_1_0", "tool_name": "build", **whose}
        gate.open()
        more.wait_reached()
        second = client.events(run, first[-1]["id"], detail="full", limit=1)
        assert second[0]["data"]["content"] == "linking\n", "output already seen is not sent again"
        fresh = client.events(run, detail="full", until="output")
        assert fresh[-1]["data"]["content"] == "compiling\nlinking\n"
        more.open()
        rest = client.events(run, second[-1]["id"], detail="full")
        thought = "".join(e["data"]["content"] for e in rest if e["event"] == "thought")
        assert thought in ("", "All is built."), thought
        assert not [e for e in client.events(run) if e["event"] in ("output", "thought")], "plain is plain"


def test_two_tools_that_write_at_once_can_be_followed_across_a_drop():
    gates = {"a": Gate(), "b": Gate()}

    def talker(name: str) -> Any:
        @tool
        async def talk(context: ToolContext) -> str:
            """Talks."""
            context.output(f"{name}1 ")
            await gates[name].wait()
            context.output(f"{name}2 ")
            return f"{name} done"

        return talk.replace(name=name)

    model = ScriptedModel([[call("a"), call("b")], "ok"])
    with serving(Agent(model, tools=[talker("a"), talker("b")])) as client:
        run = client.start()
        gates["a"].wait_reached()
        gates["b"].wait_reached()
        first = client.events(run, detail="full", limit=6)
        got: list[dict[str, Any]] = list(first)
        gates["a"].open()
        got += client.events(run, got[-1]["id"], detail="full", limit=1)
        gates["b"].open()
        got += client.events(run, got[-1]["id"], detail="full")
        output = "".join(e["data"]["content"] for e in got if e["event"] == "output")
        assert sorted(output.split()[:2]) == ["a1", "b1"]
        assert len(output.split()) == len(set(output.split())), f"twice: {output}"
        stored = [e["id"] for e in got if e["event"] not in ("output", "thought")]
        assert stored == [e["id"] for e in client.events(run, detail="full")]


def test_a_direct_answer_streams_as_provisional_and_is_confirmed():
    model = PacedModel(["0123456789" * 5], chunk=10)
    gate = model.hold(3)
    with serving(Agent(model, tools=[add])) as client:
        run = client.start()
        gate.wait_reached()
        first = client.events(run, limit=3)
        assert [e["data"].get("status") for e in first] == ["start", "start", "delta"]
        assert first[-1]["data"]["provisional"] is True
        assert first[-1]["data"]["content"] == "0123456789" * 3
        middle = first[-1]["id"].partition(".")[0] + ".15"
        late: list[dict[str, Any]] = []
        follower = threading.Thread(target=lambda: late.extend(client.events(run, middle)))
        follower.start()
        gate.open()
        follower.join(GUARD_SECONDS)
        assert text_seen_by_a_client(("0123456789" * 5)[:15], late) == "0123456789" * 5
        assert late[-1]["data"]["answer"] == "0123456789" * 5
        complete = client.events(run)
        assert not [e for e in complete if e["data"].get("provisional")], "who comes later sees what it was"


def text_seen_by_a_client(text: str, events: list[dict[str, Any]]) -> str:
    for event in events:
        status = event["data"].get("status") if event["event"] == "answer" else ""
        if event["event"] == "reset" or status in ("start", "retracted"):
            text = ""
        elif status == "delta":
            text += event["data"]["content"]
    return text


def test_words_before_a_call_are_retracted_also_for_a_client_that_was_away():
    gate = Gate()
    first = Reply("Let me add these.", (RawCall("c1", "add", '{"a":1,"b":2}'),), finish="calls")
    model = PacedModel([first, "It is 3."], chunk=5)
    model.gates[2] = gate
    with serving(Agent(model, tools=[add])) as client:
        run = client.start()
        gate.wait_reached()
        half = client.events(run, limit=3)
        assert half[-1]["data"]["content"] == "Let me add"
        gate.open()
        client.wait(run)
        rest = client.events(run, half[-1]["id"])
        assert [e["data"]["status"] for e in rest if e["event"] == "answer"] == ["retracted", "start", "delta", "done"]
        thought = next(e for e in rest if e["data"].get("type") == "thinking" and e["data"]["status"] == "done")
        assert thought["data"]["reasoning"] == "Let me add these."
        assert text_seen_by_a_client("Let me add", rest) == "It is 3."


def test_a_message_that_comes_while_the_answer_is_written_is_answered():
    gate = Gate()
    model = PacedModel(["brief", "The first answer.", "brief too", "The second answer."], chunk=6)
    with serving(Agent(model, tools=None, answer="synthesize")) as client:
        model.gates[1] = gate
        run = client.start()
        gate.wait_reached()
        client.post(f"/api/runs/{run}/messages", {"text": "and in euros?"}, 202)
        gate.open()
        done = client.wait(run)
        assert done["answer"] == "The second answer."
        events = client.events(run)
        assert [e["data"]["content"] for e in events if e["event"] == "inject"] == ["and in euros?"]
        client.post(f"/api/runs/{run}/messages", {"text": "too late"}, 409)
        client.post(f"/api/runs/{run}/cancel", {}, 409)


@pytest.mark.parametrize("where", ["planner", "review", "step", "judge", "document"])
def test_a_plan_or_document_that_fails_anywhere_ends_for_its_clients_too(where: str):
    plan = {"steps": [{"id": "a", "task": "find it"}]}

    def reply(request: Any) -> Any:
        if request.component == {"planner": "planner", "step": "loop", "judge": "analyzer"}.get(where, "loop"):
            raise RuntimeError("gone")
        return {
            "planner": call("make_plan", **plan),
            "analyzer": call("judge", achieved=False, confidence=0.0, reasoning="no"),
        }.get(request.component, "found it")

    def review(plan: Any) -> Any:
        if where == "review":
            raise KeyError("gone")
        return plan

    model = ScriptedModel(reply)
    agent = DagAgent(model, [echo], review=review, retry={"attempts": 1}, max_rounds=1)
    if where == "document":
        data = {"Agent:A": {"obj": {"component_name": "Agent", "params": {"preset": "default"}}}}
        agent = GraphAgent(parse_document(data), Path(), model=model, retry={"attempts": 1})  # type: ignore[assignment]
    with serving(agent) as client:
        run = client.start()
        events = client.events(run)
        assert events[-1]["event"] == "done"
        assert events[-1]["data"]["success"] is False
        body = client.get(f"/api/runs/{run}")
        assert body["status"] == "finished"
        if where == "judge":
            assert "found it" in events[-1]["data"]["answer"]
        elif where != "step":
            assert body["stop_reason"] == "error"


def rebuilt(events: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The items that a client has in its hands, as the page puts them together."""
    items: dict[str, dict[str, Any]] = {}
    for event in events:
        if event["event"] == "piece":
            item = items[event["data"]["item"]]
            items[item["id"]] = item | {"text": item.get("text", "") + event["data"]["content"]}
        for item in event["data"].get("items", ()):
            items[item["id"]] = item
            if item.get("state") == "retracted":
                del items[item["id"]]
    return items


@pytest.mark.parametrize("many", [1, 3])
def test_items_for_a_client_that_drops(many: int):
    text = " ".join(f"word{number}" for number in range(60))
    model = PacedModel([*TWO_TOOLS[:1], "Let me look.", text], pause=0.002)
    with serving(Agent(model, tools=[add, echo], answer="synthesize", stream_thoughts=True)) as client:
        run = client.start()
        got: list[dict[str, Any]] = []
        while not any(item["kind"] == "end" for event in got[-1:] for item in event["data"].get("items", ())):
            got += client.events(run, got[-1]["id"] if got else "", limit=many, detail="items")
        client.wait(run)
        complete = rebuilt(client.events(run, detail="items"))
        assert rebuilt(got) == complete
        assert complete["answer"]["text"] == text
        assert complete["end"]["stop_reason"] == "answer"
        assert any(event["event"] == "piece" for event in got), "nothing streamed"


def test_items_of_a_draft_while_it_is_written():
    model = PacedModel(["0123456789" * 5], chunk=10)
    gate = model.hold(3)
    with serving(Agent(model, tools=[add])) as client:
        run = client.start()
        gate.wait_reached()
        first = client.events(run, detail="items", until="piece")
        answer = rebuilt(first)["answer"]
        assert (answer["state"], answer["text"]) == ("draft", "0123456789" * 3)
        gate.open()
        rest = client.events(run, first[-1]["id"], detail="items")
        assert rebuilt(first + rest) == rebuilt(client.events(run, detail="items"))
