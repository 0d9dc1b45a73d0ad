"""A server on loopback that answers as OpenAI's API does, for programs written for that API: `price`, then an answer.

    python benchmarks/openai_stub.py                # prints its address, for OPENAI_BASE_URL

`/v1/chat/completions` and `/v1/responses`. The first reply calls the tool `price` if the request offers one; after its
result comes the answer, through the tool `final_answer` where that is offered, and as JSON where a schema is asked for.
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANSWER = "The lamp costs 40 dollars."
OBJECT = json.dumps({"item": "lamp", "dollars": 40.0})


def names_of(tools: list[dict[str, Any]]) -> list[str]:
    return [str(tool.get("function", tool).get("name", "")) for tool in tools]


def next_call(tools: list[str], results: int) -> tuple[str, str] | None:
    """The tool to call and its arguments, or None for the answer."""
    if "price" in tools and not results:
        return "price", json.dumps({"item": "lamp"})
    if "final_answer" in tools:
        return "final_answer", json.dumps({"answer": ANSWER})
    final = next((name for name in tools if name.startswith("final_result")), None)
    return (final, OBJECT) if final else None


def chat(body: dict[str, Any]) -> dict[str, Any]:
    # A result may come as a user's message; a system prompt may speak of observations without there being one.
    said = [message for message in body["messages"] if message["role"] not in ("system", "developer")]
    results = sum(message["role"] == "tool" or "Observation" in str(message) for message in said)
    call = next_call(names_of(body.get("tools") or []), results)
    text = OBJECT if body.get("response_format") else ANSWER
    message: dict[str, Any] = {"role": "assistant", "content": None if call else text}
    if call:
        function = {"name": call[0], "arguments": call[1]}
        message["tool_calls"] = [{"id": f"call_{results}", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if call else "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def responses(body: dict[str, Any]) -> dict[str, Any]:
    given = body["input"] if isinstance(body["input"], list) else []
    results = sum(item.get("type") == "function_call_output" for item in given)
    call = next_call(names_of(body.get("tools") or []), results)
    if call:
        item: dict[str, Any] = {"type": "function_call", "id": "f", "call_id": f"call_{results}", "status": "completed"}
        item |= {"name": call[0], "arguments": call[1]}
    else:
        wants_json = "schema" in str((body.get("text") or {}).get("format", ""))
        content = {"type": "output_text", "text": OBJECT if wants_json else ANSWER, "annotations": []}
        item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [content]}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120, **details}
    fixed = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "error": None}
    fixed |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "metadata": {}, "instructions": None}
    return {**fixed, "incomplete_details": None, "output": [item], "usage": usage, "temperature": 1.0, "top_p": 1.0}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.endswith(("/chat/completions", "/responses")):
            reply = chat(body) if self.path.endswith("completions") else responses(body)
            self._send(200, reply)
        else:  # whatever else a client may send, traces for instance
            self._send(404, {"error": {"message": f"no such path: {self.path}"}})

    def _send(self, status: int, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def make_stub() -> ThreadingHTTPServer:
    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


def address_of(server: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}/v1"


if __name__ == "__main__":
    stub = make_stub()
    print(address_of(stub), flush=True)
    stub.serve_forever()
