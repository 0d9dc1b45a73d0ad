"""Images, sound and files on their way to a model: as they are, as text, or refused; and a replay sees the same."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kit import go
from treadle import Agent, AnthropicModel, GeminiModel, Journal, OpenAIModel, ScriptedModel, open_journal, tool
from treadle._engine.requests.media import prepared, shown
from treadle._inspect.replay import fork, replay
from treadle._tools.builtin.http.client import HttpResponse
from treadle._types.errors import ConfigError
from treadle._types.messages import AudioPart, FilePart, ImagePart, Part, TextPart, UserMessage
from treadle._types.profile import Profile

PNG = ImagePart(data=b64encode(b"\x89PNG\r\n\x1a\n" + bytes(4000)).decode(), name="scan.png")
SOUND = AudioPart(data=b64encode(b"RIFF\0\0\0\0WAVE").decode(), name="call.wav")
TABLE = FilePart(data=b64encode(b"city,people\nBern,134591\n").decode(), mime="text/csv", name="cities.csv")
WORD = FilePart(data="aGk=", mime="application/msword", name="old.doc")


def model(**abilities: Any) -> ScriptedModel:
    return ScriptedModel(["done"], abilities=abilities)


def sent(scripted: ScriptedModel) -> Any:
    message = scripted.requests[0].messages[-1]
    assert isinstance(message, UserMessage)
    return message.content


def ask(scripted: Any, *parts: Any, **options: Any) -> Any:
    return go(Agent(scripted, tools=None, **options).run(list(parts)))


def test_what_a_model_reads_is_sent_as_it_is():
    able = model(vision=True, audio=True, documents=True)
    pdf = FilePart(data="aGk=", name="a.pdf")
    ask(able, "see", PNG, SOUND, pdf)
    assert sent(able) == (TextPart("see"), PNG, SOUND, pdf)


def test_an_image_is_sent_to_a_model_that_nothing_is_known_about():
    unknown = model()
    ask(unknown, PNG)
    assert sent(unknown) == (PNG,)


def test_a_table_is_text_for_every_model():
    able = model(vision=True, audio=True, documents=True)
    ask(able, "how many?", TABLE)
    assert sent(able)[1] == TextPart("[file cities.csv]\ncity,people\nBern,134591\n\n[end of file cities.csv]")


@pytest.mark.parametrize(
    ("part", "abilities", "words"),
    [
        (PNG, {"vision": False}, r"scan.png: scripted does not read images: .*send in words what it shows"),
        (SOUND, {}, r"call.wav: scripted does not read sound: .*or send in words what is said"),
        (
            FilePart(data="aGk=", name="a.pdf"),
            {},
            r"a.pdf: scripted does not read PDF files, and the PDF cannot be read",
        ),
        (WORD, {"documents": True}, r"old.doc.*its bytes or its path.*takes a file id"),
        (WORD, {}, r"old.doc: scripted does not read files of this type: convert it to PDF, CSV or plain text"),
    ],
)
def test_what_a_model_cannot_be_given_is_refused_before_a_request(part: Part, abilities: Mapping[str, Any], words: str):
    deaf = model(**abilities)
    with pytest.raises(ConfigError, match=words):
        ask(deaf, "see", part)
    assert deaf.requests == []


def test_a_description_takes_the_place_of_what_it_cannot_read():
    blind = model(vision=False)
    ask(blind, ImagePart(data=PNG.data, name="scan.png", text="a cat"))
    assert sent(blind) == (TextPart("[image scan.png]\na cat\n[end of image scan.png]"),)


@tool
def draw() -> Any:
    """Draw."""
    return ["drawn", PNG, TABLE, WORD]


def test_the_result_of_a_tool_is_never_refused():
    blind = ScriptedModel([{"name": "draw"}, "done"], abilities={"vision": False})
    result = go(Agent(blind, tools=[draw]).run("draw"))
    assert result.answer == "done"
    shown_result = blind.requests[1].messages[-1]
    text = "\n".join(part.text for part in shown_result.content if isinstance(part, TextPart))  # pyright: ignore
    assert all(word in text for word in ("drawn", "scan.png: image/png. You cannot read images", "Bern,134591"))
    assert "old.doc: application/msword. You cannot read files of this type" in text


async def test_a_replay_a_fork_and_a_resume_see_the_same_bytes(tmp_path: Path):
    journal: Journal = open_journal(str(tmp_path / "j.db"))
    scripted = ScriptedModel([{"name": "draw"}, "done"], abilities={"documents": False})
    result = await Agent(scripted, tools=[draw], journal=journal).run(["see", PNG, TABLE])
    records = await journal.load(result.run_id)
    assert replay(records).same
    assert replay(records).requests == 2
    copy = await fork(journal, result.run_id, 2)
    again = ScriptedModel([{"name": "draw"}, "done"], abilities={"documents": False})
    await Agent(again, tools=[draw], journal=journal).resume(copy)
    assert again.requests[-1].messages[:2] == scripted.requests[-1].messages[:2]
    await journal.delete(result.run_id)
    assert replay(await journal.load(copy)).same
    await journal.aclose()


def test_a_model_that_takes_over_is_given_the_text():
    """The text is made for every model of the agent, whichever is asked first."""

    async def main() -> Any:
        first, second = model(documents=True), model(documents=False)
        return await prepared((FilePart(data=TABLE.data, mime="text/csv"),), (first, second))

    (part,) = go(main())
    assert part.text.startswith("city")


def served(mime: str, body: bytes, status: int = 200) -> Any:
    async def fetch(url: str) -> HttpResponse:
        return HttpResponse(url=url, status=status, headers={"content-type": mime}, body=body)

    return fetch


def test_an_address_is_fetched_for_a_server_that_must_not_fetch_it():
    compatible = OpenAIModel("some-model", base_url="http://127.0.0.1:1/v1")
    address = ImagePart(url="https://example.org/a.png", name="a.png")
    got = go(prepared((address,), (compatible,), served("image/png", b"\x89PNG\r\n\x1a\n")))
    assert got == (ImagePart(data=b64encode(b"\x89PNG\r\n\x1a\n").decode(), name="a.png"),)
    own = AnthropicModel("claude-sonnet-4-5", api_key="k")
    assert go(prepared((address,), (own,))) == (address,)


def test_an_address_inside_the_network_is_refused():
    compatible = OpenAIModel("some-model", base_url="http://127.0.0.1:1/v1")
    for url in ("http://127.0.0.1/secret.png", "http://169.254.169.254/latest", "http://[::1]/x"):
        with pytest.raises(ConfigError, match="not a public address"):
            go(prepared((ImagePart(url=url),), (compatible,)))
    (noted,) = go(prepared((ImagePart(url="http://127.0.0.1/x"),), (compatible,), refuse=False))
    assert isinstance(noted, TextPart)
    assert "not shown, because" in noted.text
    with pytest.raises(ConfigError, match="status 404"):
        go(prepared((ImagePart(url="https://example.org/a.png"),), (compatible,), served("text/html", b"no", 404)))


def test_sizes_types_and_ids_are_checked_for_the_model():
    claude = AnthropicModel("claude-sonnet-4-5", api_key="k")
    large = ImagePart(data=b64encode(bytes(5_000_001)).decode(), name="large.png")
    cases = [
        (large, claude, r"large.png has 5.0 MB, and claude-sonnet-4-5 takes at most 5 MB: make it smaller"),
        (ImagePart(data="aGk=", mime="image/bmp", name="x.bmp"), claude, "is image/bmp, and claude.*reads image/png"),
        (FilePart(file_id="file-abc"), claude, "id of a file at openai, and claude-sonnet-4-5 is a model of anthropic"),
        (ImagePart(file_id="file_1"), GeminiModel("gemini-2.5-pro", api_key="k"), "is a model of gemini"),
    ]
    for part, named, words in cases:
        with pytest.raises(ConfigError, match=words):
            go(prepared((part,), (named,)))


def test_the_files_of_a_message_are_bounded_together():
    able = model(documents=True)
    half = FilePart(data="AAAA" * 5_333_334, name="half.pdf")
    with pytest.raises(ConfigError, match="48 MB, and at most 45 MB can be sent"):
        go(prepared((half, half, half), (able,)))


def test_messages_without_parts_are_left_alone():
    message = UserMessage((TextPart("a"),))
    assert shown(message, Profile()) is message
