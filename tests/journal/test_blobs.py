"""Contents beside the rows: what is taken out of an event, and what is put back."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

import pytest

from treadle._journal.blobs import SMALLEST, attached, detached, references
from treadle._types.errors import CorruptLogError
from treadle._types.events import ContextCompacted, RunStarted, encode_event
from treadle._types.messages import AudioPart, FilePart, ImagePart, UserMessage

RAW = bytes(range(256)) * 20
DATA = b64encode(RAW).decode()
KEY = sha256(RAW).hexdigest()


@pytest.mark.parametrize("part", [ImagePart, AudioPart, FilePart])
def test_every_kind_of_part_is_taken_out_and_put_back(part: type[ImagePart]):
    event = RunStarted((part(data=DATA, name="x"),), history=(UserMessage((part(data=DATA),)),))
    bare, contents = detached(event)
    assert contents == {KEY: RAW}
    assert DATA.encode() not in encode_event(bare)
    assert references(encode_event(bare)) == [KEY, KEY]
    assert attached(bare, contents.get) == event


def test_what_replaces_a_message_is_looked_into():
    event = ContextCompacted(covers=(1,), replaced={1: (ImagePart(data=DATA),)})
    bare, contents = detached(event)
    assert contents == {KEY: RAW}
    assert attached(bare, contents.get) == event


def test_small_contents_and_addresses_stay():
    event = RunStarted((ImagePart(data=DATA[: SMALLEST - 4]), ImagePart(url="https://example.org/" + "a" * 9000)))
    assert detached(event) == (event, {})


def test_base64_that_would_not_come_back_the_same_stays():
    event = RunStarted((ImagePart(data=DATA + "\n"), ImagePart(data="!" + DATA[1:])))
    assert detached(event) == (event, {})


def test_a_wrong_content_is_not_put_back():
    bare, _ = detached(RunStarted((ImagePart(data=DATA),)))
    with pytest.raises(CorruptLogError, match="missing or damaged"):
        attached(bare, {KEY: b"other"}.get)
