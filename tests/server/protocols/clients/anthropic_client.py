"""Anthropic's own client: an answer, a stream, a tool of its own, an error."""

import json
import sys

import anthropic

address, token = sys.argv[1:]
client = anthropic.Anthropic(base_url=address, api_key=token, max_retries=2)
ask = {"model": "looker", "max_tokens": 500, "messages": [{"role": "user", "content": "What is there?"}]}
schema = {"type": "object", "properties": {"where": {"type": "string"}}, "required": ["where"]}
tools = [{"name": "look", "description": "Looks.", "input_schema": schema}]
whole = client.messages.create(**ask).content[0].text
with client.messages.stream(**ask) as stream:
    streamed = "".join(stream.text_stream)
first = client.messages.create(**ask, tools=tools)
wanted = first.content[-1]
result = {"type": "tool_result", "tool_use_id": wanted.id, "content": "a cat"}
past = [*ask["messages"], {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
with client.messages.stream(**{**ask, "messages": past}, tools=tools) as stream:
    after = stream.get_final_message().content[-1].text
try:
    client.messages.create(**{**ask, "model": "mailing"})
    error = None
except anthropic.APIStatusError as raised:
    error = [raised.status_code, raised.body["error"]["type"]]
print(
    json.dumps(
        {"whole": whole, "streamed": streamed, "wanted": [wanted.name, wanted.input], "after": after, "error": error}
    )
)
