"""Text made to take long is read in bounded time."""

from __future__ import annotations

import time

from dialects.samples import READERS, SEARCH, TOOLS, decode
from kit import row
from treadle._dialects.registry import get_dialect
from treadle._types.request import RawCall, Reply

SIZE = 40_000


HOSTILE = {
    "braces": "{" * SIZE,
    "brackets": "[" * SIZE,
    "closed braces": "{" * (SIZE // 2) + "}" * (SIZE // 2),
    "closed brackets": "[" * (SIZE // 2) + "]" * (SIZE // 2),
    "keys": '{"a":' * (SIZE // 5),
    "calls": '{"name":"search","arguments":' * (SIZE // 29),
    "whole calls": '{"name":"search","arguments":{"query":"x"}}' * (SIZE // 43),
    "quotes": '{"' + '"' * SIZE,
    "prose": "{ x } " * (SIZE // 6),
    "spaces": "{" + " " * SIZE + "x",
    "lines": "\n" * SIZE + "x",
    "backslashes": '{"a":"' + "\\" * SIZE,
    "digits": '{"a":' + "1" * SIZE + "}",
    "comments": "{" + "/**/" * (SIZE // 4),
    "tool_call": "<tool_call>" * (SIZE // 11),
    "tool_call json": '<tool_call>{"name":' * (SIZE // 19),
    "functions": "<function=search>" * (SIZE // 17),
    "open parameters": "<function=search>" + "<parameter=query>" * (SIZE // 17),
    "parameters": "<function=search>" + "<parameter=query>x</parameter>" * (SIZE // 30),
    "slots": "<|tool_call_begin|>search<|tool_sep|>{" * (SIZE // 38),
    "channels": "<|channel|>a to=b<|message|>{" * (SIZE // 29),
    "think": "<think></think>" * (SIZE // 15),
    "open think": "<think>" * (SIZE // 7),
    "fences": '```json\n{"a":1\n' * (SIZE // 15),
    "actions": "Action: {" * (SIZE // 9),
    "observations": "Observation:\n" * (SIZE // 13),
    "python": "[search(query=" * (SIZE // 14),
    "markers": '{"a":1}<__final_answer__>' * (SIZE // 25),
    "angles": "<a" * (SIZE // 2),
    "wide": "<｜a｜" * (SIZE // 4),  # noqa: RUF001
    "many arguments": "{'name': 'search', 'arguments': {" + ",".join(f"'k{i}': {i}" for i in range(6000)) + "}}",
    "repair": '{"name": "search", "arguments": {"query": "say "hi" ' + 'x"y" ' * 1400 + '"}}',
    "repair keys": '{"name": "search", ' + '"a" "b" ' * 900 + "}",
    "repair nests": '{"a" ' + '[{"b" ' * 14 + "}]" * 14 + "}",
}


CPU_SECONDS = 1.0
"""A hundred times what it takes. Work that grows with the square of the size would take far longer."""


def test_hostile_text_is_read_in_bounded_time():
    for kind in HOSTILE:
        with row(kind):
            text = HOSTILE[kind]
            get_dialect("native").decode(Reply(text='{"a": "b" c}'), TOOLS)  # what is imported when first used
            for name, finish in (*((name, "stop") for name in READERS), ("json", "length")):
                start = time.process_time()
                decision = decode(name, text, finish)
                assert time.process_time() - start < CPU_SECONDS
                assert len(decision.calls) <= 256
            start = time.process_time()
            get_dialect("native").decode(Reply(calls=(RawCall("a", "search", text),)), (SEARCH,))
            assert time.process_time() - start < CPU_SECONDS
