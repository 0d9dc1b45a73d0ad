"""The matrix of provider, part and ability: what happens to each, seen in the body of a request; and its page."""

from __future__ import annotations

import asyncio
import re
from base64 import b64encode
from itertools import product
from pathlib import Path
from typing import Any

from kit import row
from tools.media.test_office import docx, paragraph
from treadle import AnthropicModel, GeminiModel, LocalModel, OpenAIModel
from treadle._engine.requests.media import prepared, shown
from treadle._models.bedrock.model import BedrockModel
from treadle._models.media import OFFICE, kind_of
from treadle._models.openai.responses import ResponsesModel
from treadle._models.vertex.model import VertexModel
from treadle._tools.builtin.http.client import HttpResponse
from treadle._types.errors import ConfigError
from treadle._types.messages import AssistantMessage, AudioPart, FilePart, ImagePart, ToolCall, ToolMessage, UserMessage
from treadle._types.request import Request

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "attachments.md"
KEY = {"api_key": "k"}
VERTEX: dict[str, Any] = {"project": "p", "access_token": "t"}
MODELS: dict[str, Any] = {
    "OpenAI chat": lambda able: OpenAIModel("gpt-4o", abilities=able, **KEY),
    "OpenAI Responses": lambda able: ResponsesModel("gpt-5", abilities=able, **KEY),
    "Anthropic": lambda able: AnthropicModel("claude-sonnet-4-5", abilities=able, **KEY),
    "Gemini": lambda able: GeminiModel("gemini-2.5-pro", abilities=able, **KEY),
    "Bedrock": lambda able: BedrockModel("anthropic.claude-sonnet-4-5", region="us-east-1", abilities=able, **KEY),
    "Gemini on Vertex": lambda able: VertexModel("gemini-2.5-pro", abilities=able, **VERTEX),
    "Claude on Vertex": lambda able: VertexModel("claude-sonnet-4-5", abilities=able, **VERTEX),
    "compatible server": lambda able: OpenAIModel("m", base_url="http://127.0.0.1:1/v1", abilities=able),
}
IDS = {"OpenAI chat": "file-1", "OpenAI Responses": "file-1", "Anthropic": "file_1", "Gemini": "files/1",
       "Bedrock": "s3://bucket/1", "Gemini on Vertex": "gs://bucket/1", "Claude on Vertex": "file_1",
       "compatible server": "file-1"}  # fmt: skip
DEAF = ("OpenAI Responses", "Anthropic", "Bedrock", "Claude on Vertex")
"""Their formats have no words for sound."""
CONTENT: dict[str, tuple[Any, str, bytes, str]] = {
    "image": (ImagePart, "image/png", b"\x89PNG\r\n\x1a\nIMAGE", "vision"),
    "sound": (AudioPart, "audio/wav", b"RIFF\0\0\0\0WAVESOUND", "audio"),
    "PDF": (FilePart, "application/pdf", b"%PDF-1.4 DOCUMENT", "documents"),
    "text file": (FilePart, "text/csv", b"a,b\n1,2", ""),
    "office file": (FilePart, OFFICE[".docx"], docx(paragraph("a,b") + paragraph("1,2")), ""),
}
WAYS = ("bytes", "address", "file id")


def part(kind: str, way: str, provider: str, text: str = "") -> Any:
    made, mime, raw, _ = CONTENT[kind]
    given = {"bytes": {"data": b64encode(raw).decode()}, "address": {"url": "https://example.org/a"},
             "file id": {"file_id": IDS[provider]}}[way]  # fmt: skip
    return made(mime=mime, name="a", text=text, **given)


async def outcome(provider: str, kind: str, way: str, able: bool | None, *, result: bool = False) -> str:
    """What a request has in it for this part, or that it is refused before there is one."""
    _, mime, raw, ability = CONTENT[kind]
    fetched = False

    async def fetch(url: str) -> HttpResponse:
        nonlocal fetched
        fetched = True
        return HttpResponse(url=url, status=200, headers={"content-type": mime}, body=raw)

    model = MODELS[provider]({ability: able} if ability and able is not None else {})
    given = part(kind, way, provider, text="STAND-IN" if able is False else "")
    try:
        content = await prepared((given,), (model,), fetch)
    except ConfigError as error:
        return "refused" if re.search(r"takes|does not read", str(error)) else str(error)
    messages: list[Any] = [UserMessage(content)]
    if result:
        messages = [UserMessage("q"), AssistantMessage(calls=(ToolCall("c", "t"),)), ToolMessage("c", "t", content)]
    written = model.body_of(Request([shown(message, model.profile) for message in messages]))
    encoded = b64encode(raw)
    if encoded in written:
        return "fetched, sent" if fetched else "sent"
    if way != "bytes" and (b"https://example.org/a" in written or IDS[provider].encode() in written):
        return "sent"
    assert b"STAND-IN" in written or rb"a,b\n1,2" in written, written
    return "as text"


def matrix() -> list[str]:
    async def rows() -> list[str]:
        lines = [f"| provider | {' | '.join(CONTENT)} |", "|---|" + "---|" * len(CONTENT)]
        for provider in MODELS:
            cells: list[str] = []
            for kind in CONTENT:
                able = True if CONTENT[kind][3] and not (kind == "sound" and provider in DEAF) else None
                each = [await outcome(provider, kind, way, able) for way in WAYS]
                cells.append(each[0] if len(set(each)) == 1 else "; ".join(each))
            lines.append(f"| {provider} | {' | '.join(cells)} |")
        return lines

    return asyncio.run(rows())


def test_the_page_shows_what_happens():
    text = PAGE.read_text("utf-8")
    table = text[text.index("<!-- matrix -->") : text.index("<!-- end of the matrix -->")].strip().splitlines()[1:]
    assert [line for line in table if line] == matrix(), "\n".join(matrix())


def test_results_of_tools_bring_the_same_and_a_model_without_the_ability_gets_the_text():
    async def main() -> None:
        for provider, kind in product(MODELS, CONTENT):
            if kind == "office file" and provider != "Anthropic":
                continue  # read by a process of its own, in the same way for all: the matrix has each
            able = None if not CONTENT[kind][3] else not (kind == "sound" and provider in DEAF)
            expected = await outcome(provider, kind, "bytes", able)
            assert await outcome(provider, kind, "bytes", able, result=True) == expected, (provider, kind)
            assert await outcome(provider, kind, "bytes", False) == "as text", (provider, kind)

    asyncio.run(main())


def test_a_local_model_reads_text_alone(tmp_path: Path):
    path = tmp_path / "none.gguf"
    path.write_bytes(b"GGUF")
    profile = LocalModel(str(path)).profile
    assert (profile.vision, profile.documents, profile.audio) == (False, False, False)


def test_kinds_of_files():
    for mime, kind in [
        ("application/pdf", "pdf"),
        ("text/csv", "text"),
        ("application/ld+json", "text"),
        ("application/zip", "file"),
    ]:
        with row(mime, kind):
            assert kind_of(FilePart(data="aGk=", mime=mime)) == kind
