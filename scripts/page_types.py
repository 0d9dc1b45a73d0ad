"""Write the page's types of view items, `web/src/items.ts`, from `treadle._view.items`.

python3 scripts/page_types.py            write it
python3 scripts/page_types.py --check    fail if it is not what the items say
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, get_args

import msgspec.inspect as mi

from treadle._view.items import Item

FILE = Path(__file__).resolve().parent.parent / "web" / "src" / "items.ts"
HEAD = """\
// The view items of a run, as the server sends them. Written by scripts/page_types.py from src/treadle/_view/items.py.

import type { Json } from "./types";
"""


def typescript() -> str:
    """The interfaces of all items and of the values in them, and the union of the items."""
    infos = [mi.type_info(item) for item in get_args(Item)]
    structs: dict[str, mi.StructType] = {}
    for info in infos:
        _collect(info, structs)
    parts = [HEAD, *(_interface(info) for info in structs.values())]
    parts.append(f"export type Item = {' | '.join(item.__name__ for item in get_args(Item))};\n")
    return "\n".join(parts)


def _collect(info: Any, structs: dict[str, mi.StructType]) -> None:
    """Every struct that a type is made of, those inside first."""
    match info:
        case mi.StructType(cls=cls, fields=fields):
            for field in fields:
                _collect(field.type, structs)
            structs.setdefault(cls.__name__, info)
        case mi.UnionType(types=types):
            for one in types:
                _collect(one, structs)
        case mi.VarTupleType(item_type=item) | mi.ListType(item_type=item):
            _collect(item, structs)
        case _:
            pass


def _interface(info: mi.StructType) -> str:
    lines = [f"  {info.tag_field}: {_quoted(info.tag)};"] if info.tag_field else []
    omits = info.cls.__struct_config__.omit_defaults
    for field in info.fields:
        optional = "?" if omits and not field.required else ""
        lines.append(f"  {field.encode_name}{optional}: {_type(field.type)};")
    return "\n".join([f"export interface {info.cls.__name__} {{", *lines, "}", ""])


def _type(info: Any) -> str:
    match info:
        case mi.AnyType():
            return "Json"
        case mi.NoneType():
            return "null"
        case mi.BoolType():
            return "boolean"
        case mi.IntType() | mi.FloatType():
            return "number"
        case mi.StrType():
            return "string"
        case mi.LiteralType(values=values):
            return " | ".join(map(_quoted, values))
        case mi.VarTupleType(item_type=item) | mi.ListType(item_type=item):
            inner = _type(item)
            return f"({inner})[]" if "|" in inner else f"{inner}[]"
        case mi.DictType(value_type=value):
            return f"Record<string, {_type(value)}>"
        case mi.UnionType(types=types):
            return " | ".join(_type(one) for one in types)
        case mi.StructType(cls=cls):
            return cls.__name__
        case _:
            raise TypeError(f"the page has no type for {info}")


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def main(arguments: list[str]) -> int:
    text = typescript()
    if "--check" in arguments:
        current = FILE.read_text("utf-8") if FILE.is_file() else ""
        if current != text:
            print(f"stale: {FILE.name}; write it again with python3 scripts/page_types.py", file=sys.stderr)
        return int(current != text)
    FILE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
