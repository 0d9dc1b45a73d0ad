"""Reads requests of each protocol. What is not understood is left out, never guessed: the bytes have passed anyway."""

from __future__ import annotations

from typing import Any

from treadle._models.transport.wire import as_dict, as_list, as_text, encode
from treadle._record.reading.asked import (
    Asked,
    call_of,
    content_of,
    names_by_id,
    pieces_of,
    schemas_of,
    split_system,
)
from treadle._record.reading.ollama import as_chat_request
from treadle._types.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    text_of,
)

CHAT, RESPONSES, ANTHROPIC, GEMINI = "openai.chat", "openai.responses", "anthropic.messages", "gemini"
OLLAMA = "ollama.chat"


def protocol_of(path: str) -> str:
    """By the end of the path; empty for what is no request to a model."""
    if path.endswith("/chat/completions"):
        return CHAT
    if path.endswith("/responses"):
        return RESPONSES
    if path.endswith("/messages"):
        return ANTHROPIC
    if path.endswith("/api/chat"):
        return OLLAMA
    return GEMINI if path.endswith((":generateContent", ":streamGenerateContent")) else ""


def read_request(path: str, body: Any) -> Asked | None:
    """None when it is no request to a model."""
    fields = as_dict(body)
    match protocol_of(path):
        case "openai.chat":
            return _chat(fields)
        case "ollama.chat":
            return _chat(as_chat_request(fields), OLLAMA)
        case "openai.responses":
            return _responses(fields)
        case "anthropic.messages":
            return _anthropic(fields)
        case "gemini":
            return _gemini(path.rpartition("/")[2].partition(":")[0], fields)
        case _:
            return None


def _chat(body: dict[str, Any], protocol: str = CHAT) -> Asked | None:
    if "messages" not in body:
        return None
    raw = as_list(body.get("messages"))
    system, messages = split_system(chat_messages(raw))
    declared = [as_dict(as_dict(tool).get("function")) for tool in as_list(body.get("tools"))]
    declared += [as_dict(tool) for tool in as_list(body.get("functions"))]
    pieces = pieces_of(body.get("tools") or body.get("functions"), None, raw)
    return Asked(protocol, as_text(body.get("model")), system, schemas_of(declared), messages, pieces=pieces)


def chat_messages(raw: list[Any]) -> list[Message]:
    """Messages in OpenAI's form, as requests and dumps have them."""
    messages: list[Message] = []
    for item in map(as_dict, raw):
        content = content_of(item.get("content"))
        match item.get("role"):
            case "system" | "developer":
                messages.append(SystemMessage(text_of(content)))
            case "assistant":
                calls = [_chat_call(as_dict(call)) for call in as_list(item.get("tool_calls"))]
                if legacy := as_dict(item.get("function_call")):
                    calls.append(call_of(f"function_{len(messages)}", legacy.get("name"), legacy.get("arguments")))
                text = text_of(content) or as_text(item.get("refusal"))
                thought = as_text(item.get("reasoning_content") or item.get("reasoning"))
                messages.append(AssistantMessage(text, tuple(calls), thought))
            case "tool":
                call_id = as_text(item.get("tool_call_id"))
                name = names_by_id(messages).get(call_id) or as_text(item.get("name"))
                messages.append(ToolMessage(call_id, name, content))
            case "function":
                last = messages[-1] if messages else None
                call_id = last.calls[0].id if isinstance(last, AssistantMessage) and last.calls else ""
                messages.append(ToolMessage(call_id, as_text(item.get("name")), content))
            case _:
                messages.append(UserMessage(content))
    return messages


def _chat_call(call: dict[str, Any]) -> ToolCall:
    function = as_dict(call.get("function") or call.get("custom"))
    return call_of(call.get("id"), function.get("name"), function.get("arguments", function.get("input")))


def _responses(body: dict[str, Any]) -> Asked | None:
    if "input" not in body:
        return None
    turns = body.get("input")
    raw: list[Any] = [{"role": "user", "content": turns}] if isinstance(turns, str) else as_list(turns)
    instructions = as_text(body.get("instructions"))
    system, messages = split_system(response_messages(raw))
    system = "\n\n".join(text for text in (instructions, system) if text)
    declared = map(as_dict, as_list(body.get("tools")))
    tools = schemas_of(tool for tool in declared if tool.get("type") in ("function", "custom"))
    return Asked(
        RESPONSES,
        as_text(body.get("model")),
        system,
        tools,
        messages,
        as_text(body.get("previous_response_id")),
        pieces_of(body.get("tools"), instructions, raw),
    )


def response_messages(raw: list[Any]) -> list[Message]:
    """Items of the Responses API; those of one reply become one message."""
    messages: list[Message] = []
    open_reply = False
    for item in map(as_dict, raw):
        kind = as_text(item.get("type")) or "message"
        reply = AssistantMessage()
        if kind == "message" and item.get("role") == "assistant":
            reply = AssistantMessage(text_of(content_of(item.get("content"))))
        elif kind in ("function_call", "custom_tool_call"):
            call = call_of(item.get("call_id"), item.get("name"), item.get("arguments", item.get("input")))
            reply = AssistantMessage(calls=(call,))
        elif kind == "reasoning":
            reply = AssistantMessage(reasoning=text_of(content_of(item.get("summary"))))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            call_id = as_text(item.get("call_id"))
            messages.append(
                ToolMessage(call_id, names_by_id(messages).get(call_id, ""), content_of(item.get("output")))
            )
            open_reply = False
            continue
        elif kind == "message":
            content = content_of(item.get("content"))
            system = item.get("role") in ("system", "developer")
            messages.append(SystemMessage(text_of(content)) if system else UserMessage(content))
            open_reply = False
            continue
        else:
            continue  # a tool of the provider's own: nothing of it is ours
        if open_reply and isinstance(last := messages[-1], AssistantMessage):
            messages[-1] = AssistantMessage(
                last.text + reply.text, last.calls + reply.calls, last.reasoning + reply.reasoning
            )
        else:
            messages.append(reply)
        open_reply = True
    return [m for m in messages if not isinstance(m, AssistantMessage) or m.text or m.calls]


def _anthropic(body: dict[str, Any]) -> Asked | None:
    if "messages" not in body:
        return None
    raw = as_list(body.get("messages"))
    declared = map(as_dict, as_list(body.get("tools")))
    tools = schemas_of((tool for tool in declared if tool.get("input_schema") is not None), "input_schema")
    system = text_of(content_of(body.get("system") or ""))
    pieces = pieces_of(body.get("tools"), body.get("system"), raw)
    return Asked(ANTHROPIC, as_text(body.get("model")), system, tools, tuple(anthropic_messages(raw)), pieces=pieces)


def anthropic_messages(raw: list[Any]) -> list[Message]:
    messages: list[Message] = []
    for item in map(as_dict, raw):
        content = item.get("content")
        blocks: list[dict[str, Any]] = [as_dict(block) for block in as_list(content)]
        if item.get("role") == "assistant":
            uses = tuple(
                call_of(block.get("id"), block.get("name"), block.get("input"))
                for block in blocks
                if block.get("type") == "tool_use"
            )
            thought = "".join(as_text(block.get("thinking")) for block in blocks if block.get("type") == "thinking")
            texts = [as_text(block.get("text")) for block in blocks if block.get("type") == "text"]
            messages.append(AssistantMessage(as_text(content) or "".join(texts), uses, thought))
            continue
        names = names_by_id(messages)
        for block in blocks:
            if block.get("type") == "tool_result":
                call_id = as_text(block.get("tool_use_id"))
                result = content_of(block.get("content") or "")
                messages.append(ToolMessage(call_id, names.get(call_id, ""), result, bool(block.get("is_error"))))
        others = [block for block in blocks if block.get("type") != "tool_result"]
        if isinstance(content, str) or others:
            messages.append(UserMessage(content if isinstance(content, str) else content_of(others)))
    return messages


def _gemini(model: str, body: dict[str, Any]) -> Asked | None:
    if "contents" not in body:
        return None
    contents = body.get("contents")
    raw: list[Any] = [contents] if isinstance(contents, dict | str) else as_list(contents)
    declared = [
        as_dict(one)
        for tool in map(as_dict, as_list(body.get("tools")))
        for one in as_list(tool.get("functionDeclarations") or tool.get("function_declarations"))
    ]
    tools = schemas_of(declared, "parametersJsonSchema")
    instruction = body.get("systemInstruction") or body.get("system_instruction")
    system = as_text(instruction) or text_of(content_of(as_list(as_dict(instruction).get("parts"))))
    pieces = pieces_of(body.get("tools"), instruction, raw)
    return Asked(GEMINI, model, system, tools, tuple(gemini_messages(raw)), pieces=pieces)


def gemini_messages(raw: list[Any]) -> list[Message]:
    """Calls may have no ids there: results belong to the calls of the same name, in order."""
    messages: list[Message] = []
    for turn in raw:
        if isinstance(turn, str):
            messages.append(UserMessage(turn))
            continue
        parts = [as_dict(part) for part in as_list(as_dict(turn).get("parts"))]
        if as_dict(turn).get("role") == "model":
            messages.append(_gemini_reply(parts, len(messages)))
            continue
        last = next((m for m in reversed(messages) if isinstance(m, AssistantMessage)), None)
        waiting = list(last.calls) if last is not None else []
        for part in parts:
            if answer := as_dict(part.get("functionResponse") or part.get("function_response")):
                name = as_text(answer.get("name"))
                call = next((c for c in waiting if c.id == answer.get("id")), None)
                call = call or next((c for c in waiting if c.name == name), None)
                if call is not None:
                    waiting.remove(call)
                messages.append(_gemini_result(call.id if call else as_text(answer.get("id")), name, answer))
        others = [part for part in parts if "functionResponse" not in part and "function_response" not in part]
        if others:
            messages.append(UserMessage(content_of(others)))
    return messages


def _gemini_reply(parts: list[dict[str, Any]], place: int) -> AssistantMessage:
    calls = [as_dict(part.get("functionCall") or part.get("function_call")) for part in parts]
    tool_calls = tuple(
        call_of(call.get("id") or f"call_{place}_{index}", call.get("name"), call.get("args"))
        for index, call in enumerate(call for call in calls if call)
    )
    texts = [as_text(part.get("text")) for part in parts if not part.get("thought")]
    thoughts = [as_text(part.get("text")) for part in parts if part.get("thought")]
    return AssistantMessage("".join(texts), tool_calls, "".join(thoughts))


def _gemini_result(call_id: str, name: str, answer: dict[str, Any]) -> ToolMessage:
    response = as_dict(answer.get("response"))
    if set(response) <= {"output", "result", "error"} and len(response) == 1:
        ((key, value),) = response.items()
        text = value if isinstance(value, str) else encode(value).decode()
        return ToolMessage(call_id, name, text, key == "error")
    return ToolMessage(call_id, name, encode(answer.get("response")).decode())
