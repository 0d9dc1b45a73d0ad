"""Requests that are sent again: after a server was killed or stopped, by a key, by the id of a message. And requests
that are equal and no repetitions."""

from __future__ import annotations

import asyncio
import json
import random
import re
import signal
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from kit import call
from server.processes import Process
from server.protocols.facades import FACADES, answer_in
from server.serving import ANN, BOB, TOKENS, Answer, Client, Gate, relaxed, serving
from treadle import Agent, ScriptedModel, external_tool, tool
from treadle._types.errors import TransientModelError
from treadle._types.messages import ToolMessage
from treadle._types.request import Request, StreamPart
from waiting import GUARD_SECONDS, eventually

PROGRAM = Path(__file__).with_name("worker_process.py")
PATH = "/v1/chat/completions"
BODY: dict[str, Any] = {"model": "demo", "messages": [{"role": "user", "content": "Do it."}]}


class Actor:
    """An agent that acts, waits until its gate opens, and answers with a number that grows."""

    def __init__(self, *, is_open: bool = False) -> None:
        self.gate, self.acts, self.answers = Gate(), 0, 0
        if is_open:
            self.gate.open()

        @tool
        async def act() -> str:
            """Acts."""
            self.acts += 1
            return "acted"

        @tool(effect="pure")
        async def wait() -> str:
            """Waits."""
            await self.gate.wait()
            return "waited"

        def reply(request: Request) -> Any:
            done = sum(isinstance(message, ToolMessage) for message in request.messages)
            if done < 2:
                return call("wait" if done else "act")
            self.answers += 1
            return f"Done, {self.answers}."

        self.model = ScriptedModel(reply)
        self.agent = Agent(self.model, [act, wait])


def said(answer: Answer) -> str:
    assert answer.status == 200, answer.data
    return answer.json["choices"][0]["message"]["content"]


def runs(client: Client) -> list[str]:
    return [run["run_id"] for run in client.get("/api/runs")["runs"]]


def in_background(client: Client, body: Any = BODY, path: str = PATH, **headers: str) -> list[Answer]:
    """Sends a request; its answer comes into the list that is returned."""
    got: list[Answer] = []

    def send() -> None:
        try:
            got.append(client.ask("POST", path, body, **headers))
        except OSError:
            got.append(Answer(0, {}, b""))

    threading.Thread(target=send, daemon=True).start()
    return got


def lines(file: Path) -> int:
    return len(file.read_text().splitlines()) if file.exists() else 0


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_killed_server_and_all_protocols(tmp_path: Path, how: signal.Signals):
    """Each client sends its request again, byte for byte, to the server that is started then."""
    journal = str(tmp_path / "journal.db")
    first = Process(PROGRAM, journal, str(tmp_path))
    second = None
    try:
        with ThreadPoolExecutor(len(FACADES)) as pool:
            cut = [pool.submit(first.post, path, body) for path, body in FACADES.values()]
            eventually(lambda: lines(tmp_path / "waits") == len(FACADES), "all of them work", seconds=60)
            first.end(how)
            assert [answer_in(name, it.result()[1]) for name, it in zip(FACADES, cut, strict=True)] == [""] * 6
            second = Process(PROGRAM, journal, str(tmp_path))
            again = [pool.submit(second.post, path, body) for path, body in FACADES.values()]
            (tmp_path / "go").touch()
            for name, it in zip(FACADES, again, strict=True):
                assert answer_in(name, it.result()[1]) == "It is done.", name
        assert lines(tmp_path / "acts") == len(second.ask("GET", "/api/runs")["runs"]) == len(FACADES)
        path, body = FACADES["responses"]
        assert answer_in("responses", second.post(path, body)[1]) == "It is done."
        assert lines(tmp_path / "acts") == len(FACADES) + 1, "asked again after the answer: a run of its own"
    finally:
        for server in (first, second):
            if server is not None:
                server.end()


@pytest.mark.parametrize("stream", [False, True])
def test_who_asks_the_same_after_an_answer_gets_another_one(stream: bool):
    actor = Actor(is_open=True)
    with serving(actor.agent) as client:
        answers = [client.ask("POST", PATH, {**BODY, "stream": stream}) for _ in range(3)]
        assert [f"Done, {number}." in str(one.data) for number, one in enumerate(answers, 1)] == [True] * 3
        assert actor.acts == 3
        assert all("idempotent-replayed" not in one.headers for one in answers)


def test_two_clients_that_ask_the_same_at_once_get_two_runs():
    actor = Actor()
    with serving(actor.agent) as client:
        first, second = in_background(client), in_background(client)
        eventually(lambda: actor.acts == 2, "both work")
        actor.gate.open()
        eventually(lambda: first and second, "both have answers")
        assert {said(first[0]), said(second[0])} == {"Done, 1.", "Done, 2."}


@pytest.mark.parametrize("name", FACADES)
def test_fifty_ask_the_same_at_once_and_twenty_leave(name: str):
    """One request, one run, one owner: who stays has an answer of its own, who leaves takes nothing from them."""
    actor, chance, (path, asked) = Actor(), random.Random(7), FACADES[name]

    async def load(client: Client) -> list[bytes]:
        parts = urlsplit(client.address)
        connections = [await asyncio.open_connection(parts.hostname, parts.port) for _ in range(50)]
        for number, (_, writer) in enumerate(connections):
            text = json.dumps(asked).replace('"messageId": "m"', f'"messageId": "{number}"')  # A2A's is of one message
            body = text.replace('"stream": true', f'"stream": {"true" if number % 2 else "false"}').encode()
            head = f"POST {path} HTTP/1.1\r\nhost: {parts.netloc}\r\nconnection: close\r\n"
            writer.write(f"{head}content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
        while actor.acts < 50:  # noqa: ASYNC110 - they act in another thread
            await asyncio.sleep(0.002)
        chance.shuffle(connections)
        opens = chance.randrange(20)
        for number, (_, writer) in enumerate(connections[:20]):
            if number == opens:  # some leave while the others get their answers
                actor.gate.open()
            writer.close()
            await asyncio.sleep(chance.choice((0, 0.001)))
        answers = [await reader.read() for reader, _ in connections[20:]]
        for _, writer in connections[20:]:
            writer.close()
        return answers

    with serving({"worker": actor.agent}) as client:
        answers = asyncio.run(asyncio.wait_for(load(client), GUARD_SECONDS))
        assert [one.split(b"\r\n")[0] for one in answers] == [b"HTTP/1.1 200 OK"] * 30
        texts = [answer_in(name, one) or one.decode() for one in answers]
        done = [re.findall(r"Done, \d+\.", text) for text in texts]
        assert len({text for [text] in done}) == 30, "each has an answer of its own"
        assert len(client.get("/api/runs?limit=100")["runs"]) == actor.acts == 50


def test_who_asks_the_same_while_a_run_is_being_cancelled_gets_another_run():
    actor, cancelled, ends = Actor(), threading.Event(), Gate()

    @tool
    async def linger() -> str:
        """Takes its time to end."""
        try:
            await actor.gate.wait()
        except asyncio.CancelledError:
            cancelled.set()
            await ends.wait()
            raise
        return "waited"

    def reply(request: Request) -> Any:
        return "Done." if any(isinstance(message, ToolMessage) for message in request.messages) else call("linger")

    with serving(Agent(ScriptedModel(reply), [linger])) as client:
        connection = client.posting(PATH, BODY)
        actor.gate.wait_reached()
        connection.close()
        assert cancelled.wait(GUARD_SECONDS)
        actor.gate.open()
        again = in_background(client)
        eventually(lambda: len(runs(client)) == 2 or again, "the second is taken")
        ends.open()
        eventually(lambda: again, "the second is answered")
        assert said(again[0]) == "Done."


def test_a_lost_run_is_found_by_one_of_those_who_ask_the_same(tmp_path: Path):
    """And by none that is another program, though its text be equal."""
    journal = str(tmp_path / "journal.db")
    first = Actor()
    with serving(first.agent, journal) as client:
        cut_off = in_background(client)
        first.gate.wait_reached()
    eventually(lambda: cut_off, "it is cut off")
    actor = Actor()
    with serving(actor.agent, journal) as client:
        [lost] = runs(client)
        stranger = in_background(client, user_agent="another program")
        eventually(lambda: len(runs(client)) == 2, "another program has a run of its own")
        equal = [in_background(client) for _ in range(5)]
        eventually(lambda: len(runs(client)) == 6, "one of five has found the lost one")
        actor.gate.open()
        eventually(lambda: all(equal) and stranger, "all have answers")
        replayed = ["idempotent-replayed" in one[0].headers for one in (*equal, stranger)]
        assert sorted(replayed) == [False] * 5 + [True]
        assert len({said(one[0]) for one in (*equal, stranger)}) == 6
        assert lost in runs(client)


def test_a_client_that_went_away_and_asks_again_gets_another_run():
    """It could have been a person that stopped it."""
    actor = Actor()
    with serving(actor.agent) as client:
        connection = client.posting(PATH, BODY)
        actor.gate.wait_reached()
        connection.close()
        [run] = runs(client)
        assert client.wait(run)["stop_reason"] == "cancelled"
        actor.gate.open()
        assert said(client.ask("POST", PATH, BODY)) == "Done, 1."
        assert (len(runs(client)), actor.acts) == (2, 2)


def test_a_server_that_stops_ends_what_ends_soon(tmp_path: Path):
    """Also streams: within `grace`, an answer reaches its client."""
    actor = Actor()
    with serving(actor.agent, str(tmp_path / "j.db"), settings=relaxed(grace=20.0)) as client:
        got = in_background(client, {**BODY, "stream": True})
        actor.gate.wait_reached()
        client.server.should_exit = True
        eventually(lambda: client.server.hub.closing, "it stops")
        actor.gate.open()
        eventually(lambda: got, "the answer is there")
        assert answer_in("chat completions", got[0].data) == "Done, 1."


def test_a_request_cut_off_by_a_stop_finds_its_run_once(tmp_path: Path):
    actor = Actor()
    journal = str(tmp_path / "j.db")
    with serving(actor.agent, journal) as client:
        got = in_background(client)
        actor.gate.wait_reached()
    eventually(lambda: got, "it was cut off")
    assert got[0].status != 200
    actor.gate.open()
    with serving(actor.agent, journal) as client:
        again = client.ask("POST", PATH, BODY)
        assert (said(again), again.headers.get("idempotent-replayed"), actor.acts) == ("Done, 1.", "true", 1)
        other = client.ask("POST", PATH, {**BODY, "temperature": 0.5})
        assert (said(other), actor.acts) == ("Done, 2.", 2), "not the same request"
        assert (said(client.ask("POST", PATH, BODY)), actor.acts) == ("Done, 3.", 3), "it was delivered"


def test_a_lost_request_is_not_found_by_another_user_nor_after_its_time(tmp_path: Path):
    actor = Actor()
    journal = str(tmp_path / "j.db")
    with serving(actor.agent, journal, tokens=TOKENS) as client:
        in_background(client.as_user(ANN))
        actor.gate.wait_reached()
    actor.gate.open()
    with serving(actor.agent, journal, tokens=TOKENS, settings=relaxed(repeat_window=3600.0)) as client:
        assert "idempotent-replayed" not in client.as_user(BOB).ask("POST", PATH, BODY).headers
    with serving(actor.agent, journal, tokens=TOKENS, settings=relaxed(repeat_window=0.001)) as client:
        assert "idempotent-replayed" not in client.as_user(ANN).ask("POST", PATH, BODY).headers
        assert len(runs(client.as_user(ANN))) == 2


# ---- keys


def test_a_key_stands_for_one_run():
    actor = Actor(is_open=True)
    with serving(actor.agent, tokens=TOKENS) as client:
        ann = client.as_user(ANN)
        first = ann.ask("POST", PATH, BODY, idempotency_key="k1")
        again = ann.ask("POST", PATH, BODY, idempotency_key="k1")
        assert said(first) == said(again) == "Done, 1."
        assert (again.headers["idempotent-replayed"], "idempotent-replayed" in first.headers) == ("true", False)
        assert again.json["usage"] == first.json["usage"]
        streamed = ann.ask("POST", "/v1/responses", {"model": "demo", "input": "?"}, idempotency_key="k1")
        assert (streamed.status, streamed.headers["x-should-retry"]) == (422, "false"), "another request"
        assert ann.ask("POST", PATH, {**BODY, "seed": 1}, idempotency_key="k1").status == 422
        assert said(ann.ask("POST", PATH, BODY, idempotency_key="k2")) == "Done, 2."
        assert said(client.as_user(BOB).ask("POST", PATH, BODY, idempotency_key="k1")) == "Done, 3.", "another's key"
        assert [ann.ask("POST", PATH, BODY, idempotency_key=key).status for key in ("", "x" * 256)] == [400, 400]
        assert actor.acts == 3


def test_a_key_that_comes_twice_at_once_stands_for_one_run():
    actor = Actor()
    with serving(actor.agent) as client:
        body = {**BODY, "conversation": "c"}
        got = [in_background(client, body, idempotency_key="k") for _ in range(4)]
        actor.gate.wait_reached()
        actor.gate.open()
        eventually(lambda: all(got), "all have answers")
        assert [said(one[0]) for one in got] == ["Done, 1."] * 4
        assert (actor.acts, len(runs(client))) == (1, 1)


def test_a_run_with_a_key_goes_on_without_its_client():
    actor = Actor()
    with serving(actor.agent) as client:
        connection = client.connect()
        headers = {"content-type": "application/json", "idempotency-key": "k"}
        connection.request("POST", PATH, json.dumps(BODY).encode(), headers)
        actor.gate.wait_reached()
        connection.close()
        again = in_background(client, idempotency_key="k")
        actor.gate.open()
        eventually(lambda: again, "it has an answer")
        assert (said(again[0]), actor.acts) == ("Done, 1.", 1)


def test_a_key_of_a_run_that_failed_for_now_gets_another_attempt():
    script = [TransientModelError("down"), "Up again."]
    with serving(Agent(ScriptedModel(script), None, retry={"attempts": 1})) as client:
        statuses = [client.ask("POST", PATH, BODY, idempotency_key="k").status for _ in range(3)]
        assert (statuses, len(runs(client))) == ([503, 200, 200], 2)


def test_a_request_that_is_refused_leaves_nothing_behind():
    with serving(Actor(is_open=True).agent) as client:
        wrong = {**BODY, "model": "nobody"}
        assert client.ask("POST", PATH, wrong, idempotency_key="k").status == 404
        assert client.ask("POST", PATH, BODY, idempotency_key="k").status == 200, "the key is free"


class Breaking(ScriptedModel):
    """The first attempt to write the answer is cut off when the gate opens."""

    gate: Gate

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        cut = request.component == "synthesis" and sum(it.component == "synthesis" for it in self.requests) == 0
        async for part in super().stream(request):
            yield part
            if cut:
                await self.gate.wait()
                raise TransientModelError("cut off")


def test_an_answer_that_had_to_be_restarted_is_not_worked_for_twice():
    """The stream ends with an error, and the same request again gets the answer of the same run."""
    actor = Actor(is_open=True)
    model = Breaking([call("act"), "brief", "first words", "second words"], chunk=4)
    agent = Agent(model, actor.agent.toolkit, answer="synthesize", retry={"attempts": 3, "base": 0.01})
    model.gate = Gate()
    with serving(agent) as client:
        connection = client.posting(PATH, {**BODY, "stream": True})
        response = connection.getresponse()
        while b"firs" not in response.readline():
            pass
        model.gate.open()
        assert b"restarted" in response.read()
        connection.close()
        again = client.ask("POST", PATH, {**BODY, "stream": True})
        assert answer_in("chat completions", again.data) == "second words"
        assert (actor.acts, len(runs(client))) == (1, 1)


# ---- A2A and runs by their ids


def rpc(client: Client, text: str, agent: str = "demo", **more: Any) -> dict[str, Any]:
    said = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": text}], **more}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": said}}
    return client.post(f"/a2a/{agent}", body)


def test_a_message_that_comes_twice_is_one_task():
    actor = Actor(is_open=True)
    with serving(actor.agent) as client:
        first, again = (rpc(client, "Do it.")["result"]["task"] for _ in range(2))
        assert (first["id"], first["artifacts"]) == (again["id"], again["artifacts"])
        assert rpc(client, "Do that.")["result"]["task"]["id"] != first["id"], "the same id with something else in it"
        assert rpc(client, "Do it.", messageId="m2")["result"]["task"]["id"] != first["id"]
        assert actor.acts == 3


def test_a_message_to_a_task_that_comes_twice_is_heard_once():
    """Not as the result of the next call that waits."""
    look = external_tool("look", "Looks.", {"type": "object", "properties": {}})
    model = ScriptedModel([call("look"), call("look"), "Seen."])
    with serving(Agent(model, [look])) as client:
        task = rpc(client, "?")["result"]["task"]["id"]
        for _ in range(2):
            told = rpc(client, "a cat", taskId=task, messageId="m2")["result"]["task"]
            assert told["status"]["state"] == "TASK_STATE_INPUT_REQUIRED", "it waits for the second look"
        for _ in range(2):
            done = rpc(client, "a dog", taskId=task, messageId="m3")["result"]["task"]
            assert done["status"]["state"] == "TASK_STATE_COMPLETED", "also when the task has ended"
    results = [one.content for one in model.requests[-1].messages if isinstance(one, ToolMessage)]
    assert [str(one) for one in results] == ["a cat", "a dog"]


def test_words_to_a_task_in_progress_that_come_twice_are_heard_once():
    actor = Actor()
    with serving(actor.agent) as client:
        body = {"question": "Do it.", "agent": "demo"}
        task = client.post("/api/runs", body)["run_id"]
        actor.gate.wait_reached()
        said = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "And hurry."}], "taskId": task}
        params = {"message": said, "configuration": {"returnImmediately": True}}
        for _ in range(2):
            client.post("/a2a/demo", {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params})
        actor.gate.open()
        client.wait(task)
        client.post("/a2a/demo", {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params})
        assert str(actor.model.requests[-1].messages).count("And hurry.") == 1


def test_one_run_id_twice_at_once_is_one_run():
    actor = Actor()
    with serving(actor.agent) as client:
        body = {"question": "Do it.", "run_id": "my-own-run", "conversation": "c"}
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda _: client.ask("POST", "/api/runs", body), range(6)))
        assert sorted(one.status for one in answers) == [200] * 5 + [201]
        actor.gate.open()
        assert client.wait("my-own-run")["answer"] == "Done, 1."
        assert actor.acts == 1
