"""Markdown as HTML, for pages that are looked at without a server: what models write, and nothing that acts or loads.

Whatever the text is, the work is in proportion to its length: each pattern looks a bounded way ahead, and what is
nested deeper than a reader can see is text. HTML in it is text, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from html import escape

from treadle._journal.pages.colours import coloured
from treadle._journal.pages.formulas import formula

_DEEPEST = 6
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})\s*([^\s`]{0,40})")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_QUOTE = re.compile(r" {0,3}> ?")
_ITEM = re.compile(r"( {0,12})([-*+]|\d{1,9}[.)])[ \t]+(?=\S)")
_TASK = re.compile(r"\[([ xX])\][ \t]+")
_COLUMNS = re.compile(r"\s{0,3}\|?(?:\s{0,9}:?-{1,60}:?\s{0,9}\|){0,100}\s{0,9}:?-{1,60}:?\s{0,9}\|?\s{0,9}$")
_CELL = re.compile(r"(?<!\\)\|")
_FORMULA = re.compile(r" {0,3}(\$\$|\\\[)")
_FORMULA_LINES = 60
_FOOTNOTE = re.compile(r"\[\^([^\]\s]{1,40})\]:[ \t]*")
# A sum of money is no formula: the first sign stands directly before something, the second directly after, and no digit
# follows.
_INLINE = re.compile(
    r"\$\$(?P<shown>(?:\\.|[^$\\]){1,2000}?)\$\$"
    r"|\$(?P<tex>(?=\S)(?:\\.|[^$\\\n]){0,1000}?[^\s\\$]|[^\s$])\$(?!\d)"
    r"|\\\((?P<round>(?:[^\\]|\\[^()]){1,2000}?)\\\)"
    r"|\\\[(?P<square>(?:[^\\]|\\[^\[\]]){1,2000}?)\\\]"
    r"|\[\^(?P<note>[^\]\s]{1,40})\]"
    r"|\\(?P<sign>[!-/:-@\[-`{-~])"
    r"|(?<!`)(?P<ticks>`{1,3})(?P<code>[^`\n]{1,500})(?P=ticks)(?!`)"
    r"|\*\*(?=\S)(?P<strong>(?:[^*\n]|\*(?!\*)){1,500}?)(?<=\S)\*\*"
    r"|(?<![\w*])\*(?=[^\s*])(?P<em>[^*\n]{1,500}?)(?<=\S)\*(?!\*)"
    r"|(?<!\w)_(?=[^\s_])(?P<under>[^_\n]{1,500}?)(?<=\S)_(?!\w)"
    r"|~~(?=\S)(?P<gone>[^~\n]{1,500}?)(?<=\S)~~"
    r"|(?P<picture>!?)\[(?P<words>[^\[\]\n]{0,500})\]\((?P<address>[^\s()<>]{1,2000})\)"
    r"|(?P<bare>https?://[^\s<>()\[\]\"'`*]{1,2000})"
    r"|(?P<line>(?: {2,20}|\\)\n)"
)
_LEADS = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


def html_of_markdown(source: str, pictures: Mapping[str, str] | None = None) -> str:
    """Safe HTML. `pictures` are addresses (`data:`) by the name under which a text shows them."""
    return "\n".join(_blocks(source.replace("\r\n", "\n").split("\n"), pictures or {}, 0))


def _blocks(lines: list[str], pictures: Mapping[str, str], deep: int) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif fence := _FENCE.match(line):
            end = _fence_end(lines, at, fence[1])
            yield _fenced("\n".join(lines[at + 1 : end]), fence[2])
            at = end + 1
        elif (end := _formula_end(lines, at)) > at:
            yield _displayed("\n".join(lines[at:end]).strip()[2:-2].strip())
            at = end
        elif note := _FOOTNOTE.match(line):
            end = _end(lines, at + 1, lambda one: bool(one.strip()) and not _FOOTNOTE.match(one))
            words = " ".join([line[note.end() :], *(one.strip() for one in lines[at + 1 : end])])
            yield f"<p class=footnote><sup>{escape(note[1])}</sup> {_inline(words, pictures)}</p>"
            at = end
        elif heading := _HEADING.match(line):
            level = min(6, len(heading[1]) + 2)  # the page has headings of its own above it
            yield f"<h{level}>{_inline(heading[2].rstrip('# '), pictures)}</h{level}>"
            at += 1
        elif _RULE.match(line):
            yield "<hr>"
            at += 1
        elif deep < _DEEPEST and _QUOTE.match(line):
            end = _end(lines, at, lambda one: bool(one.strip()))
            inside = [_QUOTE.sub("", one, count=1) for one in lines[at:end]]
            yield f"<blockquote>{chr(10).join(_blocks(inside, pictures, deep + 1))}</blockquote>"
            at = end
        elif deep < _DEEPEST and (item := _ITEM.match(line)):
            end = _list_end(lines, at, item)
            yield _list(lines[at:end], item, pictures, deep)
            at = end
        elif "|" in line and at + 1 < len(lines) and "|" in lines[at + 1] and _COLUMNS.match(lines[at + 1]):
            end = _end(lines, at, lambda one: "|" in one)
            yield _table(lines[at:end], pictures)
            at = end
        else:
            end = max(at + 1, _end(lines, at, lambda one: bool(one.strip()) and not _begins(one, deep)))
            yield f"<p>{_inline(chr(10).join(lines[at:end]), pictures)}</p>"
            at = end


def _begins(line: str, deep: int) -> bool:
    """Return whether a line ends the paragraph before it."""
    nested = deep < _DEEPEST and (_QUOTE.match(line) or _ITEM.match(line))
    others = (_FENCE, _HEADING, _RULE, _FORMULA, _FOOTNOTE)
    return bool(nested or any(pattern.match(line) for pattern in others))


def _end(lines: list[str], at: int, belongs: Callable[[str], bool]) -> int:
    return next((place for place in range(at, len(lines)) if not belongs(lines[place])), len(lines))


def _fence_end(lines: list[str], at: int, mark: str) -> int:
    closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}\s*$")
    return next((place for place in range(at + 1, len(lines)) if closing.match(lines[place])), len(lines))


def _fenced(code: str, name: str) -> str:
    if name.lower() in ("math", "latex", "tex") and code.strip():
        return _displayed(code.strip())
    return f"<pre><code>{coloured(code, name)}</code></pre>"


def _displayed(tex: str) -> str:
    return f'<div class="math" tabindex="0" role="group" aria-label="Formula">{formula(tex, True)}</div>'


def _formula_end(lines: list[str], at: int) -> int:
    """Past the lines of a formula that stands by itself; where it would begin, if there is none."""
    found = _FORMULA.match(lines[at])
    if found is None:
        return at
    closing = "$$" if found[1] == "$$" else "\\]"
    rest = lines[at][found.end() :]
    for end in range(at, min(len(lines), at + _FORMULA_LINES)):
        before, close, after = (lines[end] if end > at else rest).partition(closing)
        if close:
            whole = not after.strip() and ("".join(lines[at + 1 : end]) + before + rest * (end > at)).strip()
            return end + 1 if whole else at
    return at


def _list_end(lines: list[str], at: int, first: re.Match[str]) -> int:
    """Past the last line that is an item, is indented, or goes on with the words of one."""
    end = at + 1
    while end < len(lines):
        line = lines[end]
        blank_before = not lines[end - 1].strip()
        item = _ITEM.match(line)
        if item and len(item[1]) <= len(first[1]) and item[2][0].isdigit() != first[2][0].isdigit():
            break  # a list of the other kind
        if line.strip() and not item and not line.startswith("  ") and (blank_before or _begins(line, 0)):
            break
        end += 1
    return end


def _list(lines: list[str], first: re.Match[str], pictures: Mapping[str, str], deep: int) -> str:
    indent = len(first[1])
    items: list[list[str]] = []
    for line in lines:
        item = _ITEM.match(line)
        if item and len(item[1]) <= indent + 1:
            items.append([line[item.end() :]])
        else:
            items[-1].append(line[min(len(line) - len(line.lstrip(" ")), indent + len(first[2]) + 1) :])
    ordered = first[2][0].isdigit()
    start = f' start="{int(first[2][:-1])}"' if ordered and first[2][:-1] != "1" else ""
    inside = "".join(f"<li>{_item(item, pictures, deep)}</li>" for item in items)
    return f"<{'ol' if ordered else 'ul'}{start}>{inside}</{'ol' if ordered else 'ul'}>"


def _item(lines: list[str], pictures: Mapping[str, str], deep: int) -> str:
    task = _TASK.match(lines[0])
    mark = ""
    if task:
        mark = "☐ " if task[1] == " " else "☑ "
        lines = [lines[0][task.end() :], *lines[1:]]
    inside = "\n".join(_blocks(lines, pictures, deep + 1))
    tight = inside.count("<p>") == 1 and inside.startswith("<p>")
    return mark + (inside.replace("<p>", "", 1).replace("</p>", "", 1) if tight else inside)


def _table(lines: list[str], pictures: Mapping[str, str]) -> str:
    def cells(line: str) -> list[str]:
        return [
            cell.strip().replace("\\|", "|") for cell in _CELL.split(line.strip().removeprefix("|").removesuffix("|"))
        ]

    head = cells(lines[0])
    top = "".join(f"<th>{_inline(cell, pictures)}</th>" for cell in head)
    rows = (cells(line)[: len(head)] for line in lines[2:])
    body = "".join(f"<tr>{''.join(f'<td>{_inline(cell, pictures)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div class=table><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"


def _inline(text: str, pictures: Mapping[str, str], deep: int = 0) -> str:
    parts: list[str] = []
    at = 0
    for found in _INLINE.finditer(text):
        parts += escape(text[at : found.start()]), _marked(found, pictures, deep)
        at = found.end()
    return "".join([*parts, escape(text[at:])])


def _marked(found: re.Match[str], pictures: Mapping[str, str], deep: int) -> str:
    def within(tag: str, text: str) -> str:
        return f"<{tag}>{_inline(text, pictures, deep + 1) if deep < _DEEPEST else escape(text)}</{tag}>"

    match found.groupdict():
        case {"shown": str(tex)} | {"square": str(tex)} if tex.strip():
            return f'<span class="math">{formula(tex.strip(), True)}</span>'
        case {"tex": str(tex)} | {"round": str(tex)} if tex.strip():
            return f'<span class="math">{formula(tex.strip(), False)}</span>'
        case {"note": str(name)}:
            return f"<sup>{escape(name)}</sup>"
        case {"code": str(code)}:
            return f"<code>{escape(code)}</code>"
        case {"strong": str(words)}:
            return within("strong", words)
        case {"em": str(words)} | {"under": str(words)}:
            return within("em", words)
        case {"gone": str(words)}:
            return within("del", words)
        case {"address": str(address), "words": words, "picture": picture}:
            return _link(address, words or "", bool(picture), pictures)
        case {"bare": str(address)}:
            kept = address.rstrip(".,;:!?")
            return _anchor(kept, kept) + escape(address[len(kept) :])
        case {"line": str()}:
            return "<br>"
        case _:
            return escape(found["sign"] or found[0])


def _link(address: str, words: str, picture: bool, pictures: Mapping[str, str]) -> str:
    """A picture of the run itself, an address that is only gone to by a click, or the words alone."""
    name = address.rpartition("/")[2]
    if picture and (data := pictures.get(name)):
        return f'<img src="{escape(data)}" alt="{escape(words)}">'
    return _anchor(address, words or address) if _LEADS.match(address) else escape(words or address)


def _anchor(address: str, words: str) -> str:
    return f'<a href="{escape(address)}" rel="noopener noreferrer nofollow">{escape(words)}</a>'
