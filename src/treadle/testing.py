"""For tests of your own agents: scripted and other models, recorded provider traffic, assertions about runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle._lazy import lazy_getattr

if TYPE_CHECKING:
    from treadle._models.scripted import ScriptedModel as ScriptedModel
    from treadle._testing.assertions import assert_answered as assert_answered
    from treadle._testing.assertions import assert_called as assert_called
    from treadle._testing.assertions import assert_export_replays as assert_export_replays
    from treadle._testing.assertions import assert_not_called as assert_not_called
    from treadle._testing.assertions import assert_prefix_stable as assert_prefix_stable
    from treadle._testing.assertions import assert_replays as assert_replays
    from treadle._testing.assertions import assert_tools as assert_tools
    from treadle._testing.models import FunctionModel as FunctionModel
    from treadle._testing.models import TestModel as TestModel
    from treadle._testing.servers import TrafficPlayer as TrafficPlayer
    from treadle._testing.servers import TrafficRecorder as TrafficRecorder
    from treadle._testing.traffic import Exchange as Exchange
    from treadle._testing.traffic import load_traffic as load_traffic

_LAZY_IMPORTS = {
    "assert_tools": "_testing.assertions",
    "assert_not_called": "_testing.assertions",
    "assert_called": "_testing.assertions",
    "assert_answered": "_testing.assertions",
    "TestModel": "_testing.models",
    "FunctionModel": "_testing.models",
    "Exchange": "_testing.traffic",
    "ScriptedModel": "_models.scripted",
    "TrafficPlayer": "_testing.servers",
    "TrafficRecorder": "_testing.servers",
    "assert_export_replays": "_testing.assertions",
    "assert_prefix_stable": "_testing.assertions",
    "assert_replays": "_testing.assertions",
    "load_traffic": "_testing.traffic",
}

__all__ = sorted(_LAZY_IMPORTS)  # pyright: ignore[reportUnsupportedDunderAll] - the names are imported on use
if not TYPE_CHECKING:  # to a type checker, a module with `__getattr__` has every name
    __getattr__ = lazy_getattr(__name__, _LAZY_IMPORTS)


def __dir__() -> list[str]:
    return __all__
