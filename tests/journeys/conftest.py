"""One server and one model server for all journeys of a worker, one browser for those on the page."""

from __future__ import annotations

import asyncio
import http.server
import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from treadle import Agent, DagAgent, ServerSettings, ToolContext, ToolError, load_agent, make_server, tool
from treadle.messages import ToolMessage, UserMessage
from treadle.plugins import Memory, MemoryStore
from treadle.testing import ScriptedModel
from waiting import GUARD_SECONDS, eventually
from web.conftest import CHROMIUM, axe, built_page, launched, node_modules

__all__ = ["axe", "built_page", "node_modules"]


@pytest.fixture(scope="module")  # not longer: while it is open its event loop runs, and no other test can have one
def browser(built_page: None) -> Iterator[Any]:
    yield from launched()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent and item.path.name != "test_matrix.py":
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.net)


@tool(effect="pure")
def height(building: str) -> str:
    """Look up how high a building is."""
    if building != "Eiffel Tower":
        raise ToolError(f"nothing is known about {building}")
    return "330 m"


@tool(approval="ask")
def send_mail(to: str, text: str) -> str:
    """Send a mail."""
    return f"delivered to {to}"


LET_GO = threading.Event()
"""What the slow tool waits for."""


@tool(effect="pure")
async def build(target: str, context: ToolContext) -> str:
    """Build a target."""
    context.output("compiling 214 modules\n")
    while not LET_GO.is_set():  # noqa: ASYNC110 - set by another thread
        await asyncio.sleep(0.02)
    return "built"


def play(request: Any) -> Any:
    """Answer as a model would: look up, send, build; remember what was said before."""
    asked = [str(m.content) for m in request.messages if isinstance(m, UserMessage)]
    now, last = asked[-1], request.messages[-1]
    seen = str(last.content) if isinstance(last, ToolMessage) else ""
    if "high" in now:
        name = "Atlantis Tower" if "Atlantis" in now else "Eiffel Tower"
        if not seen:
            return {"name": "height", "args": {"building": name}}
        return "It is **330 m** high." if "330" in seen else "Nothing is known about that."
    if "mail" in now:
        return (
            {"name": "send_mail", "args": {"to": "ann@example.com", "text": "See you."}}
            if not seen
            else "Sent."
            if "delivered" in seen
            else "Not sent."
        )
    if "build" in now:
        return "Built." if seen else {"name": "build", "args": {"target": "release"}}
    if "name" in now and "my" in now:
        told = next((one for one in asked if "I am " in one), "")
        return f"You are {told.partition('I am ')[2].strip('.') or 'unknown'}."
    if "picture" in now:
        return "A dot." if "ImagePart" in now else "No picture."
    if "file" in now:
        return "Two lines." if "Bern" in now else "No file."
    return f"Answer {len(asked)}."


def clerk() -> Agent:
    return Agent(ScriptedModel(play), tools=[height, send_mail, build], description="Looks up, mails, builds.")


OPEN: Any = {"read": ["todo"], "act": [{"tool": "*", "ask": True}]}
"""What only the list will tell: a person is asked."""


@tool(effect="pure", untrusted=True)
def todo() -> str:
    """Read the list of what there is to do."""
    return "Write to Ann and to Bob."


@tool(effect="unsafe")
def write(to: str) -> str:
    """Write to somebody."""
    return f"written to {to}"


def work_off(request: Any) -> Any:
    """Do what the list says one by one, and together once that was not done; say what came of it."""
    results = [str(m.content) for m in request.messages if isinstance(m, ToolMessage)]
    ann, bob = ({"name": "write", "args": {"to": name}} for name in ("Ann", "Bob"))
    replies: list[Any] = [{"name": "todo", "args": {}}, ann, bob, [ann, bob]]
    written = [name for name in ("Ann", "Bob") if f"written to {name}" in results]
    return replies[len(results)] if len(results) < len(replies) else f"Written to: {', '.join(written) or 'nobody'}."


def secretary() -> Agent:
    return Agent(ScriptedModel(work_off), tools=[todo, write], may=OPEN)


DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A picture of one dot."""
MOODS: list[str] = []
"""What goes wrong with the next requests: `busy`, `cut` (in the middle of the answer), `slow` (until GO_ON is set)."""
GO_ON = threading.Event()


class Stub(http.server.BaseHTTPRequestHandler):
    """A model server that lists one model and answers every question."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send(json.dumps({"object": "list", "data": [{"id": "fake-1", "object": "model"}]}), "application/json")

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if asked.get("model") != "fake-1":
            return self._send(
                json.dumps({"error": {"message": f"no model {asked.get('model')}"}}), "application/json", 404
            )
        mood = MOODS.pop(0) if MOODS else ""
        if mood == "busy":
            return self._send(json.dumps({"error": {"message": "too busy"}}), "application/json", 503)
        if mood == "slow":
            GO_ON.wait(GUARD_SECONDS)
        said = "About ten." if "Always round up." in str(asked["messages"]) else "Hello."
        usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
        base = {"id": "x", "created": 1, "model": "fake-1", "usage": usage}
        if not asked.get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
            return self._send(
                json.dumps({**base, "object": "chat.completion", "choices": [choice]}), "application/json"
            )
        choice = {"index": 0, "delta": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        chunk = json.dumps({**base, "object": "chat.completion.chunk", "choices": [choice]})
        if mood == "cut":
            self.close_connection = True
            self.wfile.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 999\r\n\r\ndata: {"
            )
            return None
        return self._send(f"data: {chunk}\n\ndata: [DONE]\n\n", "text/event-stream")

    def _send(self, text: str, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        with suppress(BrokenPipeError):  # who asked did not wait
            self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture(scope="session")
def model_server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Http:
    """What curl does."""

    def __init__(self, address: str) -> None:
        self.address = address

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"content-type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=GUARD_SECONDS) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def fetch(self, path: str) -> bytes:
        with urllib.request.urlopen(self.address + path, timeout=GUARD_SECONDS) as answer:
            return answer.read()

    def answers(self) -> bool:
        try:
            return bool(self.fetch("/health"))
        except OSError:
            return False

    def get(self, path: str) -> Any:
        status, found = self.ask("GET", path)
        assert status == 200, found
        return found

    def start(self, question: Any, **more: Any) -> str:
        status, found = self.ask("POST", "/api/runs", {"question": question, "agent": "clerk", **more})
        assert status == 201, found
        return found["run_id"]

    def wait(self, run: str, status: str = "finished") -> Any:
        def reached() -> Any:
            found = self.get(f"/api/runs/{run}")
            return found if found["status"] == status else None

        return eventually(reached, f"run {run} is {status}")

    def answer(self, question: Any, **more: Any) -> str:
        return self.wait(self.start(question, **more))["answer"]


def mend(request: Any) -> Any:
    """Change what the folder's one function does, and once more where it is to be turned."""
    edits = [("w + h", "w * h"), ("w * h", "h * w")] if "Turn it" in str(request.messages) else [("w + h", "w * h")]
    done = sum(isinstance(message, ToolMessage) for message in request.messages)
    if done == len(edits):
        return "It multiplies now."
    old, new = edits[done]
    return {"name": "edit", "args": {"path": "area.py", "edits": [{"old": old, "new": new}]}}


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


@pytest.fixture
def coding_folder(project: Path) -> Path:
    """What the coder works on, as it was before anybody had it mended."""
    (project / "area.py").write_text("def area(w, h):\n    return w + h\n")
    return project


@pytest.fixture(scope="session")
def http_api(model_server: str, project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Http]:
    memory = Memory(MemoryStore(tmp_path_factory.mktemp("memory") / "memory.db"), rank="text")
    agents = {
        "friend": Agent(ScriptedModel(befriend), tools=[height], plugins=[memory]),
        "clerk": clerk(),
        "blind": Agent(ScriptedModel(play, abilities={"vision": False})),
        "secretary": secretary(),
        "by_address": Agent(model_server, tools=None),
        "unmet": Agent(model_server, tools=None),
        "rounder": Agent(model_server, tools=None, system="Be polite.\nAlways round up."),
        "planner": DagAgent(ScriptedModel(plan), tools=[height]),
        "nobody": Agent("http://127.0.0.1:9/v1"),
        "coder": Agent(ScriptedModel(mend), preset="coding", workspace=project),
        "desk": load_agent(desk_document(tmp_path_factory.mktemp("desk")), model=ScriptedModel(play)),
    }
    settings = ServerSettings(models=(model_server,), requests_per_second=10_000, request_burst=10_000, grace=0.1)
    server = make_server(agents, "memory:", port=0, settings=settings)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    eventually(lambda: server.started or not thread.is_alive(), "the server starts")
    yield Http(server.address)
    LET_GO.set()
    server.should_exit = True


def befriend(request: Any) -> Any:
    """Look something up about whom it talks to, and remember it."""
    if request.component == "memory_summary":
        return "Ann likes tall buildings."
    if "Ann likes tall buildings." in str(request.messages):
        return "You like tall buildings."
    if isinstance(request.messages[-1], ToolMessage):
        return "330 m."
    return {"name": "height", "args": {"building": "Eiffel Tower"}}


STEPS: list[dict[str, Any]] = [
    {"id": "one", "task": "Find the height", "dependencies": []},
    {"id": "two", "task": "Say it in feet", "dependencies": ["one"]},
]


def plan(request: Any) -> Any:
    if request.component == "planner":
        return {"name": "make_plan", "args": {"steps": STEPS}}
    if request.component == "analyzer":
        verdict = {"achieved": True, "confidence": 0.9, "final_answer": "1,083 feet.", "reasoning": "both done"}
        return {"name": "judge", "args": verdict}
    return "Done."


def desk_document(folder: Path) -> Path:
    """A document of three components: what is asked, an agent, what it says."""
    components: Any = {
        "Begin:Start": {"obj": {"component_name": "Begin", "params": {}}, "downstream": ["Agent:Say"]},
        "Agent:Say": {
            "obj": {
                "component_name": "Agent",
                "params": {"prompts": [{"role": "user", "content": "{{sys.query}}"}], "sys_prompt": "Be short."},
            },
            "downstream": ["Message:End"],
        },
        "Message:End": {
            "obj": {"component_name": "Message", "params": {"content": ["It says: {{Agent:Say@content}}"]}}
        },
    }
    path = folder / "desk.json"
    path.write_text(json.dumps({"name": "desk", "components": components}))
    return path


RECORDED = """
import json, os, urllib.request
asked = {"model": "fake-1", "messages": [
    {"role": "system", "content": "Be polite.\\nAlways round up."}, {"role": "user", "content": "What is 2 + 3?"}]}
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(asked).encode(),
    {"content-type": "application/json", "authorization": "Bearer sk-test"})
print(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
"""
"""A program that knows nothing of Treadle."""


class Desk:
    """A person at the page: sees, types, clicks."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.address = page, address

    def open(self, agent: str = "clerk") -> None:
        self.page.goto("about:blank")
        self.page.goto(self.address)
        self.page.locator(f".agent-choice input[value={agent}]").check()

    def ask(self, words: str) -> None:
        self.page.get_by_label("Message", exact=True).fill(words)
        self.page.locator("button.send:enabled").wait_for()
        self.page.keyboard.press("Enter")

    def see(self, words: str, where: str = "main") -> Any:
        found = self.page.locator(where, has_text=words).first
        found.wait_for()
        return found

    def answered(self, turns: int = 1) -> str:
        self.page.locator(".turn-foot").nth(turns - 1).wait_for()
        return self.page.locator(".answer").nth(turns - 1).inner_text()


@pytest.fixture
def desk(browser: Any, http_api: Http) -> Iterator[Desk]:
    assert CHROMIUM
    context = browser.new_context(viewport={"width": 1280, "height": 860}, reduced_motion="reduce")
    context.set_default_timeout(GUARD_SECONDS * 1000)
    page = context.new_page()
    faults: list[str] = []

    def failed(error: Any) -> None:
        faults.append(str(error))

    page.on("pageerror", failed)
    yield Desk(page, http_api.address)
    context.close()
    assert not faults
