"""`treadle acp`, driven by the client of the protocol's own package."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.terminal import call, environment, script
from kit import go
from programs import python

acp = pytest.importorskip("acp")

EDIT = call("edit", path="a.py", old="1", new="2")


class Client(acp.Client):
    """An editor that answers questions from a list, and keeps what it is told."""

    def __init__(self, *answers: str) -> None:
        self.answers, self.updates, self.asked = list(answers), list[Any](), list[Any]()

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        self.updates.append(update)

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **more: Any) -> Any:
        self.asked.append(tool_call)
        answer = self.answers.pop(0)
        if answer == "cancelled":
            return acp.RequestPermissionResponse(outcome={"outcome": "cancelled"})
        return acp.RequestPermissionResponse(outcome={"outcome": "selected", "option_id": answer})


def work(
    home: Path,
    client: Client,
    *replies: Any,
    prompts: tuple[str, ...] = ("make it two",),
    options: tuple[str, ...] = (),
) -> list[str]:
    model = script(home, *replies)
    project = home / "project"
    project.mkdir(exist_ok=True)
    (project / "a.py").write_text("x = 1\n")

    async def main() -> list[str]:
        arguments = [*python()[1:], "-m", "treadle._cli.main", "acp", "-m", model, *options]
        env = {**os.environ, **environment(home)}
        async with acp.spawn_agent_process(client, sys.executable, *arguments, env=env, cwd=str(home)) as (agent, _):
            begun = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
            assert begun.agent_info.name == "treadle"
            session = await agent.new_session(cwd=str(project), mcp_servers=[])
            with pytest.raises(acp.RequestError):
                await agent.new_session(cwd="relative", mcp_servers=[])
            ends = [
                (await agent.prompt(session_id=session.session_id, prompt=[acp.text_block(text)])).stop_reason
                for text in prompts
            ]
            with pytest.raises(acp.RequestError):
                await agent.prompt(session_id="nothing", prompt=[acp.text_block("x")])
            return ends

    return go(main())


def test_an_editor_is_asked_shown_the_difference_and_told_the_end(home: Path):
    client = Client("once", "no")
    plan = call("todo", items=[{"text": "change it"}])
    replies = (plan, EDIT, "Done.", "Not tested.", call("bash", command="touch b"), "Refused.")
    ends = work(home, client, *replies, prompts=("make it two", "and b"))
    assert ends == ["end_turn", "end_turn"]
    assert [one.title for one in client.asked] == ["edit a.py", "bash touch b"]
    assert (client.asked[0].content[0].old_text, client.asked[0].content[0].new_text) == ("1", "2")
    assert (home / "project" / "a.py").read_text() == "x = 2\n"
    assert not (home / "project" / "b").exists()
    kinds = [update.session_update for update in client.updates]
    assert kinds[:3] == ["tool_call", "plan", "tool_call_update"]
    texts = [one.content.text for one in client.updates if one.session_update == "agent_message_chunk"]
    assert texts[0].startswith("Not tested.\n\n[changed: a.py (+1 -1)]")
    assert texts[1] == "Refused."


def test_a_task_is_cancelled(home: Path):
    client = Client("cancelled")
    assert work(home, client, EDIT, "never") == ["cancelled"]
    assert (home / "project" / "a.py").read_text() == "x = 1\n"


def test_an_editor_is_told_that_a_limit_was_reached(home: Path):
    ends = work(home, Client("once"), EDIT, "So far.", options=("--max-iterations", "1"))
    assert ends == ["max_turn_requests"]
