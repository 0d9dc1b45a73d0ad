"""Where a document is refused, the error names the line."""

from __future__ import annotations

import pytest
import yaml

from treadle._safety.yaml_loader import loader


def read(text: str, *, depth: int = 10, nodes: int = 20, number: int = 5):
    return loader(text, depth, nodes, number).get_single_data()


def test_an_alias_counts_as_all_that_it_repeats():
    # the outer mapping, a, the list, 1, 2, b, the alias: the list and its two values once more
    assert read("a: &a [1, 2]\nb: *a", nodes=9) == {"a": [1, 2], "b": [1, 2]}
    with pytest.raises(yaml.YAMLError, match=r"more than 8 values(.|\n)*line 2, column 4"):
        read("a: &a [1, 2]\nb: *a", nodes=8)


def test_an_anchor_that_is_given_twice_or_never_is_refused():
    for text in ("- &a 1\n- &a 2", "- *a"):
        with pytest.raises(yaml.YAMLError, match=r"line [12]"):
            read(text)


def test_depth_is_that_of_the_document_and_ends_with_each_part():
    assert read("[[[1]], [[1]], [[1]]]", depth=4) == [[[1]]] * 3
    with pytest.raises(yaml.YAMLError, match="line 1, column 4"):
        read("[[[1]], 2]", depth=3)


def test_no_more_is_scanned_than_may_be_nested():
    deep = loader("[" * 1_000, 10, 20, 5)
    with pytest.raises(yaml.YAMLError, match="more than 10 lists and mappings"):
        deep.get_single_data()
    assert deep.index == 10


def test_numbers():
    assert read("[12345, 1.5, 0x1F, '123456']") == [12345, 1.5, 31, "123456"]
    with pytest.raises(yaml.YAMLError, match="more than 5 characters"):
        read("1.00000")
    assert read("false") is False
