"""The format of well-known keys, complete and only begun."""

from __future__ import annotations

from treadle._safety.key_shapes import SHAPES, begins_at, is_whole_key


def test_where_a_key_begins_that_is_not_complete():
    for text, begun in (
        ("see s", "s"),
        ("see sk", "sk"),
        ("see sk-", "sk-"),
        ("see sk_li", "sk_li"),
        ("tas", ""),
        ("task-", "-"),
        ("task-a", ""),
        ("a Bearer abc", "Bearer abc"),
        ("a Bearer abc d", ""),
        ("x -----BEGIN RSA PRI", "-----BEGIN RSA PRI"),
        ("x -----BEGIN PRIVATE KEY-----\nabc\n", "-----BEGIN PRIVATE KEY-----\nabc\n"),
        ("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n", ""),
        (
            "-----BEGIN PRIVATE KEY-----\nabc\n-----END CERTIFICATE-----\n",
            "-----BEGIN PRIVATE KEY-----\nabc\n-----END CERTIFICATE-----\n",
        ),
        ("-----BEGIN CERTIFICATE-----\nabc\n", ""),
        ("", ""),
    ):
        assert text[begins_at(text) :] == begun, text


def test_whole_keys():
    assert is_whole_key("sk-" + "a" * 20)
    assert not is_whole_key("sk-" + "a" * 19)
    assert not is_whole_key("see sk-" + "a" * 20)


def test_every_shape_has_a_mark_in_its_expression():
    assert all(shape.marks and shape.begun for shape in SHAPES)
