"""Random values of any message, event or record type, made from the types themselves: nothing has to be listed."""

from __future__ import annotations

from typing import Any

import msgspec.inspect as mi
from hypothesis import strategies as st

from treadle._types.intent import Permit, Rule
from treadle._types.profile import DecisionThresholds, Prices

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type that msgspec understands: frozen structs, unions, tuples and what they hold."""
    return _values(mi.type_info(kind))


def _values(info: mi.Type) -> st.SearchStrategy[Any]:
    match info:
        case mi.AnyType():
            return json_values
        case mi.NoneType():
            return st.none()
        case mi.BoolType():
            return st.booleans()
        case mi.IntType():
            return st.integers(-(2**53), 2**53)
        case mi.FloatType():
            return st.floats(allow_nan=False, allow_infinity=False)
        case mi.StrType():
            return st.text(max_size=12)
        case mi.LiteralType(values=values):
            return st.sampled_from(values)
        case mi.VarTupleType(item_type=item):
            return st.lists(_values(item), max_size=3).map(tuple)
        case mi.CollectionType(item_type=item):
            return st.lists(_values(item), max_size=3)
        case mi.DictType(key_type=key, value_type=value):
            return st.dictionaries(_values(key), _values(value), max_size=3)
        case mi.UnionType(types=types):
            return st.one_of([_values(one) for one in types])
        case mi.StructType(cls=cls) if cls is DecisionThresholds:  # a probability is between 0 and 1
            share = st.floats(0, 1)
            return st.builds(DecisionThresholds, share, share, st.sampled_from(("direct", "compact")))
        case mi.StructType(cls=cls) if cls is Prices:  # refuses what no price can be
            price = st.floats(0, 1e6)
            return st.builds(Prices, price, price, st.none() | price, st.none() | price)
        case mi.StructType(cls=cls) if cls is Rule:  # holds rules itself
            return st.builds(Rule, values=st.lists(json_values, max_size=3).map(tuple))
        case mi.StructType(cls=cls) if cls is Permit:
            rules = st.dictionaries(st.text(max_size=5), values_of(Rule), max_size=3)
            return st.builds(Permit, st.text(max_size=12), st.integers(1, 9), st.none() | rules)
        case mi.StructType(cls=cls, fields=fields):
            return st.builds(cls, **{field.name: _values(field.type) for field in fields})
        case _:
            raise TypeError(f"no strategy for {info}")
