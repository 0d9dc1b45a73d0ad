from __future__ import annotations

import time
from typing import Any

import pytest

from kit import row
from treadle._tools.base import Tool
from treadle._tools.function import tool
from treadle._tools.spec import BaseTool, ToolParam, ToolSpec
from treadle._tools.toolkit import Toolkit, makes_tools, toolkit_of
from treadle._types.errors import ConfigError, DuplicateToolError, SchemaError


@tool
def read_file(path: str) -> str:
    """Reads a file."""
    return path


@tool
def write_file(path: str, text: str) -> str:
    """Writes a file."""
    return path + text


def plain(a: int) -> int:
    return a


class Shout(BaseTool):
    spec = ToolSpec("shout", "Shouts.", inputs=[ToolParam("text", str)])

    def __call__(self, text: str) -> str:  # type: ignore[override]
        return text.upper()


class AgentLike:
    def as_tool(self) -> Tool:
        return read_file.replace(name="agent")


def raw(**changes: Any) -> Tool:
    return Tool(
        **{
            "name": "raw",
            "description": "",
            "parameters": {"type": "object", "properties": {}},
            "execute": plain,
            **changes,
        }
    )


def test_everything_that_is_a_tool_can_be_registered() -> None:
    kit = Toolkit([read_file, plain, Shout(), AgentLike(), raw()])
    assert kit.names == ("read_file", "plain", "shout", "agent", "raw")
    assert [tool.name for tool in kit] == list(kit.names)
    assert len(kit) == 5
    assert "plain" in kit
    assert kit.get("read_file") is read_file
    assert kit.get("nothing") is None
    assert [schema.name for schema in kit.schemas] == list(kit.names)
    assert kit.schemas[0].parameters == read_file.parameters


def test_register_works_as_a_decorator_and_renews_the_schemas() -> None:
    kit = Toolkit([read_file])
    assert len(kit.schemas) == 1

    @kit.register
    def more(a: int) -> int:
        return a

    assert isinstance(more, Tool)
    assert [schema.name for schema in kit.schemas] == ["read_file", "more"]


def test_a_duplicate_name_is_an_error() -> None:
    with pytest.raises(DuplicateToolError, match="'read_file'"):
        Toolkit([read_file, read_file])
    with pytest.raises(DuplicateToolError):
        Toolkit([read_file]) + Toolkit([read_file])


class Liar:
    def as_tool(self) -> str:
        return "tool"


def test_what_is_not_a_tool_is_a_type_error() -> None:
    for wrong in (None, 3, {"name": "x"}, [read_file], Shout, Liar()):
        with row(wrong), pytest.raises(TypeError, match="a Tool, a BaseTool instance, a function"):
            Toolkit([wrong])


def test_a_tool_written_by_hand_is_checked() -> None:
    for changes, expected in (
        ({"name": "my tool"}, "try name='my_tool'"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": "5"}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"effect": "harmless"}, "pure, idempotent, unsafe"),
        ({"approval": "maybe"}, "allow, ask, deny"),
        ({"execute": "plain"}, "execute"),
    ):
        with row(changes, expected), pytest.raises(ConfigError, match=expected):
            Toolkit([raw(**changes)])


def test_a_schema_that_is_none_is_refused() -> None:
    with pytest.raises(SchemaError, match="'raw'"):
        Toolkit([raw(parameters={"type": "object", "properties": {"a": {"type": "strin"}}})])


def test_wrapping_gives_new_toolkits() -> None:
    kit = Toolkit([read_file, write_file, plain])
    assert kit.filtered(["write_file", "read_file"]).names == ("read_file", "write_file")
    assert kit.filtered("plain").names == ("plain",)
    assert kit.filtered(lambda tool: tool.name.endswith("file")).names == ("read_file", "write_file")
    assert kit.prefixed("fs_").names == ("fs_read_file", "fs_write_file", "fs_plain")
    assert [tool.approval for tool in kit.approved("ask")] == ["ask"] * 3
    assert [tool.approval for tool in kit.approved("deny", ["write_file"])] == ["allow", "deny", "allow"]
    assert (kit.filtered(["plain"]) + (read_file,)).names == ("plain", "read_file")
    assert kit.names == ("read_file", "write_file", "plain")
    assert [tool.approval for tool in kit] == ["allow"] * 3


def test_wrapping_refuses_what_makes_no_sense() -> None:
    kit = Toolkit([read_file, write_file])
    with pytest.raises(ConfigError, match=r"'raed_file'.*read_file"):
        kit.filtered(["raed_file"])
    with pytest.raises(ConfigError, match="'nothing'"):
        kit.approved("ask", ["nothing"])
    with pytest.raises(ConfigError, match="approval"):
        kit.approved("perhaps")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="64"):
        kit.prefixed("x" * 60)


def test_nearest_names() -> None:
    kit = Toolkit([read_file, write_file, plain])
    assert kit.nearest("ReadFile")[0] == "read_file"
    assert kit.nearest("zzzz") == []
    started = time.process_time()
    kit.nearest("read_file" * 1_000_000)
    assert time.process_time() - started < 0.5  # milliseconds; comparing the whole name would take minutes


def test_a_toolkit_of_ready_tools_takes_microseconds() -> None:
    tools = [raw(), read_file]
    Toolkit(tools)
    started = time.process_time()
    for _ in range(200):
        Toolkit(tools)
    assert (
        time.process_time() - started
    ) / 200 < 200e-6  # a few microseconds of CPU time; reading a schema takes far more


def test_a_function_that_returns_tools_is_known_by_its_annotation():
    def listed() -> list[Tool]:
        return [read_file]

    def kit() -> Toolkit:
        return Toolkit([read_file])

    def objects() -> tuple[BaseTool, ...]:
        return (Shout(),)

    def texts() -> list[str]:
        return []

    def unresolvable() -> list[Missing]:  # pyright: ignore[reportUndefinedVariable] # noqa: F821
        return []

    assert all(makes_tools(function) for function in (listed, kit, objects))
    others: list[object] = [
        texts,
        unresolvable,
        plain,
        read_file,
        Shout,
        Shout(),
        lambda: [read_file],
        "text",
        [listed],
    ]
    assert not any(makes_tools(other) for other in others)


def test_a_name_is_a_built_in_tool(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kit = Toolkit(["calculator", "files", "datetime"])
    assert {"calculator", "read_file", "datetime"} <= set(kit.names)
    assert "write_file" not in kit.names
    with pytest.raises(ConfigError, match="there is no built-in tool 'calculater'; did you mean 'calculator'"):
        Toolkit(["calculater"])
    with pytest.raises(ConfigError, match=r"'url'.*In Python: builtin\('sql', url=...\)"):
        Toolkit(["sql"])
    with pytest.raises(ConfigError, match=r"tools is a list: write tools=\['calculator'\]"):
        toolkit_of("calculator")
