import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import row
from treadle._models.transport import sse
from treadle._models.transport.sse import SSEParser
from treadle._types.errors import BadReplyError


def read(data: bytes, size: int | None = None) -> list[bytes]:
    parser = SSEParser()
    pieces = [data] if size is None else [data[i : i + size] for i in range(0, len(data), size)]
    return [payload for piece in pieces for payload in parser.feed(piece)] + parser.close()


def test_every_line_end_and_split_gives_the_same_payloads():
    for size, end in product([None, 1, 2, 3, 7, 64], ["\n", "\r\n", "\r"]):
        with row(size, end):
            text = (
                ': keep-alive\n\nevent: x\ndata: {"a":"ü€😀"}\nid: 4\n\n: ping\n\n'
                "data:two\n\n\n\ndata: a\ndata: b\n\ndata: [DONE]\n\n"
            )
            assert read(text.replace("\n", end).encode(), size) == ['{"a":"ü€😀"}'.encode(), b"two", b"a\nb", b"[DONE]"]


def test_a_missing_final_blank_line_loses_nothing():
    for tail in ["", "\n", "\r", "\r\n"]:
        with row(tail):
            assert read(f"data: one\n\ndata: last{tail}".encode()) == [b"one", b"last"]


def test_only_one_space_after_the_colon_is_not_data():
    assert read(b"data:  x \n\n") == [b" x "]


def test_lines_that_are_not_data_are_ignored():
    assert read(b"database: no\nretry: 10\ndata\nfoo\n\ndata: yes\n\n") == [b"yes"]


def test_an_endless_line_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sse, "MAX_EVENT", 100)
    with pytest.raises(BadReplyError, match="larger than 100"):
        read(b"data: " + b"a" * 200, 7)


@given(
    st.lists(st.dictionaries(st.text(), st.text()), max_size=6),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(1, 9),
    st.lists(st.sampled_from([": ping", "event: x", "id: 1"]), max_size=3),
)
def test_any_payload_survives_any_split(values: list[dict[str, str]], end: str, size: int, noise: list[str]):
    lines = [line for value in values for line in (*noise, f"data: {json.dumps(value, ensure_ascii=False)}", "")]
    data = "".join(line + end for line in lines).encode()
    assert [json.loads(payload) for payload in read(data, size)] == values
