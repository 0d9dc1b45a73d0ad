"""How a run is started, and what its log says about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.terminal import Inside, call, script
from models.contact.replayed import QUESTION, eight_kinds
from models.loopback import running
from programs import python
from treadle._cli.setup.launch import Launch, launch_note, launch_of, print_choice
from treadle._models.catalog.default import Choice
from treadle._types.events import Noted, Record, RunStarted


def log(run: str, *notes: Noted) -> list[Record]:
    return [Record(run, seq, 0.0, event) for seq, event in enumerate((RunStarted("q"), *notes))]


@pytest.fixture(autouse=True)
def own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREADLE_STATE", str(tmp_path / "state"))


@pytest.mark.parametrize("tools", ["sql,url=postgres://ada:hunter2@db/shop", "tavily,key=hunter2"])
def test_secrets_in_tool_parameters_are_not_kept(tools: str):
    note = launch_note("r", Launch(model="m:x", tools=("calculator", tools)))
    assert "hunter2" not in str(note)
    launch = launch_of(log("r", note))
    assert launch is not None
    assert launch.tools == ("calculator", "[redacted]")


def test_the_newest_note_counts():
    first, second = Launch(model="m:x"), Launch(model="m:y")
    assert launch_of(log("r", launch_note("r", first), launch_note("r", second))) == second


def test_a_note_that_was_changed_or_copied_is_not_believed():
    note = launch_note("r", Launch(model="m:x", tools=("calculator",)))
    changed = Noted(note.component, {**note.data, "launch": {"model": "m:x", "tools": ["evil:tool"]}})
    assert launch_of(log("r", note)) is not None
    assert launch_of(log("r", changed)) is None
    assert launch_of(log("another", note)) is None
    assert launch_of(log("r", Noted(note.component, {"launch": 5}))) is None
    assert launch_of(log("r")) is None


# ---- who is asked about which tools

SERVER = str(Path(__file__).resolve().parents[2] / "tools" / "mcp" / "server.py")
ORDER = {"user_prompt": "work it out", "reasoning": "", "context": ""}


def document(home: Path, params: dict[str, Any], **more: Any) -> str:
    path = home / "agent.json"
    main = {"obj": {"component_name": "Agent", "params": {"preset": "default", **params}}}
    path.write_text(json.dumps({"components": {"Agent:Main": main}, **more}))
    return str(path)


def of_mcp(home: Path) -> str:
    pytest.importorskip("mcp")
    program, *before = python()
    server = {"command": program, "args": [*before, SERVER], "timeout": 120}
    return document(home, {"mcp": [{"mcp_id": "test"}]}, mcp_servers={"test": server})


def of_agents(home: Path) -> str:
    worker = {
        "component_name": "Agent",
        "id": "worker",
        "params": {"preset": "default", "tools": [{"component_name": "calculator"}]},
    }
    return document(home, {"tools": [worker]})


def executed(run: Any) -> list[str]:
    """The tools that ran, in all runs of the journal."""
    records = [
        json.loads(line)
        for run_id in run("runs", "list", "--all", "--ids").out.split()
        for line in run("runs", "show", run_id, "--json").out.splitlines()
    ]
    return [r["event"]["name"] for r in records if r["event"]["type"] == "tool_done" and r["event"].get("executed", 1)]


@pytest.mark.parametrize("ask", ["all", "custom_tool"])
def test_ask_covers_the_tools_of_mcp_servers(home: Path, inside: Inside, ask: str):
    model = script(home, call("custom_tool", text="abc"), "done")
    ran = inside("run", "q", "-m", model, "-f", of_mcp(home), "--ask", ask)
    assert (ran.code, executed(inside)) == (4, [])
    assert "waiting for approval: custom_tool" in ran.err
    ran = inside("runs", "resume", "last", "--approve", "all")
    assert (ran.code, ran.out) == (0, "done\n")
    assert executed(inside) == ["custom_tool"]


def test_ask_covers_the_tools_of_agents_inside_an_agent(home: Path, inside: Inside):
    boss = script(home, call("worker", **ORDER), call("calculator", expression="1+1"), "two", "done", name="boss")
    file = of_agents(home)
    ran = inside("run", "q", "-m", boss, "-f", file, "--ask", "calculator")
    assert ran.code == 2, "a name that no tool has"
    ran = inside("run", "q", "-m", boss, "-f", file, "--ask", "all")
    assert (ran.code, executed(inside)) == (4, [])
    assert "waiting for approval: worker" in ran.err
    ran = inside("runs", "resume", "last", "--approve", "all")
    assert (ran.code, executed(inside)) == (4, [])
    assert "waiting for approval: calculator" in ran.err
    ran = inside("runs", "resume", "last", "--approve", "all")
    assert (ran.code, ran.out) == (0, "done\n"), ran.err


def test_a_document_can_say_the_same_itself(home: Path, inside: Inside):
    file = document(home, {"tools": [{"component_name": "calculator"}], "settings": {"ask": ["all"]}})
    model = script(home, call("calculator", expression="1+1"), "done")
    ran = inside("run", "q", "-m", model, "-f", file)
    assert (ran.code, executed(inside)) == (4, [])


def test_yes_answers_for_everything_inside_and_is_on_record(home: Path, inside: Inside):
    boss = script(home, call("worker", **ORDER), call("calculator", expression="1+1"), "two", "done", name="boss")
    ran = inside("run", "q", "-m", boss, "-f", of_agents(home), "--ask", "all", "--yes")
    assert (ran.code, ran.out) == (0, "done\n"), ran.err
    ids = inside("runs", "list", "--all", "--ids").out.split()
    approved = [
        line for run in ids for line in inside("runs", "show", run, "--json").out.splitlines() if '"by"' in line
    ]
    assert len(approved) == 2
    assert all('"--yes"' in line for line in approved)


def test_a_name_that_no_tool_has_protects_nothing_and_is_an_error(home: Path, inside: Inside):
    ran = inside("run", "q", "-m", script(home, "x"), "-t", "calculator", "--ask", "calculater")
    assert ran.code == 2
    assert "did you mean: calculator?" in ran.err


# ---- documents and options that do not go together


def of_two(home: Path) -> str:
    agents = {
        name: {"obj": {"component_name": "Agent", "params": {"preset": "default"}}, "upstream": before}
        for name, before in (("Agent:A", []), ("Agent:B", ["Agent:A"]))
    }
    path = home / "two.json"
    path.write_text(json.dumps({"components": agents}))
    return str(path)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--tools", "calculator"), "change `tools` there"),
        (("--system", "Be nice."), "change `sys_prompt` there"),
        (("--preset", "strict"), "presets of their own"),
    ],
)
def test_what_a_document_of_several_components_cannot_take_is_refused(
    home: Path, inside: Inside, options: tuple[str, str], says: str
):
    file = of_two(home)
    done = inside("run", "q", "-f", file, "-m", script(home, "x", repeat_last=True), *options)
    assert (done.code, says in done.err, options[0] in done.err) == (2, True, True), done.err
    assert inside("run", "q", "-f", file, "-m", script(home, "x", repeat_last=True)).code == 0


def test_the_system_prompt_of_a_single_agent_can_be_replaced(home: Path, inside: Inside):
    file = document(home, {"sys_prompt": "Be stern."})
    done = inside("run", "q", "-f", file, "-m", script(home, "x"), "--system", "Be nice.", "--json")
    assert json.loads(done.out.splitlines()[0])["event"]["system"] == "Be nice."


# ---- where runs are recorded when the user's own place cannot be written


def test_without_a_place_to_write_the_work_goes_on(home: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch):
    (home / "file").write_text("")
    monkeypatch.setenv("TREADLE_STATE", str(home / "file" / "state"))
    done = inside("run", "q", "-m", script(home, "an answer"))
    assert (done.code, done.out) == (0, "an answer\n")
    assert "runs are not recorded: the folder" in done.err
    assert "set TREADLE_STATE" in done.err
    listed = inside("runs", "list")
    assert (listed.code, "set TREADLE_STATE" in listed.err) == (2, True)
    named = inside("run", "q", "-m", script(home, "an answer"), "--journal", str(home / "file" / "x.db"))
    assert named.code == 2, "a journal that was asked for is not left out"


WAYS: dict[str, Callable[[str, Path], list[str]]] = {
    "run -m": lambda url, home: ["run", QUESTION, "-m", url],
    "run -m #model": lambda url, home: ["run", QUESTION, "-m", f"{url}/v1#my-finetune"],
    "TREADLE_MODEL": lambda url, home: ["run", QUESTION],
    "config file": lambda url, home: ["run", QUESTION],
    "document": lambda url, home: ["run", QUESTION, "--file", document(home, {"llm_id": url})],
    "batch -m": lambda url, home: ["batch", questions(home), "-m", url],
}


def questions(home: Path) -> str:
    (home / "q.jsonl").write_text(QUESTION)
    return str(home / "q.jsonl")


@pytest.mark.parametrize("way", WAYS)
def test_an_address_is_a_model_wherever_one_is_named(
    way: str, home: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch
):
    kind = eight_kinds()[6]
    with running(kind) as url:
        if way == "TREADLE_MODEL":
            monkeypatch.setenv("TREADLE_MODEL", url)
        if way == "config file":
            (home / "config.toml").write_text(f'model = "{url}"\n')
            monkeypatch.setenv("TREADLE_CONFIG", str(home / "config.toml"))
        ran = inside(*WAYS[way](url, home))
    assert kind.chats, ran.err
    assert {body["model"] for body in kind.chats} == {"my-finetune"}


def test_how_to_use_a_bigger_model_is_said_once(capsys: pytest.CaptureFixture[str]):
    small = Choice("local:qwen2.5-coder-0.5b", "no key is set", last_resort=True)
    for said in (True, False):
        print_choice(small)
        shown = " ".join(capsys.readouterr().err.split())
        assert "model: local:qwen2.5-coder-0.5b (no key is set)" in shown
        assert ("give --model provider:model" in shown) is said
    print_choice(Choice("openai:gpt-5-mini", "OPENAI_API_KEY is set"))
    assert "bigger" not in capsys.readouterr().err
