"""Colours for code, as the page has them (`web/src/markdown/highlight.ts`): one pattern per family of languages.

It never fails: what it does not know stays plain. Each alternative takes what it has looked at, or looks a bounded way
ahead, so the work is in proportion to the length.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape

_LONGEST = 60_000
_MOST_COLOURED = 2000
"""Each is an element of the page."""

_QUOTED = r'"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?'
_BLOCK = r"/\*.*?(?:\*/|\Z)"
_SLASHES = rf"//[^\n]*|{_BLOCK}"
_HASH = r"(?<![\w$&])#[^\n]*"
_PYTHON_WORDS = """
    False None True and as assert async await break class continue def del elif else except finally for from global
    if import in is lambda match case nonlocal not or pass raise return try while with yield self
"""
_SCRIPT_WORDS = """
    abstract any as async await boolean break case catch class const continue debugger declare default delete do
    else enum export extends false finally for from function get if implements import in infer instanceof interface
    is keyof let never new null number of private protected public readonly return satisfies set static string super
    switch this throw true try type typeof undefined unknown var void while yield
"""
_SHELL_WORDS = """
    if then else elif fi for while until do done case esac in function return exit export local readonly set unset
    source echo cd sudo select time
"""
_SQL_WORDS = """
    select from where and or not in is null as join left right inner outer full cross on group by order having limit
    offset insert into values update set delete create table view index drop alter add column primary key foreign
    references unique default check constraint union all distinct case when then else end exists between like ilike
    with recursive returning begin commit rollback grant revoke int integer text varchar char boolean date timestamp
    numeric real over partition using asc desc count sum avg min max coalesce true false
"""
_RUBY_WORDS = """
    def end if elsif else unless case when while until do class module return yield self nil true false and or not
    begin rescue ensure raise require include attr_accessor puts then in local function print library
"""
_C_WORDS = """
    if else for while do switch case default break continue return goto sizeof typedef struct union enum static
    const volatile extern inline void int long short char float double signed unsigned bool auto class public
    private protected virtual override final abstract interface extends implements new delete this super throw
    throws try catch finally import package namespace using template typename operator friend true false null
    nullptr NULL var let val fun func fn def impl trait pub mod use crate mut match loop in where as dyn async await
    move ref self Self type go chan defer select range map make nil string byte error i8 i16 i32 i64 u8 u16 u32 u64
    usize isize f32 f64 str Some None Ok Err instanceof synchronized boolean object foreach yield get set init guard
    when is out record sealed data companion suspend lateinit by internal open
"""
_PHP_WORDS = """
    function echo foreach as array endif isset empty php
"""
_YAML_WORDS = """
    true false null yes no on off True False
"""
_STYLE_WORDS = """
    important from to
"""
# By family: comment, what comes before the rest (`pattern, class`), string, words.
_Family = tuple[str, tuple[tuple[str, str], ...], str, str]
_PYTHON: _Family = (
    _HASH,
    ((r"@[\w.]+", "f"),),
    rf'[rbfuRBFU]{{0,2}}(?:""".*?(?:"""|\Z)|\'\'\'.*?(?:\'\'\'|\Z)|{_QUOTED})',
    _PYTHON_WORDS,
)
_SCRIPT: _Family = (_SLASHES, (), rf"`(?:\\.|[^`\\])*`?|{_QUOTED}", _SCRIPT_WORDS)
_DIRECTIVE = r"#\s{0,20}(?:include|define|if|ifdef|ifndef|endif|else|pragma|undef|derive)\b[^\n]*"
_C: _Family = (_SLASHES, ((_DIRECTIVE, "f"),), _QUOTED, _C_WORDS)
_SHELL: _Family = (
    _HASH,
    ((r"\$(?:\w+|\{[^}\n]*\}?|[?#@*!$-])", "a"), (r"(?<=\s)--?[A-Za-z][\w-]*", "a")),
    r'"(?:\\.|[^"\\])*"?|\'[^\']*\'?',
    _SHELL_WORDS,
)
_SQL: _Family = (rf"--[^\n]*|{_BLOCK}", (), r"""'(?:''|[^'])*'?|"(?:""|[^"\n])*"?""", _SQL_WORDS)
_JSON: _Family = (_SLASHES, ((r'"(?:\\.|[^"\\\n])*"(?=\s{0,20}:)', "a"),), _QUOTED, "true false null")
_YAML: _Family = (
    _HASH,
    (
        (r"^[ \t]{0,200}(?:- ){0,20}[\w.$/-]{1,200}(?=\s{0,20}[:=](?:\s|\Z))", "a"),
        (r"^[ \t]{0,200}\[[^\]\n]*\]", "k"),
        (r"[&*][A-Za-z]\w*", "f"),
    ),
    _QUOTED,
    _YAML_WORDS,
)
_MARKUP: _Family = (
    r"<!--.*?(?:-->|\Z)",
    ((r"</?[A-Za-z][\w:.-]*|/?>", "k"), (r"(?<=\s)[\w:@.-]{1,200}(?==)", "a"), (r"&#?\w{1,40};", "n")),
    _QUOTED,
    "",
)
_STYLE: _Family = (
    _SLASHES,
    (
        (r"@[\w-]+", "k"),
        (r"--[\w-]+", "a"),
        (r"[\w-]{1,60}(?=\s{0,20}:\s)", "a"),
        (r"#[0-9a-fA-F]{3,8}\b", "n"),
        (r"[.#][A-Za-z][\w-]*", "f"),
    ),
    _QUOTED,
    _STYLE_WORDS,
)
_RUBY: _Family = (_HASH, ((r"[:@]{1,2}\w+", "a"),), _QUOTED, _RUBY_WORDS)
_PHP: _Family = (rf"//[^\n]*|{_HASH}|{_BLOCK}", ((r"\$\w+", "a"),), _QUOTED, _C_WORDS + _PHP_WORDS)

_LANGUAGES: dict[str, _Family] = {
    name: family
    for names, family in (
        ("py python python3 pyi", _PYTHON),
        ("js javascript jsx ts typescript tsx mjs node", _SCRIPT),
        ("c h cpp c++ cc hpp java cs csharp go golang rust rs kotlin kt swift scala dart zig proto", _C),
        ("sh bash shell zsh console fish dockerfile powershell ps1 makefile", _SHELL),
        ("sql postgres postgresql sqlite mysql", _SQL),
        ("json json5 jsonc jsonl", _JSON),
        ("yaml yml toml ini cfg env properties", _YAML),
        ("html xml svg vue xhtml", _MARKUP),
        ("css scss less", _STYLE),
        ("rb ruby r lua elixir ex julia jl", _RUBY),
        ("php", _PHP),
    )
    for name in names.split()
}
_NUMBER = r"(?<!\w)(?:0[xX][\da-fA-F_]+|0[bB][01_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\w*"
_CHANGES = {"+": "i", "-": "d", "@": "f"}


def coloured(code: str, name: str) -> str:
    """The code as HTML, escaped, with a `span` for each thing that has a colour."""
    if name.lower() in ("diff", "patch"):
        return "\n".join(_span(_CHANGES.get(line[:1], ""), line) for line in code.split("\n"))
    family = _LANGUAGES.get(name.lower())
    if family is None or len(code) > _LONGEST:
        return escape(code)
    pattern, words = _compiled(family)
    parts: list[str] = []
    at = many = 0
    for found in pattern.finditer(code):
        kind = (found.lastgroup or "")[0]
        if kind == "w":
            kind = _of_word(
                found[0].lower() if family is _SQL else found[0], words, code[found.end() : found.end() + 1]
            )
        if not kind:
            continue
        parts += escape(code[at : found.start()]), _span(kind, found[0])
        at = found.end()
        many += 1
        if many >= _MOST_COLOURED:
            break
    return "".join([*parts, escape(code[at:])])


def _of_word(word: str, words: frozenset[str], after: str) -> str:
    return "k" if word in words else "f" if after == "(" else ""


@cache
def _compiled(family: _Family) -> tuple[re.Pattern[str], frozenset[str]]:
    """The name of a group begins with the class that it stands for; `w` is a word."""
    comment, more, string, words = family
    groups = [("c", comment), *((f"{kind}{place}", one) for place, (one, kind) in enumerate(more))]
    groups += ("s", string), ("n", _NUMBER), ("w", r"[A-Za-z_$][\w$]*")
    pattern = "|".join(f"(?P<{group}>{one})" for group, one in groups)
    return re.compile(pattern, re.ASCII | re.DOTALL | re.MULTILINE), frozenset(words.split())


def _span(kind: str, text: str) -> str:
    return f'<span class="tok-{kind}">{escape(text)}</span>' if kind else escape(text)
