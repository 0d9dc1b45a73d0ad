"""Operations of OpenAPI documents as tools, against a service on loopback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from kit import call, go, row
from tools.builtin.loopback import serving
from treadle import Agent, ConfigError, ScriptedModel, Toolkit, builtin
from treadle._tools.builtin.services.openapi import openapi

ITEM = {"$ref": "#/components/schemas/Item"}
DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Shop"},
    "servers": [{"url": "https://{region}.shop.example/v1", "variables": {"region": {"default": "eu"}}}],
    "security": [{"key": []}],
    "components": {
        "securitySchemes": {
            "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
            "query": {"type": "apiKey", "in": "query", "name": "key"},
            "token": {"type": "http", "scheme": "bearer"},
            "basic": {"type": "http", "scheme": "basic"},
        },
        "parameters": {"Limit": {"in": "query", "name": "limit", "schema": {"type": "integer", "minimum": 0}}},
        "schemas": {
            "Item": {
                "type": "object",
                "properties": {
                    "example": {"type": "string", "nullable": True},
                    "price": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
                    "parts": {"type": "array", "items": ITEM},
                },
                "required": ["price"],
            }
        },
    },
    "paths": {
        "/items/{id}": {
            "parameters": [{"in": "path", "name": "id", "required": True, "schema": {"type": "string"}}],
            "get": {
                "operationId": "getItem",
                "summary": "Read an item.",
                "parameters": [
                    {"$ref": "#/components/parameters/Limit"},
                    {"in": "query", "name": "tag", "schema": {"type": "array", "items": {"type": "string"}}},
                    {"in": "query", "name": "id", "explode": False, "schema": {"type": "array"}},
                    {"in": "header", "name": "X-Trace", "schema": {"type": "string"}},
                    {"in": "header", "name": "Host", "schema": {"type": "string"}},
                ],
            },
            "put": {
                "operationId": "put item!",
                "requestBody": {"required": True, "content": {"application/json": {"schema": ITEM}}},
                "security": [{"token": []}],
            },
            "delete": {"security": [{"basic": [], "query": []}]},
        },
        "/login": {
            "post": {
                "operationId": "login",
                "security": [],
                "requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}}},
            }
        },
        "/upload": {"post": {"requestBody": {"content": {"multipart/form-data": {}}}}},
    },
}


def test_operations_are_tools():
    tools = {tool.name: tool for tool in openapi(DOCUMENT)}
    assert list(tools) == ["getItem", "put_item", "delete_items_id", "login"]
    assert [tool.effect for tool in tools.values()] == ["pure", "unsafe", "unsafe", "unsafe"]
    assert all(tool.marked_unsafe == (tool.effect == "unsafe") for tool in tools.values())
    assert {tool.untrusted for tool in tools.values()} == {"eu.shop.example"}
    read, write = tools["getItem"], tools["put_item"]
    assert read.description == "Read an item"
    assert list(read.parameters["properties"]) == ["id", "limit", "tag", "id_2", "X-Trace"]
    assert read.parameters["required"] == ["id"]
    item = write.parameters["$defs"]["Item"]
    assert item["properties"]["example"] == {"type": ["string", "null"]}
    assert item["properties"]["price"] == {"type": "number", "exclusiveMinimum": 0}
    assert item["properties"]["parts"]["items"] == {"$ref": "#/$defs/Item"}


def run(*calls: dict[str, Any], pages: dict[str, Any] | None = None, **options: Any) -> tuple[list[str], list[Any]]:
    """The observations of these calls by an agent, and the requests that arrived."""

    async def work() -> tuple[list[str], list[Any]]:
        async with serving(pages or {"*": {"fine": True}}) as site:
            kit = builtin("openapi", document=DOCUMENT, server=f"{site.url}/v1", **options)
            agent = Agent(ScriptedModel([*calls, "Done."]), kit)
            result = await agent.run("Go.")
            return [step.observation for step in result.steps], site.requests

    return go(work())


def test_requests_have_the_arguments_where_they_belong(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHOP_KEY", "k1")
    args = {"id": "a/../b?c", "limit": 3, "tag": ["x", "y&z"], "id_2": [1, 2], "X-Trace": "t"}
    seen, (request,) = run(call("getItem", **args), auth="SHOP_KEY")
    assert seen == ['{"fine": true}']
    assert (request.method, request.path) == ("GET", "/v1/items/a/../b?c")
    assert request.query == {"limit": "3", "tag": "x", "id": "1,2"}
    assert (request.headers["x-key"], request.headers["x-trace"]) == ("k1", "t")
    assert request.headers["host"].startswith("127.0.0.1")


def test_bodies_and_other_keys(monkeypatch: pytest.MonkeyPatch):
    for name in ("TOKEN", "QUERY", "BASIC"):
        monkeypatch.setenv(f"SHOP_{name}", f"{name.lower()}:x")
    auth = {"token": "SHOP_TOKEN", "query": "SHOP_QUERY", "basic": "SHOP_BASIC"}
    item = {"price": 4.5, "parts": [{"price": 1}]}
    calls = [
        call("put_item", id="1", body=item),
        call("delete_items_id", id="1"),
        call("login", body={"name": "a b", "keep": True}),
    ]
    seen, (put, delete, login) = run(*calls, auth=auth)
    assert len(seen) == 3
    assert (put.method, json.loads(put.body), put.headers["authorization"]) == ("PUT", item, "Bearer token:x")
    assert delete.query == {"key": "query:x"}
    assert delete.headers["authorization"] == "Basic YmFzaWM6eA=="
    assert (login.body, "authorization" in login.headers) == (b"name=a+b&keep=true", False)


def test_what_is_refused_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHOP_KEY", "k1")
    calls = [call("getItem", id=".."), call("getItem"), call("put_item", id="1", body={"price": 0})]
    seen, requests = run(*calls, auth="SHOP_KEY")
    assert not requests
    assert ["cannot be" in seen[0], "id" in seen[1], "price" in seen[2]] == [True, True, True]
    seen, requests = run(call("getItem", id="1"))
    assert not requests
    assert "auth=" in seen[0]
    seen, requests = run(call("getItem", id="1"), auth="SHOP_MISSING")
    assert "set SHOP_MISSING" in seen[0]


def test_failures_are_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHOP_KEY", "k1")
    pages = {"*": lambda request: web.Response(status=418, text="short and stout")}
    seen, _ = run(call("getItem", id="1"), pages=pages, auth="SHOP_KEY")
    assert "418: short and stout" in seen[0]
    pages = {"*": lambda request: web.Response(status=302, headers={"Location": "http://10.0.0.1/"})}
    seen, _ = run(call("getItem", id="1"), pages=pages, auth="SHOP_KEY")
    assert "not a public address" in seen[0]


def test_a_document_cannot_send_us_to_private_addresses():
    hostile = {**DOCUMENT, "security": [], "servers": [{"url": "http://169.254.169.254"}]}
    agent = Agent(ScriptedModel([call("getItem", id="1"), "Done."]), Toolkit.of(hostile))
    assert "not a public address" in go(agent.run("Go.")).steps[0].observation


def test_from_a_file(tmp_path: Path):
    (tmp_path / "shop.json").write_text(json.dumps(DOCUMENT), "utf-8")
    (tmp_path / "shop.yaml").write_text(json.dumps(DOCUMENT), "utf-8")
    for name in ("shop.json", "shop.yaml"):
        assert len(openapi(tmp_path / name, operations=["login", "getItem"])) == 2


def test_what_cannot_be_used_is_said():
    for document, options, problem in (
        ({"swagger": "2.0"}, {}, "no OpenAPI 3 document"),
        ({**DOCUMENT, "servers": []}, {}, "server="),
        ({**DOCUMENT, "servers": [{"url": "file:///etc"}]}, {}, "server="),
        (DOCUMENT, {"operations": ["drop"]}, "expected one of: getItem"),
        (DOCUMENT, {"most": 2}, "4 operations are too many"),
        ("missing.json", {}, r"missing\.json cannot be read"),
    ):
        with row(document, options, problem), pytest.raises(ConfigError, match=problem):
            openapi(document, **options)


@pytest.mark.parametrize("odd", [None, 5, "x", [5], {"$ref": "#/paths"}, {"$ref": "https://evil.example/x"}])
def test_hostile_documents(odd: Any):
    operation = {"operationId": odd, "summary": odd, "parameters": [odd, {"in": "query", "name": "q", "schema": odd}]}
    paths = {
        "/x": {"get": operation, "put": {**operation, "requestBody": odd, "security": odd}, "post": [odd]},
        "y": odd,
    }
    document = {**DOCUMENT, "components": odd, "paths": paths}
    assert len(Toolkit(openapi(document))) == 2
    loop = {"$ref": "#/components/parameters/A"}
    document = {**DOCUMENT, "components": {"parameters": {"A": loop}}, "paths": {"/x": {"get": {"parameters": [loop]}}}}
    assert len(Toolkit.of(document)) == 1
