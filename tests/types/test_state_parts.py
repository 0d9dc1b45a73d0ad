"""The parts of a run's state: who has what, and that old names say where to look."""

from __future__ import annotations

from typing import get_args

import pytest

from treadle._types import events as ev
from treadle._types.state import RunState


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("window", "conversation.window"),
        ("open", "calls.open"),
        ("candidate", "answer.candidate"),
        ("constraint", "constraints.next"),
        ("spent", "spending.components"),
        ("pending_calls", "calls.pending()"),
    ],
)
def test_an_old_name_says_where_to_look(old: str, new: str):
    with pytest.raises(
        AttributeError, match=rf"no attribute '{old}': read state\.{new.replace('(', '.').replace(')', '.')}"
    ):
        getattr(RunState(), old)


def test_an_unknown_name_is_an_ordinary_error():
    with pytest.raises(AttributeError, match=r"'RunState' object has no attribute 'nothing'$"):
        getattr(RunState(), "nothing".lower())


def test_every_handler_is_of_an_event():
    tags = {event.__struct_config__.tag for event in get_args(ev.Event)}
    state = RunState()
    parts = [state, *vars(state).values()]
    handlers = {name for part in parts for name in dir(type(part)) if name.startswith("on_")}
    assert {name.removeprefix("on_") for name in handlers} <= tags
