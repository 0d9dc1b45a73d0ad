"""The format of documents that describe agents, and reading them with errors that say where and what to change."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta, Struct

from treadle._safety.data import DataError, decode_json, decode_yaml, read_text
from treadle._tools.mcp.auth.settings import McpAuth
from treadle._types.errors import ConfigError, nearest

VERSION = 1
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


Path = tuple[str | int, ...]
"""Where something stands in a document: keys and indices from the top."""


class Problem(Struct, frozen=True):
    """An error of a document, and its path."""

    path: Path
    text: str

    def __str__(self) -> str:
        return f"{shown(self.path)}: {self.text}" if self.path else self.text


def shown(path: Path) -> str:
    """A path as errors write it: `$.components['Agent:A'].obj.params.tools[0]`."""
    parts = [f".{part}" if isinstance(part, str) and part.isidentifier() else f"[{part!r}]" for part in path]
    return "$" + "".join(parts)


class ToolRef(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A tool by the name of its component, with its parameters; `Agent` nests another agent as a tool."""

    component_name: str
    """A built-in tool (`calculator`, `Retrieval`), `Agent`, or `External`: a tool whose calls the caller executes."""
    params: dict[str, Any] = {}
    """The parameters of the tool, or those of the agent."""
    id: str = ""
    """Another name for the tool, when there are several of a kind."""


class McpRef(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Tools of an MCP server named under `mcp_servers`: those listed, or all when none are."""

    mcp_id: str
    """A name under `mcp_servers`."""
    tools: dict[str, Any] = {}
    """The names of the tools to offer."""


class Prompt(Struct, frozen=True, forbid_unknown_fields=True):
    role: Literal["user", "assistant", "system"]
    """Who says it; `system` prompts are instructions."""
    content: str
    """The text, with references in double braces."""


class AgentParams(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    llm_id: str = ""
    """The model: `gpt-4o@OpenAI` or `openai:gpt-4o`."""
    sys_prompt: str = ""
    """The system prompt."""
    prompts: tuple[Prompt, ...] = (Prompt("user", "{{sys.query}}"),)
    """What the agent is asked. `{{sys.query}}` is the question, `{{Component:Id@content}}` a component's output."""
    max_rounds: Annotated[int, Meta(ge=0)] | None = None
    """The setting `max_iterations`, without the last one, in which the answer is written."""
    preset: str = "reflective"
    """An agent of a document analyses its task and reflects on results; the short form of a document has `default`."""
    settings: dict[str, Any] = {}
    """Any setting by its name."""
    tools: tuple[ToolRef, ...] = ()
    """The tools of the agent."""
    mcp: tuple[McpRef, ...] = ()
    """Tools of MCP servers."""
    description: str = ""
    """What the agent does, for an agent that has it as a tool."""
    user_prompt: str = ""
    """The default request, when the agent is a tool of another agent."""
    temperature: Annotated[float, Meta(ge=0)] | None = None
    """The setting of that name."""
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    """The setting of that name."""
    cite: bool = True
    """Whether the answer names the passages it rests on."""
    message_history_window_size: Annotated[int, Meta(ge=0)] | None = None
    """How many messages of the conversation the agent sees, the question included; all of them when not set."""
    output_schema: dict[str, Any] = {}
    """A JSON Schema of the answer, whose fields are references: `{{Agent:Id@structured.field}}`."""


class Obj(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    component_name: str
    """The kind of component: `Begin`, `Agent`, `Message`, one that leads the way (`Categorize`, `Switch`, `Iteration`,
    `UserFillUp`, ...), or a tool that is called without a model."""
    params: dict[str, Any] = {}
    """For an `Agent` the fields of `AgentParams`, for a tool its arguments, for a `Message` its `content`."""


class Component(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    obj: Obj
    """What it is."""
    downstream: tuple[str, ...] = ()
    """The components that come after it."""
    upstream: tuple[str, ...] = ()
    """The components that come before it; one of the two directions is enough."""
    parent_id: str = ""
    """The `Iteration` that it is a part of."""


class McpServer(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A server that is started by a command, or reached at a URL.

    `variables` replace `{name}` in args, env, headers, url, roots and the texts of auth.
    """

    command: str = ""
    """The program to start."""
    args: tuple[str, ...] = ()
    """Its arguments."""
    env: dict[str, str] = {}
    """Its environment variables."""
    url: str = ""
    """The address of a server that runs already."""
    transport: Literal["auto", "http", "sse", "stdio"] = "auto"
    """How to talk to it."""
    headers: dict[str, str] = {}
    """Headers of each request."""
    variables: dict[str, str] = {}
    """Values for names in braces."""
    timeout: float = 30.0
    """Seconds that a call may take."""
    roots: tuple[str, ...] = ()
    """Folders that the server is told to work in."""
    sampling: bool = False
    """The server may ask the run's model, on record and within the budget of the run."""
    elicitation: bool = False
    """The server may ask whoever approves the run's calls."""
    log_level: Literal["", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] = ""
    """From which level on its log messages are wanted."""
    auth: McpAuth | None = None
    """How to authorize at the URL, where `treadle mcp login` is not enough."""


class Document(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    components: dict[str, Component]
    """The components by their ids."""
    version: int = VERSION
    """The version of this format."""
    name: str = "agent"
    """The name of the whole."""
    mcp_servers: dict[str, McpServer] = {}
    """MCP servers by the names that agents use for them."""
    knowledge_bases: dict[str, str] = {}
    """Knowledge base id to the path of its file."""
    globals: dict[str, Any] = {}
    """Variables of a run and their first values, by name: `{{env.tone}}` is that of `env.tone`."""


def read_document(path: str | FilePath) -> Document:
    """A document from a JSON or YAML file."""
    file = FilePath(path)
    try:
        text = read_text(file)
    except (OSError, DataError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from None
    return parse_document(_plain(text, file.suffix.lower(), str(file)), where=str(file))


def parse_document(data: Any, *, where: str = "the document", env: Mapping[str, str] | None = None) -> Document:
    """A document from plain data. A mapping of components, or one `agent`, is accepted as a whole document."""
    if not isinstance(data, dict):
        raise ConfigError(f"{where}: expected a mapping of components at the top level")
    plain = cast(dict[str, Any], _expand(data, os.environ if env is None else env, "$", where))
    if "agent" in plain and "components" not in plain:
        agent = plain.pop("agent")
        if isinstance(agent, dict):
            agent = {"preset": "default", **cast(dict[str, Any], agent)}
        plain["components"] = {"Agent:Main": {"obj": {"component_name": "Agent", "params": agent}}}
    elif "components" not in plain:
        plain = {"components": plain}
    document = convert(plain, Document, where)
    if document.version != VERSION:
        raise ConfigError(
            f"{where}: unsupported version {document.version}; this version of Treadle reads version {VERSION}"
        )
    _check_links(document, where)
    return document


def convert(data: Any, kind: type[Any], where: str) -> Any:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {_explain(str(error), kind)}") from None
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def json_schema() -> dict[str, Any]:
    """The JSON Schema of documents, for editors."""
    schema = msgspec.json.schema(Document)
    schema["$defs"] = {
        **schema.get("$defs", {}),
        **msgspec.json.schema_components([AgentParams], ref_template="#/$defs/{name}")[1],
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Treadle agent document", **schema}


def _plain(text: str, suffix: str, where: str) -> Any:
    yaml = suffix in (".yaml", ".yml")
    try:
        return decode_yaml(text) if yaml else decode_json(text)
    except DataError as error:
        raise ConfigError(f"{where} cannot be read as {'YAML' if yaml else 'JSON'}: {error}") from None


def _expand(value: Any, env: Mapping[str, str], path: str, where: str) -> Any:
    """Replaces `${NAME}` and `${NAME:-default}` in all texts. Without a default the variable must be set."""
    if isinstance(value, str):

        def replacement(match: re.Match[str]) -> str:
            name, default = match.group(1), match.group(2)
            if name in env:
                return env[name]
            if default is None:
                raise ConfigError(
                    f"{where}: {path} needs the environment variable {name}, which is not set; "
                    f"set it or write ${{{name}:-default}}"
                )
            return default

        return _VARIABLE.sub(replacement, value)
    if isinstance(value, dict):
        return {
            str(key): _expand(item, env, f"{path}.{key}", where) for key, item in cast(dict[Any, Any], value).items()
        }
    if isinstance(value, list):
        return [_expand(item, env, f"{path}[{index}]", where) for index, item in enumerate(cast(list[Any], value))]
    return value


def _explain(message: str, kind: type[Any]) -> str:
    unknown = re.search(r"unknown field `([^`]+)`", message)
    if not unknown:
        return message
    fields: list[str] = [field for part in (kind, *_PARTS) for field in part.__struct_fields__]
    matches: list[str] = difflib.get_close_matches(unknown.group(1), fields, 1)
    return message + (f"; did you mean `{matches[0]}`?" if matches else "")


_PARTS = (Component, Obj, AgentParams, ToolRef, McpRef, McpServer, Prompt)


def _check_links(document: Document, where: str) -> None:
    """Every name in `upstream` and `downstream` exists; a link may be given on either side."""
    names = document.components
    for name, component in names.items():
        for side in ("downstream", "upstream"):
            others = cast(tuple[str, ...], getattr(component, side))
            for other in (*others, *((component.parent_id,) if component.parent_id and side == "upstream" else ())):
                if other not in names:
                    place = f"$.components[{name!r}].{side}"
                    raise ConfigError(
                        f"{where}: {place} names {other!r}, which does not exist; {nearest(other, names)}"
                    )
