from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from kit import row
from treadle._tools.base import ToolOutcome, ToolResponse
from treadle._tools.function import tool
from treadle._tools.results import LARGEST, clean, cut, render, to_text
from treadle._types.events import Artifact
from treadle._types.messages import ImagePart, TextPart, text_of

Call = Callable[..., ToolOutcome]


class Color(str, Enum):  # noqa: UP042 - its str() is the member's name, unlike StrEnum's
    RED = "red"


@dataclass
class Point:
    x: int


class Plain:
    def __str__(self) -> str:
        return "plain"


class Hostile:
    def __str__(self) -> str:
        raise ValueError("no")

    __repr__ = __str__


def test_any_value_becomes_text() -> None:
    for value, text in (
        ("as is", "as is"),
        ("", ""),
        (None, "(no output)"),
        (3, "3"),
        (True, "true"),
        (1.5, "1.5"),
        (float("nan"), "nan"),
        ([1, "a", None], '[1,"a",null]'),
        ({"a": {1: [date(2026, 1, 2)]}}, '{"a":{"1":["2026-01-02"]}}'),
        (Point(1), '{"x":1}'),
        (Color.RED, "red"),
        ([Color.RED], '["red"]'),
        (Path("a"), "a"),
        (Plain(), "plain"),
        ({"p": Plain()}, '{"p":"plain"}'),
        (b"text", "text"),
        (b"\xff\xfe", "(2 bytes that are not text)"),
        ({(1, 2): 3}, "{(1, 2): 3}"),
        (Hostile(), "(Hostile that cannot be shown)"),
        ({1}, "[1]"),
    ):
        assert to_text(value) == text, value


def test_cycles_and_depth_end() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert to_text(loop) == "[[...]]"
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert to_text(deep) == "(list that cannot be shown)"


def test_pydantic_models_become_json() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Model", a=(int, 1), day=(date, date(2026, 1, 2)))
    assert to_text(model()) == '{"a":1,"day":"2026-01-02"}'
    assert to_text([model()]) == '[{"a":1,"day":"2026-01-02"}]'


def test_everything_is_encodable() -> None:
    for text, cleaned in (
        ("a\ud800b", "a\ufffdb"),
        ("\ud83d\ude00", "\U0001f600"),
        ("é\udc80", "é\ufffd"),
        ("plain é", "plain é"),
    ):
        with row(text, cleaned):
            assert clean(text) == cleaned
            assert render(text, (Artifact("n" + text, text, summary=text),), 100)[0].encode()  # type: ignore[union-attr]
            assert render([text], (), 100)[0].encode()  # type: ignore[union-attr]


def test_the_marker_is_included_in_the_limit() -> None:
    for limit in (0, 1, 10, 40, 50, 100, 999):
        with row(limit):
            text = "a" * 500 + "b" * 500
            short = cut(text, limit)
            assert len(short) <= limit
            if limit >= 100:
                assert len(short) > limit - 5
                assert short.startswith("aaaa")
                assert short.endswith("bbbb")
                omitted = int(short.split("[... ")[1].split(" ")[0])
                marker = f"\n[... {omitted} characters left out ...]\n"
                assert len(text) - omitted == len(short) - len(marker)
            assert cut(text, 1000) == text


def test_the_whole_text_is_kept_beside_the_cut_one() -> None:
    content, full, _ = render("x" * 200, (), 100)
    assert len(text_of(content)) <= 100
    assert full == "x" * 200
    assert render("x", (), 100) == ("x", None, ())


def test_parts_stay_parts_and_their_text_is_cut() -> None:
    image = ImagePart(url="http://127.0.0.1/a.png")
    assert render(image, (), 100)[0] == (image,)
    assert render(["look:", image], (), 100)[0] == (TextPart("look:"), image)
    assert render((TextPart("a"), TextPart("b")), (), 100)[0] == "a\nb"
    content, full, _ = render([TextPart("a" * 200), image], (), 100)
    assert isinstance(content, tuple)
    assert content[1] == image
    assert len(text_of(content)) <= 100
    assert full == "a" * 200


HTML = "<html><body>" + "secret " * 50 + "</body></html>"
PAGE = Artifact("report.html", HTML, mime="text/html", summary="A report.")


@pytest.mark.parametrize(
    "returned",
    [
        PAGE,
        [PAGE, "and text"],
        {"page": PAGE, "n": 1},
        ToolResponse("Made it.", artifacts=(PAGE,)),
        ToolResponse(HTML, artifacts=(PAGE,)),
        ToolResponse(f"Here: {HTML} done", artifacts=(PAGE,)),
        ToolResponse(PAGE),
        ToolResponse(None, artifacts=(PAGE,)),
    ],
)
def test_the_model_sees_the_name_of_an_artifact_and_not_its_content(call: Call, returned: Any) -> None:
    @tool
    async def make() -> Any:
        return returned

    outcome = call(make)
    assert "[Artifact generated: report.html] A report." in text_of(outcome.content)
    assert "secret" not in repr(outcome.content)
    assert outcome.artifacts == (PAGE,)
    assert outcome.full is None


def test_an_artifact_without_a_summary_shows_its_kind_and_a_strange_name_stays_on_one_line() -> None:
    content, _, artifacts = render(Artifact("a\nb", "xyz"), (), 200)
    assert content == (
        "[Artifact generated: a b] (text/plain, 3 characters) "
        "(The user is shown its content: refer to it, do not repeat it.)"
    )
    assert artifacts[0].content == "xyz"


def test_bytes_in_an_artifact_are_kept_as_base64() -> None:
    _, _, artifacts = render(Artifact("a.png", b"\xff\x00", mime="image/png"), (), 100)  # type: ignore[arg-type]
    assert (artifacts[0].content, artifacts[0].base64) == ("/wA=", True)


@pytest.mark.parametrize("response", [ToolResponse("x", extras=None), ToolResponse("x", artifacts=None)])  # type: ignore[arg-type]
def test_a_response_with_nothing_in_it_is_taken_as_such(call: Call, response: ToolResponse) -> None:
    outcome = call(tool(lambda: response, name="f"))
    assert (outcome.content, outcome.extras, outcome.artifacts) == ("x", {}, ())


@pytest.mark.parametrize("response", [ToolResponse("x", extras=[1]), ToolResponse("x", artifacts=(3,))])  # type: ignore[arg-type]
def test_a_response_that_is_not_one_is_a_failure_of_the_tool(call: Call, response: ToolResponse) -> None:
    assert call(tool(lambda: response, name="f")).error == "exception"


async def test_a_hundred_megabytes_are_cut_quickly(acall: Callable[..., Any]) -> None:
    big = "x" * 100_000_000

    @tool
    async def flood() -> str:
        return big

    started = time.process_time()
    outcome = await acall(flood)
    assert time.process_time() - started < 2  # of CPU time; a tenth of a second is usual
    assert 11_990 < len(text_of(outcome.content)) <= 12_000
    assert outcome.full is not None
    assert len(outcome.full) <= LARGEST
