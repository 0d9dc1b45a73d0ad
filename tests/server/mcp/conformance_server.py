"""The server the conformance suite drives: what it asks for, made of tools, resources and prompts of ours."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from treadle import Artifact, McpPeer, McpPrompt, McpResource, Tool, ToolContext, ToolError, Toolkit, ToolResponse, tool
from treadle._server.mcp.server import make_server, serve_http
from treadle.messages import AudioPart, ImagePart, TextPart

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="
Peer = ToolContext[McpPeer]


@tool
def test_simple_text() -> str:
    """Text."""
    return "This is a simple text response for testing."


@tool
def test_image_content() -> ToolResponse:
    """An image."""
    return ToolResponse([ImagePart(data=PNG, mime="image/png")])


@tool
def test_audio_content() -> ToolResponse:
    """Sound."""
    return ToolResponse([AudioPart(data=WAV, mime="audio/wav")])


@tool
def test_embedded_resource() -> ToolResponse:
    """A resource."""
    return ToolResponse([Artifact("embedded.txt", "This is an embedded resource content.", "text/plain")])


@tool
def test_multiple_content_types() -> ToolResponse:
    """Of each kind one."""
    data = Artifact("mixed.json", '{"test":"data","value":123}', "application/json")
    return ToolResponse([TextPart("Multiple content types test:"), ImagePart(data=PNG, mime="image/png"), data])


@tool
async def test_tool_with_logging(context: Peer) -> str:
    """Logs."""
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.deps.log("info", text)
        await asyncio.sleep(0.05)
    return "logged"


@tool
def test_error_handling() -> str:
    """Fails."""
    raise ToolError("This tool intentionally returns an error for testing")


@tool
async def test_tool_with_progress(context: Peer) -> str:
    """Takes a while."""
    for done in (0, 50, 100):
        await context.deps.progress(done, 100)
        await asyncio.sleep(0.05)
    return "done"


@tool
async def test_sampling(context: Peer, prompt: str) -> str:
    """Asks the client's model."""
    return f"LLM response: {await context.deps.sample(prompt, 100)}"


async def asked(context: Peer, message: str, properties: dict[str, Any], required: list[str]) -> str:
    schema = {"type": "object", "properties": properties, "required": required}
    answer = await context.deps.ask(message, schema)
    action = "decline" if answer is None else "accept"
    return f"Elicitation completed: action={action}, content={json.dumps(dict(answer or {}))}"


@tool
async def test_elicitation(context: Peer, message: str) -> str:
    """Asks the client's user."""
    fields = {name: {"type": "string", "description": f"User's {name}"} for name in ("username", "email")}
    return await asked(context, message, fields, ["username", "email"])


@tool
async def test_elicitation_sep1034_defaults(context: Peer) -> str:
    """Asks with defaults."""
    fields = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await asked(context, "defaults", fields, [])


@tool
async def test_elicitation_sep1330_enums(context: Peer) -> str:
    """Asks with choices."""
    options, titled = ["option1", "option2", "option3"], [{"const": f"value{n}", "title": f"Title {n}"} for n in "123"]
    fields = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await asked(context, "choices", fields, [])


@tool
async def test_reconnection(context: Peer) -> str:
    """Closes the stream it answers on; the client takes it up again."""
    await context.deps.close_stream()
    await asyncio.sleep(0.1)
    return "Reconnection test completed"


ADDRESS = {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": ADDRESS},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
SCHEMA_TOOL = Tool("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", SCHEMA, lambda **args: "ok")

RESOURCES = [
    McpResource(
        uri="test://static-text",
        name="text",
        description="Text.",
        read=lambda: "This is the content of the static text resource.",
    ),
    McpResource(
        uri="test://static-binary",
        name="binary",
        description="An image.",
        mime="image/png",
        read=lambda: __import__("base64").b64decode(PNG),
    ),
    McpResource(
        uri="test://template/{id}/data",
        name="template",
        description="By id.",
        mime="application/json",
        read=lambda id: json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"}),
    ),
    McpResource(uri="test://watched-resource", name="watched", description="Changes.", read=lambda: "watched"),
]


def embedded(resourceUri: str) -> list[Any]:
    part = Artifact(resourceUri, "Embedded resource content for testing.", "text/plain")
    return [part, "Please process the embedded resource above."]


PROMPTS = [
    McpPrompt(name="test_simple_prompt", description="Simple.", render=lambda: "This is a simple prompt for testing."),
    McpPrompt(
        name="test_prompt_with_arguments",
        description="With arguments.",
        arguments={"arg1": "First test argument", "arg2": "Second test argument"},
        render=lambda arg1, arg2: f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'",
    ),
    McpPrompt(
        name="test_prompt_with_embedded_resource",
        description="With a resource.",
        arguments={"resourceUri": "URI of the resource to embed"},
        render=embedded,
    ),
    McpPrompt(
        name="test_prompt_with_image",
        description="With an image.",
        render=lambda: [ImagePart(data=PNG, mime="image/png"), "Please analyze the image above."],
    ),
]


def main() -> None:
    tools = [value for name, value in globals().items() if name.startswith("test_")]
    server = make_server(Toolkit([*tools, SCHEMA_TOOL]), "conformance", resources=RESOURCES, prompts=PROMPTS)
    asyncio.run(serve_http(server, 0, lambda address: print(address, flush=True)))


if __name__ == "__main__":
    main()
