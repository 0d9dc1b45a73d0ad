"""Reads an exported workflow of the described system into a document of ours, and reports what became of each part.

Nothing is guessed silently: what has no counterpart is named in the report with the reason, and where the workflow
could not do what it says without it, the import is refused.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle._config.build import BUILTIN_BY_COMPONENT
from treadle._config.components import Input
from treadle._config.scope import parsed
from treadle._models.catalog.registry import check_model_name
from treadle._models.scripted import ScriptedModel
from treadle._safety.data import decode_json, read_text
from treadle._tools.builtin.knowledge.base import KnowledgeBase
from treadle._types.errors import ConfigError

_REFERENCE = re.compile(r"\{{1,2}\s*((?:sys|env)\.[\w.]+|[A-Za-z][\w:-]*@[\w.-]+)\s*\}{1,2}")
_VARIABLE = re.compile(r"\$(?=\{[A-Za-z_])")
_INGESTION = {
    "file", "parser", "tokenizer", "tokenchunker", "titlechunker", "splitter", "hierarchicalmerger", "extractor",
}  # fmt: skip
_KINDS = (
    "begin", "message", "agent", "llm", "categorize", "switch", "variableaggregator", "variableassigner", "iteration",
    "iterationitem", "userfillup", "stringtransform", "invoke", "codeexec",
)  # fmt: skip
"""Kinds that are translated by the method of their name; any other is a tool."""
_NO_COUNTERPART = "there is no such parameter here"
_AGENT_KEPT = (
    "llm_id",
    "sys_prompt",
    "max_rounds",
    "description",
    "user_prompt",
    "cite",
    "message_history_window_size",
)
_AGENT_DROPPED = {
    "top_p": "sampling is set by the temperature alone",
    "presence_penalty": "sampling is set by the temperature alone",
    "frequency_penalty": "sampling is set by the temperature alone",
    "max_retries": "failed requests are repeated as the setting `retry` says",
    "delay_after_error": "failed requests are repeated as the setting `retry` says",
    "exception_method": "a component that fails ends the run with what there is",
    "exception_goto": "a component that fails ends the run with what there is",
    "exception_comment": "a component that fails ends the run with what there is",
    "exception_default_value": "a component that fails ends the run with what there is",
}
_DISPLAY = {
    "outputs", "parameter", "llm_filter", "tenant_llm_id", "showStructuredOutput", "mode", "enable_tips",
    "enablePrologue",
}  # fmt: skip
"""What an editor keeps for itself: it changes nothing of what runs."""


class Imported(Struct):
    """A document, and what became of the parts of the workflow."""

    document: dict[str, Any]
    taken: list[str] = []
    translated: list[str] = []
    dropped: list[str] = []
    bases: list[str] = []
    """Knowledge bases to make, by their paths: the workflow names them, and their documents are not in it."""
    databases: list[str] = []
    """Databases to make, by their paths."""

    def report(self) -> str:
        groups = (("kept", self.taken), ("translated", self.translated), ("dropped", self.dropped))
        return "\n".join(f"{title}: {line}" for title, lines in groups for line in lines)


def import_file(source: Path, target: Path, *, model: str = "") -> Imported:
    """Write the document of an exported workflow, and the empty bases it names. What would not load is not written."""
    from treadle._config import load_agent

    imported = import_workflow(decode_json(read_text(source)), name=source.stem, model=model, where=str(source))
    with TemporaryDirectory() as folder:
        draft = _written(imported, Path(folder) / target.name)
        try:
            load_agent(draft, model=ScriptedModel([]))
        except ConfigError as error:
            problem = str(error).replace(f"{draft}: ", "")
            raise ConfigError(f"{source}: what it describes does not load: {problem}") from None
    _written(imported, target)
    return imported


def _written(imported: Imported, target: Path) -> Path:
    target.write_bytes(msgspec.json.format(msgspec.json.encode(imported.document), indent=2))
    for path in imported.bases:
        KnowledgeBase(target.parent / path).documents()
    for path in imported.databases:
        with closing(sqlite3.connect(target.parent / path)):
            pass
    return target


def import_workflow(data: Any, *, name: str, model: str = "", where: str = "the file") -> Imported:
    """Translate an exported workflow; `ConfigError` in one line when it cannot be one of our documents."""
    outer = _mapping(data)
    workflow = _mapping(outer.get("dsl", outer))
    if not _mapping(workflow.get("components")):
        raise ConfigError(f"{where}: this is no exported workflow: it has no components")
    importer = _Importer(workflow, name, model, where)
    try:
        return importer.imported()
    except ConfigError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:  # of any other shape than what is exported
        why = f"{type(error).__name__}: {str(error)[:80]}"
        raise ConfigError(f"{where}: {importer.at} is not written as the system writes it ({why})") from error


class _Importer:
    def __init__(self, workflow: dict[str, Any], name: str, model: str, where: str) -> None:
        self.workflow, self.name, self.model, self.where = workflow, name, model, where
        self.components = cast("dict[str, dict[str, Any]]", workflow["components"])
        self.result = Imported({})
        self.bases: dict[str, str] = {}
        self.at = "a component"
        """What is being translated."""

    def imported(self) -> Imported:
        kinds = {self._kind(component) for component in self.components.values()}
        if not kinds & {"agent", "llm", "categorize"} or kinds & _INGESTION:
            raise ConfigError(
                f"{self.where}: this is an ingestion pipeline, which has no agent: make a knowledge base with "
                "`treadle kb add`"
            )
        made = {name: self._component(name, component) for name, component in self.components.items()}
        document: dict[str, Any] = {"version": 1, "name": self.name, "components": made}
        if self.bases:
            document["knowledge_bases"] = self.bases
        if values := self._globals():
            document["globals"] = values
        for part in sorted(self.workflow.keys() - {"components", "globals", "variables"}):
            if self.workflow[part]:
                self.result.dropped.append(f"{part}: the editor's, or of an earlier conversation")
        self.result.document = _literal(document)
        self.result.bases = list(self.bases.values())
        return self.result

    @staticmethod
    def _kind(component: dict[str, Any]) -> str:
        return str(component["obj"]["component_name"]).replace("_", "").replace(" ", "").lower()

    def _globals(self) -> dict[str, Any]:
        values: dict[str, Any] = {
            name: value for name, value in _mapping(self.workflow.get("globals")).items() if not name.startswith("sys.")
        }
        for name, entry in _mapping(self.workflow.get("variables")).items():
            value: Any = _mapping(entry).get("value") if isinstance(entry, dict) else entry
            values[name if name.startswith("env.") else f"env.{name}"] = value
        return values

    def _component(self, name: str, component: dict[str, Any]) -> dict[str, Any]:
        self.at = name
        kind, obj = self._kind(component), component["obj"]
        params = _mapping(obj.get("params"))
        kind_name = obj["component_name"]
        if kind in _KINDS:
            translate: Callable[[str, dict[str, Any]], dict[str, Any]] = getattr(self, f"_{kind}")
            made = translate(name, params)
        elif kind in BUILTIN_BY_COMPONENT:
            made = self._tool_component(name, kind, params)
        else:
            raise ConfigError(f"{self.where}: {name} is a {obj['component_name']}, which has no counterpart here")
        links = {
            side: list(dict.fromkeys(component.get(side) or ()))
            for side in ("downstream", "upstream")
            if component.get(side)
        }
        parent = {"parent_id": component["parent_id"]} if component.get("parent_id") else {}
        self.result.taken.append(f"{name} ({obj['component_name']})")
        return {"obj": {"component_name": "Agent" if kind == "llm" else kind_name, "params": made}, **links, **parent}

    # ---- values

    def _text(self, value: Any) -> Any:
        """A value with references in our form."""
        if isinstance(value, str):
            return _REFERENCE.sub(lambda match: f"{{{{{match.group(1)}}}}}", value)
        if isinstance(value, list):
            return [self._text(item) for item in cast("list[Any]", value)]
        if isinstance(value, dict):
            return {key: self._text(item) for key, item in cast("dict[str, Any]", value).items()}
        return value

    def _ref(self, value: Any, default: str = "sys.query") -> str:
        return str(value or default).strip().strip("{} ") or default

    def _drop(self, name: str, params: dict[str, Any], used: set[str], why: dict[str, str] | None = None) -> None:
        """Report the parameters that have no counterpart and are set to something."""
        for key in sorted(params.keys() - used - _DISPLAY):
            if params[key] not in (None, "", [], {}, False, 0):
                self.result.dropped.append(
                    f"{name}: {key} = {str(params[key])[:60]!r}: {(why or {}).get(key, _NO_COUNTERPART)}"
                )

    def _inputs(self, params: dict[str, Any]) -> dict[str, Any]:
        names = Input.__struct_fields__
        kinds = ("line", "paragraph", "options", "integer", "number", "boolean", "file")
        fields: dict[str, Any] = {}
        for key, entry in _mapping(params.get("inputs")).items():
            field = {name: value for name, value in entry.items() if name in names and value not in (None, "", [])}
            field["type"] = field["type"] if field.get("type") in kinds else "line"
            field["options"] = [str(option) for option in field.get("options", ())]
            fields[key] = field
        return fields

    # ---- kinds

    def _begin(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        self._drop(name, params, {"prologue", "inputs"})
        inputs = self._inputs(params)
        prologue = str(params.get("prologue") or "") if params.get("enablePrologue", True) else ""
        return {**({"prologue": prologue} if prologue else {}), **({"inputs": inputs} if inputs else {})}

    def _message(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        self._drop(name, params, {"content"})
        return {"content": self._text(params.get("content") or [])}

    def _agent(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        made = {key: self._text(params[key]) for key in _AGENT_KEPT if params.get(key) not in (None, "")}
        made |= self._model(name, made.pop("llm_id", ""))
        listed: Any = params.get("prompts")
        prompts = [{"role": "user", "content": listed}] if isinstance(listed, str) else _rows(listed)
        made["prompts"] = self._text(
            [{"role": one["role"], "content": one["content"]} for one in prompts if one.get("content")]
        ) or [{"role": "user", "content": "{{sys.query}}"}]
        for key in ("temperature", "max_tokens"):
            camel = "temperatureEnabled" if key == "temperature" else "maxTokensEnabled"
            if params.get(key) is not None and params.get(camel, True):
                made[key] = params[key]
        structured = _mapping(_mapping(params.get("outputs")).get("structured"))
        if "properties" in structured:
            made["output_schema"] = structured
        tools = [tool for ref in _rows(params.get("tools")) if (tool := self._agent_tool(name, ref)) is not None]
        if tools:
            made["tools"] = tools
        for ref in _rows(params.get("mcp")):
            self.result.dropped.append(f"{name}: the MCP server {ref.get('mcp_id')}: add it under `mcp_servers`")
        if params.get("visual_files_var"):
            self.result.translated.append(f"{name}: visual_files_var: images of the question go to every agent")
        switches = {key for key in params if key.endswith("Enabled")}
        used = {*_AGENT_KEPT, *switches, "prompts", "temperature", "max_tokens", "tools", "mcp", "visual_files_var"}
        off = {key for key in ("top_p", "presence_penalty", "frequency_penalty") if not params.get(_switch(key), True)}
        self._drop(name, params, used | off, _AGENT_DROPPED)
        return made

    _llm = _agent

    def _model(self, name: str, spec: Any) -> dict[str, str]:
        """The model of an agent; none, with a line of the report, where it names none that there is here."""
        try:
            check_model_name(chosen := self.model or str(spec or ""))
        except ConfigError as error:
            if self.model:
                raise
            why = str(error) if spec else "it names no model"
            self.result.dropped.append(f"{name}: {why}: add llm_id, or import with --model")
            return {}
        return {"llm_id": chosen}

    def _agent_tool(self, name: str, ref: dict[str, Any]) -> dict[str, Any] | None:
        kind = str(ref["component_name"]).replace("_", "").replace(" ", "").lower()
        params = _mapping(ref.get("params"))
        if kind == "agent":
            made = self._agent(str(ref.get("id") or ref.get("name") or name), params)
            return {"component_name": "Agent", "id": str(ref.get("name") or ref.get("id") or ""), "params": made}
        if kind not in BUILTIN_BY_COMPONENT:
            self.result.dropped.append(f"{name}: the tool {ref['component_name']}: there is no such tool here")
            return None
        made = self._tool(f"{name}: {ref['component_name']}", kind, params)
        return {"component_name": ref["component_name"], "params": made}

    def _tool_component(self, name: str, kind: str, params: dict[str, Any]) -> dict[str, Any]:
        made = self._tool(name, kind, params)
        asked = params.get("sql") or params.get("query")
        text = self._text(asked) if isinstance(asked, str) and "{" in asked else f"{{{{{self._ref(asked)}}}}}"
        return {**made, "arguments": {"query": text}}

    def _tool(self, name: str, kind: str, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters of a tool of ours."""
        if BUILTIN_BY_COMPONENT[kind] == "retrieval":
            return self._retrieval_tool(name, params)
        if BUILTIN_BY_COMPONENT[kind] == "sql":
            path = f"{self.name}.sqlite"
            self.result.databases.append(path)
            database = params.get("database") or "its database"
            self.result.translated.append(f"{name}: {database} is the empty file {path} here: set `url` to yours")
            login = {"database", "db_type", "host", "port", "username", "password"}
            self._drop(name, params, {"sql", "max_records", *login})
            return {"url": path, "max_rows": int(params.get("max_records") or 100)}
        self._drop(name, params, {"query"})
        return {}

    def _retrieval_tool(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        ids = [self._ref(kb, "") for kb in cast("list[Any]", params.get("kb_ids") or [])] or ["knowledge"]
        for kb in ids:
            if kb not in self.bases:
                self.bases[kb] = f"{self.name}.kb/{re.sub(r'[^A-Za-z0-9_.-]', '_', kb)}.db"
                where = f"the empty file {self.bases[kb]} here: fill it with `treadle kb add`"
                self.result.translated.append(f"{name}: the knowledge base {kb} is {where}")
        made: dict[str, Any] = {"kb_ids": ids}
        if params.get("top_n"):
            made["k"] = int(params["top_n"])
        if params.get("similarity_threshold"):
            made["threshold"] = float(params["similarity_threshold"])
        if params.get("description"):
            made["about"] = str(params["description"])
        used = {"kb_ids", "top_n", "similarity_threshold", "description", "query", "top_k", "retrieval_from"}
        weights = "passages are found by words, and by an embedding with `embed`"
        self._drop(name, params, used, {"keywords_similarity_weight": weights, "rerank_id": "set `rerank`"})
        return made

    def _categorize(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        categories: dict[str, Any] = {}
        for title, entry in _mapping(params.get("category_description")).items():
            examples: Any = entry.get("examples") or []
            listed: list[Any] = [examples] if isinstance(examples, str) else list(examples)
            categories[title.strip()] = {
                "description": entry.get("description") or "",
                "examples": [str(_mapping(one).get("value", one)) for one in listed],
                "to": entry.get("to") or [],
            }
        made = {"category_description": categories, "query": self._ref(params.get("query"))}
        made |= self._model(name, params.get("llm_id"))
        if params.get("message_history_window_size") is not None:
            made["message_history_window_size"] = params["message_history_window_size"]
        if params.get("temperature") is not None:
            made["temperature"] = params["temperature"]
        self._drop(name, params, {*made, "llm_id"} | {key for key in params if key.endswith("Enabled")}, _AGENT_DROPPED)
        return made

    def _switch(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        conditions = [
            {
                "logical_operator": condition.get("logical_operator") or "and",
                "to": condition.get("to") or [],
                "items": [
                    {
                        "cpn_id": self._ref(item.get("cpn_id")),
                        "operator": item.get("operator") or "=",
                        "value": str(self._text(item.get("value")) or ""),
                    }
                    for item in _rows(condition.get("items"))
                ],
            }
            for condition in _rows(params.get("conditions"))
        ]
        self._drop(name, params, {"conditions", "end_cpn_ids"})
        return {"conditions": conditions, "end_cpn_ids": params.get("end_cpn_ids") or []}

    def _variableaggregator(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        groups = [
            {
                "group_name": group["group_name"],
                "variables": [{"value": self._ref(one.get("value"))} for one in _rows(group.get("variables"))],
            }
            for group in _rows(params.get("groups"))
        ]
        self._drop(name, params, {"groups"})
        return {"groups": groups}

    def _variableassigner(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        variables = [
            {
                "variable": self._ref(one.get("variable")),
                "operator": one.get("operator") or "overwrite",
                "parameter": self._text(one.get("parameter")),
            }
            for one in _rows(params.get("variables"))
        ]
        self._drop(name, params, {"variables"})
        return {"variables": variables}

    def _iteration(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        outputs = {
            key: {"ref": self._ref(entry["ref"])}
            for key, entry in _mapping(params.get("outputs")).items()
            if _mapping(entry).get("ref")
        }
        self._drop(name, params, {"items_ref"})
        return {"items_ref": self._ref(params.get("items_ref")), "outputs": outputs}

    def _iterationitem(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        return {}

    def _userfillup(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        self._drop(name, params, {"tips", "inputs"})
        tips = self._text(params.get("tips") or "") if params.get("enable_tips", True) else ""
        return {"inputs": self._inputs(params), **({"tips": tips} if tips else {})}

    def _stringtransform(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        self._drop(name, params, {"method", "split_ref", "script", "delimiters"})
        made = {"method": params.get("method") or "merge", "delimiters": params.get("delimiters") or [","]}
        if params.get("split_ref"):
            made["split_ref"] = self._ref(params["split_ref"])
        if params.get("script"):
            script: Any = params["script"]
            lines = cast("list[Any]", script) if isinstance(script, list) else [script]
            made["script"] = self._text("".join(map(str, lines)))
        return made

    def _invoke(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        variables = {
            str(one.get("key")): self._text(f"{{{one['ref']}}}" if one.get("ref") else str(one.get("value") or ""))
            for one in _rows(params.get("variables"))
        }
        headers = _mapping(parsed(params.get("headers")))
        self._drop(name, params, {"url", "method", "headers", "variables", "timeout", "clean_html"})
        return {
            "url": self._text(params.get("url") or ""),
            "method": str(params.get("method") or "get").lower(),
            "headers": {str(key): str(self._text(value)) for key, value in headers.items()},
            "variables": variables,
            "timeout": float(params.get("timeout") or 60),
            "clean_html": bool(params.get("clean_html")),
        }

    def _codeexec(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        language = str(params.get("lang") or "python").lower()
        if language != "python":
            raise ConfigError(f"{self.where}: {name} is a program in {language}, and a component runs Python only")
        arguments = {key: f"{{{{{self._ref(ref)}}}}}" for key, ref in _mapping(params.get("arguments")).items()}
        self._drop(name, params, {"lang", "script", "arguments"})
        return {"script": str(params.get("script") or ""), "arguments": arguments}


def _literal(value: Any) -> Any:
    """A value whose texts stay as they are: what comes from elsewhere reads no environment variables."""
    if isinstance(value, dict):
        return {key: _literal(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_literal(item) for item in cast("list[Any]", value)]
    return _VARIABLE.sub("${AS_WRITTEN_IN_THE_WORKFLOW:-$}", value) if isinstance(value, str) else value


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _rows(value: Any) -> list[dict[str, Any]]:
    """The mappings of a list."""
    return [_mapping(one) for one in cast("list[Any]", value)] if isinstance(value, list) else []


def _switch(key: str) -> str:
    """The name of the switch that turns a parameter on: `topPEnabled` for `top_p`."""
    first, *rest = key.split("_")
    return first + "".join(part.capitalize() for part in rest) + "Enabled"
