"""How many tokens a request has, before the provider says so."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import values_of
from treadle._engine.requests.estimate import Estimator, size_of, size_of_tools, token_limit
from treadle._engine.settings import Settings
from treadle._types.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle._types.profile import Profile
from treadle._types.request import Request, ToolSchema
from treadle._types.usage import Usage

TOOL = ToolSchema("add", "Add two numbers.", {"type": "object"})


@pytest.mark.parametrize(
    ("settings", "profile", "limit"),
    [
        (Settings(), Profile(), None),
        (Settings(context_budget=500), Profile(), 500),
        (Settings(context_budget=500), Profile(window=100_000), 500),
        (Settings(), Profile(window=100_000), 100_000 - 4096),
        (Settings(max_tokens=1_000), Profile(window=100_000), 99_000),
        (Settings(), Profile(window=100_000, max_output=2_000), 98_000),
        (Settings(), Profile(window=4_000), 3_000),
        (Settings(max_tokens=50_000), Profile(window=8_000), 6_000),
    ],
    ids=["unknown", "set", "set wins", "window", "max_tokens", "max_output", "small window", "a quarter at most"],
)
def test_the_limit_of_a_request(settings: Settings, profile: Profile, limit: int | None):
    assert token_limit(settings, profile) == limit


@pytest.mark.parametrize(
    ("small", "large"),
    [
        (SystemMessage("x"), SystemMessage("x" * 100)),
        (UserMessage("x"), UserMessage("ü")),
        (UserMessage("x"), UserMessage((TextPart("x"), ImagePart(url="u")))),
        (AssistantMessage("x"), AssistantMessage("x", (ToolCall("c", "f"),))),
        (
            AssistantMessage("", (ToolCall("c", "f", {"a": 1}),)),
            AssistantMessage("", (ToolCall("c", "f", {"a": "long"}),)),
        ),
        (AssistantMessage("", (ToolCall("c", "f"),)), AssistantMessage("", (ToolCall("c", "f", raw="{broken"),))),
        (AssistantMessage("x", reasoning="why"), AssistantMessage("x", reasoning="why", opaque={"signature": "s"})),
        (ToolMessage("c", "f", "x"), ToolMessage("c", "f", "xx")),
    ],
)
def test_everything_that_reaches_the_model_counts(small: Message, large: Message):
    assert size_of(large) > size_of(small) > 0


def test_reasoning_that_is_not_sent_back_does_not_count():
    assert size_of(AssistantMessage("x", reasoning="why")) == size_of(AssistantMessage("x"))


def test_an_image_counts_the_same_however_large_its_data_is():
    assert size_of(UserMessage((ImagePart(data="x" * 10**6),))) == size_of(UserMessage((ImagePart(url="u"),)))


@settings(max_examples=30)
@given(st.lists(values_of(Message), min_size=1, max_size=8), st.data())
def test_a_growing_conversation_is_summed_once_and_rightly(messages: list[Message], data: st.DataObject):
    estimator = Estimator()
    growing: list[Message] = []
    for message in messages:
        growing.append(message)
        if data.draw(st.booleans()):
            estimator.size(Request(growing))
    assert estimator.size(Request(growing, (TOOL,))) == sum(map(size_of, growing)) + size_of_tools((TOOL,))


def test_a_list_that_was_cut_or_changed_at_its_end_is_summed_again():
    estimator = Estimator()
    messages: list[Message] = [UserMessage("x" * 100), UserMessage("y" * 100)]
    estimator.size(Request(messages))
    messages[1] = UserMessage("z")
    assert estimator.size(Request(messages)) == sum(map(size_of, messages))
    messages.pop()
    assert estimator.size(Request(messages)) == size_of(messages[0])


def test_an_advisers_request_does_not_disturb_the_loops():
    estimator = Estimator()
    loop = Request([UserMessage("x" * 1_000)], (TOOL,))
    size = estimator.size(loop)
    assert estimator.size(Request([UserMessage("short")], component="observer")) == size_of(UserMessage("short"))
    assert estimator.size(loop) == size


def test_it_learns_from_what_the_provider_counted():
    estimator = Estimator()
    request = Request([UserMessage("x" * 3_000)])
    estimator.learn(request, Usage(input_tokens=1_500))
    assert estimator.ratio == pytest.approx(estimator.size(request) / 1_500)
    other = Request([UserMessage("x" * 3_000)])
    assert estimator.tokens(other) == pytest.approx(1_500, rel=0.02)


def test_counts_too_small_to_say_anything_are_not_learnt_from():
    estimator = Estimator()
    before = estimator.ratio
    estimator.learn(Request([UserMessage("x" * 500)]), Usage(input_tokens=50))
    assert estimator.ratio == before


@pytest.mark.parametrize("tokens", [60, 300, 3_100, 10**6])
def test_a_count_that_cannot_be_one_of_what_was_sent_teaches_nothing(tokens: int):
    """A proxy that leaves out what was cached, or that counts a prompt of its own."""
    estimator, untaught = Estimator(), Estimator()
    messages: list[Message] = [UserMessage("x" * 3_000)]
    estimator.learn(Request(messages), Usage(input_tokens=tokens))
    messages.append(UserMessage("y" * 3_000))
    assert estimator.ratio == untaught.ratio
    assert estimator.tokens(Request(messages)) == untaught.tokens(Request(messages))


def test_a_count_that_shrinks_while_the_conversation_grows_is_not_believed():
    estimator = Estimator()
    messages: list[Message] = [UserMessage("x" * 4_000)]
    estimator.learn(Request(messages), Usage(input_tokens=1_000))
    messages.append(UserMessage("y" * 1_000))
    estimator.learn(Request(messages), Usage(input_tokens=900))
    assert estimator.tokens(Request(messages)) >= 1_250


def test_our_own_estimate_teaches_nothing():
    estimator = Estimator()
    before = estimator.ratio
    estimator.learn(Request([UserMessage("x" * 3_000)]), Usage(input_tokens=900, estimated_tokens=900))
    assert estimator.ratio == before


def test_what_was_counted_is_known_and_only_the_rest_is_estimated_rather_high():
    estimator = Estimator()
    messages: list[Message] = [UserMessage("x" * 4_000)]
    estimator.calibrate(Request(messages), 1_000)
    assert 1_000 <= estimator.tokens(Request(messages)) <= 1_010
    messages.append(UserMessage("y" * 400))
    assert 1_000 + 400 / 4 <= estimator.tokens(Request(messages)) <= 1_000 + 400 / 2


def test_a_request_that_became_smaller_than_what_was_counted_is_estimated_anew():
    estimator = Estimator()
    messages: list[Message] = [UserMessage("y" * 400), UserMessage("x" * 4_000)]
    estimator.calibrate(Request(messages), 1_000)
    messages.pop()
    assert estimator.tokens(Request(messages)) < 200
