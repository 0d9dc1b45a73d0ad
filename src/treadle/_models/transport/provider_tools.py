"""Tools that run at the provider: how they are declared, and what is kept of what they did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from treadle._models.transport.wire import as_dict, as_list, as_text, encode
from treadle._types.errors import ConfigError
from treadle._types.request import ANSWERING, CONVERSATION, Citation, ProviderCall, Request

ProviderTool = str | Mapping[str, Any]
"""The name of a tool (`web_search`), or the provider's own declaration of one."""
MAX_SHOWN = 2_000
"""How much of an input or output is recorded; the provider's own form of it is kept whole for the next request."""


def declared(tools: Iterable[ProviderTool], forms: Mapping[str, Mapping[str, Any]], provider: str) -> list[Any]:
    """The tools in the provider's own form. `forms` has those that need no settings."""
    entries: list[Any] = []
    for tool in tools:
        if not isinstance(tool, str):
            entries.append(dict(tool))
        elif tool in forms:
            entries.append(dict(forms[tool]))
        else:
            names = ", ".join(forms) or "none"
            raise ConfigError(
                f"{provider} has no tool {tool!r} that needs no settings: those are {names}; another one is declared "
                "as the provider's own JSON object, such as "
                '{"type": "file_search", "vector_store_ids": ["vs_1"]}'
            )
    return entries


def wanted(request: Request) -> bool:
    """Tell whether a request belongs to the conversation: advisers (planner, judge) do not get the provider's tools."""
    return request.component in CONVERSATION or request.component in ANSWERING


def joined(own: bytes, tools: list[Any]) -> bytes:
    """A JSON array of tools, with the provider's own after ours: those never change, ours may."""
    if not tools:
        return own
    written = encode(tools)
    return written if own in (b"", b"[]") else own[:-1] + b"," + written[1:]


def shown(value: Any) -> str:
    """An input or output as text of bounded length."""
    text = value if isinstance(value, str) else encode(value).decode() if value else ""
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def of_anthropic(blocks: Iterable[dict[str, Any]]) -> tuple[tuple[ProviderCall, ...], tuple[Citation, ...]]:
    """Read the calls and citations of the provider's tools from the blocks of a message."""
    calls: dict[str, ProviderCall] = {}
    cited: list[Citation] = []
    for block in blocks:
        kind = as_text(block.get("type"))
        if kind == "server_tool_use":
            call_id, name = as_text(block.get("id")), as_text(block.get("name"))
            tool = next((part for part in ("code_execution", "tool_search") if part in name), name)
            calls[call_id] = ProviderCall(tool, call_id, shown(block.get("input")))
        elif kind.endswith("_tool_result") and (call := calls.get(as_text(block.get("tool_use_id")))):
            content = block.get("content")
            error = as_text(as_dict(content).get("error_code"))
            calls[call.id] = ProviderCall(call.tool, call.id, call.input, shown(_plain_result(content)), error)
        for citation in map(as_dict, as_list(block.get("citations"))):
            title = as_text(citation.get("title")) or as_text(citation.get("document_title"))
            quote, file = shown(citation.get("cited_text")), as_text(citation.get("file_id"))
            cited.append(Citation(as_text(citation.get("url")), title, quote, file))
    return tuple(calls.values()), _once(cited)


def _plain_result(content: Any) -> Any:
    """A result without what only the provider can read."""
    if isinstance(content, list):
        items = [as_dict(item) for item in as_list(content)]
        return "\n".join(f"{as_text(item.get('title'))} {as_text(item.get('url'))}".strip() for item in items)
    fields = as_dict(content)
    if references := as_list(fields.get("tool_references")):
        return ", ".join(as_text(as_dict(one).get("tool_name")) for one in references)
    return as_text(fields.get("stdout")) + as_text(fields.get("stderr")) or as_text(fields.get("url"))


_RESPONSES = {
    "web_search_call": "web_search",
    "code_interpreter_call": "code_execution",
    "file_search_call": "file_search",
    "image_generation_call": "image_generation",
    "mcp_call": "mcp",
}


def of_responses(items: Iterable[dict[str, Any]]) -> tuple[tuple[ProviderCall, ...], tuple[Citation, ...]]:
    """Read the calls and citations of the provider's tools from the items of a response."""
    calls: list[ProviderCall] = []
    cited: list[Citation] = []
    for item in items:
        kind = as_text(item.get("type"))
        if tool := _RESPONSES.get(kind):
            asked = item.get("action") or item.get("code") or item.get("queries") or item.get("arguments")
            came = item.get("outputs") or item.get("results") or item.get("output")
            error = shown(item.get("error")) or ("failed" if item.get("status") == "failed" else "")
            calls.append(ProviderCall(tool, as_text(item.get("id")), shown(asked), shown(came), error))
        elif kind == "tool_search_call":
            calls.append(ProviderCall("tool_search", as_text(item.get("id")), shown(item.get("arguments"))))
        elif kind == "tool_search_output":
            names = ", ".join(as_text(as_dict(one).get("name")) for one in as_list(item.get("tools")))
            asked = calls.pop() if calls and calls[-1].tool == "tool_search" else ProviderCall("tool_search")
            calls.append(ProviderCall("tool_search", asked.id, asked.input, shown(names)))
        elif kind == "message":
            for part in map(as_dict, as_list(item.get("content"))):
                for note in map(as_dict, as_list(part.get("annotations"))):
                    title = as_text(note.get("title")) or as_text(note.get("filename"))
                    cited.append(Citation(as_text(note.get("url")), title, file=as_text(note.get("file_id"))))
    return tuple(calls), _once(cited)


def of_gemini(
    parts: Iterable[dict[str, Any]], grounding: Mapping[str, Any]
) -> tuple[tuple[ProviderCall, ...], tuple[Citation, ...]]:
    """Read the calls and citations of the provider's tools from the parts of a reply and its grounding."""
    calls: list[ProviderCall] = []
    for part in parts:
        if code := as_dict(part.get("executableCode")):
            calls.append(ProviderCall("code_execution", as_text(code.get("id")), shown(code.get("code"))))
        elif (result := as_dict(part.get("codeExecutionResult"))) and calls:
            outcome = as_text(result.get("outcome"))
            error = "" if outcome == "OUTCOME_OK" else outcome
            calls[-1] = ProviderCall(
                "code_execution", calls[-1].id, calls[-1].input, shown(result.get("output")), error
            )
    if queries := [as_text(query) for query in as_list(grounding.get("webSearchQueries"))]:
        calls.append(ProviderCall("web_search", input=shown("\n".join(queries))))
    cited: list[Citation] = []
    for chunk in map(as_dict, as_list(grounding.get("groundingChunks"))):
        web, file = as_dict(chunk.get("web")), as_dict(chunk.get("retrievedContext"))
        if web:
            cited.append(Citation(as_text(web.get("uri")), as_text(web.get("title"))))
        elif file:
            quote = shown(file.get("text"))
            cited.append(Citation("", as_text(file.get("title")), quote, as_text(file.get("uri"))))
    if any(one.file or one.quote for one in cited) and not any(call.tool == "file_search" for call in calls):
        calls.append(ProviderCall("file_search"))
    return tuple(calls), _once(cited)


def _once(cited: list[Citation]) -> tuple[Citation, ...]:
    return tuple(one for one in dict.fromkeys(cited) if one.url or one.title or one.file)
