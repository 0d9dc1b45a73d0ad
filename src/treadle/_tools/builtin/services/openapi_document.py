"""Reads an OpenAPI 3 document: its operations with their parameters as one schema of arguments.

A document is a stranger's text: references are followed inside of it only and a few steps deep, and what is not
understood is left out.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from itertools import count
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from treadle._models.transport.wire import as_dict, as_list, as_text
from treadle._tools.builtin.common import clip
from treadle._types.errors import ConfigError

METHODS = ("get", "head", "post", "put", "patch", "delete")
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
_PLACES = ("path", "query", "header")
_NOT_FOR_TOOLS = frozenset(
    {"accept", "authorization", "connection", "content-length", "content-type", "cookie", "host"}
)
_LEFT_OUT = frozenset({"nullable", "example", "examples", "xml", "discriminator", "externalDocs"})
_BY_NAME = frozenset({"properties", "patternProperties"})
_MAX_REFERENCES = 20


class Field(Struct, frozen=True):
    """Where an argument goes in a request."""

    name: str
    place: str
    """path | query | header | body"""
    explode: bool = True
    """A list is a parameter each, not one with commas."""


class Operation(Struct, frozen=True):
    """One operation of a document."""

    name: str
    description: str
    method: str
    path: str
    parameters: dict[str, Any]
    fields: dict[str, Field]
    """By the name of the argument."""
    body: str
    """The media type of its body; empty without one."""
    security: list[dict[str, Any]]
    """Alternatives; of each, all schemes by their names."""


class Document:
    """An OpenAPI 3 document."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._raw = dict(raw)
        version = as_text(self._raw.get("openapi"))
        if not version.startswith("3."):
            raise ConfigError(f"this is no OpenAPI 3 document (openapi: {version or self._raw.get('swagger')!r})")
        self.title = as_text(as_dict(self._raw.get("info")).get("title")) or "api"
        self.schemes = as_dict(self._components("securitySchemes"))

    def _components(self, kind: str) -> dict[str, Any]:
        return as_dict(as_dict(self._raw.get("components")).get(kind))

    @property
    def server(self) -> str:
        """The address of its first server, with the default values of its variables."""
        first = as_dict(next(iter(as_list(self._raw.get("servers"))), None))
        address = as_text(first.get("url"))
        for name, variable in as_dict(first.get("variables")).items():
            address = address.replace("{" + name + "}", as_text(as_dict(variable).get("default")))
        return address

    def operations(self) -> Iterator[Operation]:
        """Its operations. Those whose bodies are neither JSON nor forms are left out."""
        names: set[str] = set()
        for path, item in as_dict(self._raw.get("paths")).items():
            shared = self._resolved(item)
            for method in METHODS:
                if isinstance(details := shared.get(method), dict) and path.startswith("/"):
                    operation = self._operation(method, path, shared, as_dict(details))
                    if operation is not None:
                        names.add(name := _free(operation.name, names))
                        yield replace(operation, name=name[-64:])

    def _operation(self, method: str, path: str, shared: dict[str, Any], details: dict[str, Any]) -> Operation | None:
        stated = [
            self._resolved(each) for each in (*as_list(shared.get("parameters")), *as_list(details.get("parameters")))
        ]
        # The operation's own come last.
        merged = {(as_text(each.get("in")), as_text(each.get("name"))): each for each in stated}
        properties: dict[str, Any] = {}
        required: list[str] = []
        fields: dict[str, Field] = {}
        for (place, name), each in merged.items():
            if place not in _PLACES or not name or (place == "header" and name.lower() in _NOT_FOR_TOOLS):
                continue
            argument = _free(name, properties)
            described = {"description": each["description"]} if as_text(each.get("description")) else {}
            properties[argument] = {**as_dict(self._schema(each.get("schema"))), **described}
            fields[argument] = Field(name, place, each.get("explode") is not False)
            if each.get("required") is True or place == "path":
                required.append(argument)
        body = self._resolved(details.get("requestBody"))
        content = as_dict(body.get("content"))
        media = next((kind for kind in (JSON, FORM) if kind in content), "")
        media = media or next((kind for kind in content if kind.endswith("+json")), "")
        if content and not media:
            return None
        if media:
            argument = _free("body", properties)
            properties[argument] = as_dict(self._schema(as_dict(content[media]).get("schema")))
            fields[argument] = Field("body", "body")
            required += [argument] if body.get("required") is True else []
        words = (as_text(details.get("summary")), as_text(details.get("description") or shared.get("description")))
        security = details["security"] if "security" in details else self._raw.get("security")
        return Operation(
            re.sub(r"[^A-Za-z0-9_-]+", "_", as_text(details.get("operationId")) or f"{method}{path}").strip("_")[:64],
            clip(". ".join(dict.fromkeys(text.strip(". ") for text in words if text)), 600)
            or f"{method.upper()} {path}",
            method.upper(),
            path,
            self._with_definitions(
                {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
            ),
            fields,
            media,
            [as_dict(each) for each in as_list(security)],
        )

    def _resolved(self, value: Any) -> dict[str, Any]:
        """An object, or the one that its reference leads to."""
        for _ in range(_MAX_REFERENCES):
            pointer = as_dict(value).get("$ref")
            if pointer is None:
                return as_dict(value)
            parts = as_text(pointer).removeprefix("#/").split("/")
            value = self._raw if as_text(pointer).startswith("#/") else None
            for part in parts:
                value = as_dict(value).get(part.replace("~1", "/").replace("~0", "~"))
        return {}

    def _schema(self, value: Any) -> Any:
        """A schema of the document as plain JSON Schema, whose references name definitions beside it."""
        if isinstance(value, list):
            return [self._schema(each) for each in as_list(value)]
        if not isinstance(value, dict):
            return {} if value is None else value
        fields = as_dict(value)
        if (pointer := fields.get("$ref")) is not None:
            name = as_text(pointer).removeprefix("#/components/schemas/")
            return {"$ref": f"#/$defs/{name}"} if name in self._components("schemas") else {}
        nullable, kind = fields.get("nullable") is True, fields.get("type")
        schema = {name: self._keyword(name, each) for name, each in fields.items() if name not in _LEFT_OUT}
        for bound in ("Minimum", "Maximum"):  # OpenAPI 3.0 has them as flags
            if isinstance(flag := schema.get(f"exclusive{bound}"), bool):
                del schema[f"exclusive{bound}"]
                if flag and bound.lower() in schema:
                    schema[f"exclusive{bound}"] = schema.pop(bound.lower())
        return schema | {"type": [kind, "null"]} if nullable and isinstance(kind, str) else schema

    def _keyword(self, name: str, value: Any) -> Any:
        if name in _BY_NAME:
            return {key: self._schema(each) for key, each in as_dict(value).items()}
        return value if name in ("default", "enum", "const") else self._schema(value)

    def _with_definitions(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema with those definitions that it needs."""
        definitions: dict[str, Any] = {}
        waiting = _references(schema)
        while waiting:
            name = waiting.pop()
            if name not in definitions:
                definitions[name] = self._schema(self._components("schemas").get(name))
                waiting |= _references(definitions[name])
        return schema | ({"$defs": definitions} if definitions else {})


def _free(name: str, existing: Container[str]) -> str:
    """A name that is not taken."""
    numbered = (f"{name}_{number}" for number in count(2))
    return name if name not in existing else next(one for one in numbered if one not in existing)


def _references(value: Any) -> set[str]:
    if isinstance(value, list):
        return set[str]().union(*(_references(each) for each in as_list(value)))
    fields = as_dict(value)
    here = {as_text(fields["$ref"]).removeprefix("#/$defs/")} if as_text(fields.get("$ref")) else set[str]()
    return here.union(*(_references(each) for each in fields.values()))
