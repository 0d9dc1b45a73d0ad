"""The shell that stays open: what it keeps, how a command ends, and what is left of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kit import go, until
from treadle import ToolError
from treadle._tools.sandbox.tree import descendants
from treadle._workspace.tools.shell import MOST_OUTPUT, Ended, Shell
from workspace.machines import HAS_BWRAP, FolderMachine

MACHINES = [False, pytest.param(True, marks=pytest.mark.skipif(not HAS_BWRAP, reason="needs bubblewrap"))]


def commands(root: Path, *lines: str, isolated: bool = False, seconds: float = 60.0) -> list[Ended]:
    async def main() -> list[Ended]:
        shell = Shell(FolderMachine(root, isolated=isolated))
        try:
            return [await shell.run(line, seconds) for line in lines]
        finally:
            await shell.close()

    return go(main())


@pytest.mark.parametrize("isolated", MACHINES)
def test_a_shell_keeps_what_a_person_would_expect(tmp_path: Path, isolated: bool):
    (tmp_path / "sub").mkdir()
    ended = commands(
        tmp_path,
        "cd sub && x=1 && export Y=2 && f() { echo f$1; } && alias ll='echo listed'",
        "pwd; echo $x $Y; f 3",
        "ll",
        "echo 'it''s' > a.txt; cat <<'END'\n$x 'q\nEND",
        "ls ../sub; ls nothing",
        "echo unfinished 'quote",
        "cat; echo ate no input",
        "printf 'no line end'",
        "exec >gone.txt; echo into the file",
        "echo still heard",
        isolated=isolated,
    )
    outputs = [one.output for one in ended]
    assert outputs[1] == f"{tmp_path}/sub\n1 2\nf3\n"
    assert outputs[2:4] == ["listed\n", "$x 'q\n"]
    assert outputs[4].startswith("a.txt\n")
    assert ended[4].status == 2
    assert "unexpected EOF" in outputs[5]
    assert ended[5].status in (1, 2)
    assert outputs[6:8] == ["ate no input\n", "no line end"]
    assert outputs[9] == "still heard\n"
    assert all(one.folder == f"{tmp_path}/sub" and not one.shell_ended for one in ended[1:])


@pytest.mark.parametrize("ending", ["exit 3", "exec false", "kill -9 $$", "set -e; false; true"])
def test_a_shell_that_was_ended_starts_again_where_it_was(tmp_path: Path, ending: str):
    (tmp_path / "sub").mkdir()
    keep = "cd sub; export Y='two words'; f() { echo f; }; alias g='echo g'"
    _, end, after, alias = commands(tmp_path, keep, f"echo before; {ending}", "pwd; echo $Y; f", "g")
    assert end.shell_ended
    assert end.output == "before\n"
    assert end.status == {"exit 3": 3, "kill -9 $$": 137}.get(ending, 1)
    assert after.output == f"{tmp_path}/sub\ntwo words\nf\n"
    assert alias.output == "g\n"


@pytest.mark.parametrize("isolated", MACHINES)
def test_a_time_out_ends_the_command_and_not_the_shell(tmp_path: Path, isolated: bool):
    async def main() -> list[Ended]:
        shell = Shell(FolderMachine(tmp_path, isolated=isolated))
        try:
            await shell.run("x=kept; sleep 1000 &", 60)
            late = [await shell.run("echo begun; (trap '' TERM; sleep 1000) | sleep 1000", 0.3)]
            late.append(await shell.run("echo $x; jobs -r; mkfifo p", 60))
            late.append(await shell.run("read y <p", 0.3))
            late.append(await shell.run("echo $x again", 60))
            process: Any = shell._process  # pyright: ignore[reportPrivateUsage]
            left = descendants(process.pid)
        finally:
            await shell.close()
        await until(lambda: all("Z" in _state(pid) for pid in left))  # nothing lives on after the shell was closed
        return late

    stopped, after, busy, again = go(main())
    assert stopped.timed_out
    assert not stopped.shell_ended
    assert after.output.startswith("kept\n")
    assert "sleep 1000" in after.output, "what was started in the background goes on"
    assert busy.timed_out
    assert busy.shell_ended
    assert again.output == "again\n"


REST = "echo begun > a; {program}; echo went on > a; f() {{ echo $1 > a; }}; f on && (echo on > a)"
PROGRAMS = ("sleep 1000", "sh script", "sleep 1000 | cat", "for i in 1 2; do sleep 1000; echo on > a; done")


@pytest.mark.parametrize("isolated", MACHINES)
@pytest.mark.parametrize("stopped", ["late", "cancelled"])
async def test_the_rest_of_a_command_that_is_ended_is_not_run(tmp_path: Path, isolated: bool, stopped: str):
    """Neither in the shell nor in a script that waits for the program."""
    (tmp_path / "script").write_text("sleep 1000; echo went on > a")
    shell = Shell(FolderMachine(tmp_path, isolated=isolated))
    try:
        for number, program in enumerate(PROGRAMS):
            if stopped == "late":
                ended = await shell.run(REST.format(program=program), 0.3 if number else 3)
                assert (ended.timed_out, ended.shell_ended) == (True, False)
                assert (await shell.run("sleep 1000 & f() { echo $1; }; f 'as before'; cat a", 60)).output == (
                    "as before\nbegun\n"
                )
            else:
                (tmp_path / "a").write_text("")
                running = asyncio.ensure_future(shell.run(REST.format(program=program), 600))
                await until(lambda: (tmp_path / "a").read_text() == "begun\n")
                running.cancel()
                await asyncio.wait({running})
            assert (tmp_path / "a").read_text() == "begun\n"
    finally:
        await shell.close()


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    except OSError:
        return "Z"


def test_output_is_bounded_shown_as_it_comes_and_read_as_a_terminal_shows_it(tmp_path: Path):
    shown: list[str] = []

    async def main() -> tuple[Ended, Ended]:
        shell = Shell(FolderMachine(tmp_path))
        try:
            much = await shell.run("yes 0123456789 | head -c 6000000; echo the end", 60, shown.append)
            told = await shell.run(r"printf '\033[31mred\033[0m 10%%\r 99%%\rdone\nb\303\244d \377\n'", 60)
            return much, told
        finally:
            await shell.close()

    much, told = go(main())
    assert len(much.output) < MOST_OUTPUT + 100_000
    assert much.output.startswith("0123456789\n0123")
    assert much.output.endswith("the end\n")
    assert "characters left out" in much.output
    assert len(shown) > 10
    assert told.output == "done\nbäd \ufffd\n"


def test_keys_of_providers_are_not_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    (ended,) = commands(tmp_path, "env; cat /proc/$$/environ | tr '\\0' '\\n'")
    assert "sk-secret" not in ended.output
    assert "PATH=" in ended.output


def test_what_cannot_be_run_is_an_error_for_the_model(tmp_path: Path):
    with pytest.raises(ToolError, match="NUL"):
        commands(tmp_path, "echo \0")
