"""LiteLLM: an answer, a stream, a tool of the caller."""

import json
import sys

import litellm

address, token = sys.argv[1:]
ask = {
    "model": "openai/looker",
    "api_base": f"{address}/v1",
    "api_key": token,
    "messages": [{"role": "user", "content": "What is there?"}],
}
schema = {"type": "object", "properties": {"where": {"type": "string"}}, "required": ["where"]}
look = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": schema}}
whole = litellm.completion(**ask).choices[0].message.content
streamed = "".join(chunk.choices[0].delta.content or "" for chunk in litellm.completion(**ask, stream=True))
wanted = litellm.completion(**ask, tools=[look]).choices[0].message.tool_calls[0].function.name
print(json.dumps({"whole": whole, "streamed": streamed, "wanted": wanted}))
