import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from treadle._models.transport.wire import CallList, EncodedMessages, ThinkSplitter, with_cost
from treadle._types.messages import AssistantMessage, Message, UserMessage
from treadle._types.profile import Prices
from treadle._types.request import CallDelta, ReasoningDelta, TextDelta
from treadle._types.usage import Usage


def split_thoughts(text: str, size: int) -> tuple[str, str]:
    splitter = ThinkSplitter()
    deltas = [
        delta for start in range(0, len(text), size) for delta in splitter.feed(text[start : start + size])
    ] + splitter.end()
    text = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    thought = "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))
    return text, thought


CASES = {
    "plain": ("plain", ""),
    "": ("", ""),
    "  leading space": ("  leading space", ""),
    "<think>a</think>b": ("b", "a"),
    "\n <think>\na\n</think>\n\nb": ("b", "\na\n"),
    "<think></think>b": ("b", ""),
    "<think>a</think><think>b</think>c": ("c", "ab"),
    "<think>a</think>\n<think>b</think>\nc": ("c", "ab"),
    "<think>never closed": ("", "never closed"),
    "<think>a < b </thin</think>c": ("c", "a < b </thin"),
    "[THINK]a[/THINK]b": ("b", "a"),
    "<thinking>a</thinking>": ("<thinking>a</thinking>", ""),
    "<thi": ("<thi", ""),
    "text <think>x</think>": ("text <think>x</think>", ""),
    "<think>a</think>b <think>c</think>": ("b <think>c</think>", "a"),
    "<think>a</think>  ": ("", "a"),
    "<think>{}</think>{}": ("{}", "{}"),
}


def test_thoughts_are_separated_however_they_are_split():
    for text, expected in CASES.items():
        for size in (1, 2, 3, 5, 7, 100):
            assert split_thoughts(text, size) == expected, (text, size)


@given(st.text(alphabet="<think>/ \nab[]THINK", max_size=60), st.integers(1, 9))
def test_splitting_never_depends_on_the_pieces(text: str, size: int):
    assert split_thoughts(text, size) == split_thoughts(text, 1000)


@given(st.text(max_size=40))
def test_text_without_a_tag_in_front_is_untouched(text: str):
    if not text.lstrip().startswith(("<think>", "[THINK]")):
        assert split_thoughts(text, 3) == (text, "")


def write(messages: Any, index: int) -> str:
    return (
        f"{index}:{messages[index].text if isinstance(messages[index], AssistantMessage) else messages[index].content}"
    )


@given(st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=8))
def test_encoding_once_gives_what_encoding_always_gives(histories: list[list[int]]):
    pool: list[Message] = [UserMessage(str(number)) for number in range(6)]
    encoded = EncodedMessages[str](None)
    plain = [
        (lambda messages: [str(message.content) for message in messages])([pool[i] for i in history])
        for history in histories
    ]
    for history, expected in zip(histories, plain, strict=True):
        messages = [pool[number] for number in history]
        assert encoded.update(messages, lambda all_messages, index: str(all_messages[index].content)) == expected


def test_only_what_is_new_is_written():
    count = 0

    def counting(messages: Any, index: int) -> int:
        nonlocal count
        count += 1
        return index

    encoded = EncodedMessages[int](None)
    messages: list[Message] = []
    for number in range(400):
        messages.append(UserMessage(str(number)))
        encoded.update(messages, counting)
    assert count == 400


def test_calls():
    calls = CallList()
    assert calls.open("a", "f") == CallDelta(0, "a", "f")
    assert calls.add(0, '{"x":') == CallDelta(0, arguments='{"x":')
    assert calls.close(0) == []
    calls.add(0, "1}")
    assert calls.close(0) == [CallDelta(0, done=True)]
    assert calls.close(0) == []
    assert calls.open("a", "g").id != "a"
    assert calls.close(1, final=False) == []
    assert calls.close_all() == [CallDelta(1, arguments="{}", done=True)]
    assert [json.loads(call.arguments) for call in calls.raw()] == [{"x": 1}, {}]


def test_arguments_that_are_not_an_object_are_never_done():
    for text in ("[1]", "1", '"x"', "{", "nonsense"):
        calls = CallList()
        calls.open("a", "f")
        calls.add(0, text)
        assert calls.close_all() == []


def test_costs():
    usage = Usage(1_000_000, 100_000, 400_000, 200_000)
    assert with_cost(usage, None).cost is None
    assert with_cost(usage, Prices(1.0, 10.0)).cost == 2.0
    assert with_cost(usage, Prices(1.0, 10.0, 0.1, 2.0)).cost == 0.4 + 0.04 + 0.4 + 1.0
    assert with_cost(usage, Prices(1.0, 10.0), 0.25).cost == 0.25
    assert with_cost(Usage(10, 0, 50), Prices(1.0, 10.0, 0.0)).cost == 0.0
