"""Formulas as MathML, as the page has them (`web/src/markdown/math.ts`): the part of TeX that models write.

Everything that comes from the source is escaped. What this does not know, what is too long or too deep stays as it was
written, as code.
"""
# ruff: noqa: RUF001 - letters and signs of formulas

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

_MOST_NESTED = 60
_LONGEST = 5_000


def _pairs(text: str) -> dict[str, str]:
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=True))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LETTERS = _pairs("""
    alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ lambda λ
    mu μ nu ν xi ξ pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ omega
    ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω ell ℓ hbar ℏ imath ı jmath
    ȷ Re ℜ Im ℑ aleph ℵ wp ℘ infty ∞ partial ∂ nabla ∇ emptyset ∅ varnothing ∅ degree ° prime ′ top ⊤ bot ⊥ angle
    ∠ triangle △ square □ dots … ldots … cdots ⋯ vdots ⋮ ddots ⋱
""")
_OPERATORS = _pairs(r"""
    times × cdot ⋅ div ÷ pm ± mp ∓ ast ∗ star ⋆ circ ∘ bullet ∙ oplus ⊕ ominus ⊖ otimes ⊗ odot ⊙ wedge ∧ land ∧
    vee ∨ lor ∨ cap ∩ cup ∪ setminus ∖ le ≤ leq ≤ ge ≥ geq ≥ ne ≠ neq ≠ ll ≪ gg ≫ approx ≈ sim ∼ simeq ≃ cong ≅
    equiv ≡ propto ∝ in ∈ notin ∉ ni ∋ subset ⊂ subseteq ⊆ supset ⊃ supseteq ⊇ to → rightarrow → leftarrow ←
    leftrightarrow ↔ Rightarrow ⇒ implies ⟹ Leftarrow ⇐ Leftrightarrow ⇔ iff ⟺ mapsto ↦ uparrow ↑ downarrow ↓
    forall ∀ exists ∃ nexists ∄ neg ¬ lnot ¬ mid ∣ parallel ∥ perp ⊥ vdash ⊢ models ⊨ langle ⟨ rangle ⟩ lfloor ⌊
    rfloor ⌋ lceil ⌈ rceil ⌉ lvert | rvert | lVert ‖ rVert ‖ Vert ‖ vert | colon : therefore ∴ because ∵ prec ≺
    succ ≻ asymp ≍ doteq ≐ triangleq ≜ lbrace { rbrace } backslash \
""")
_BIG = _pairs("""
    sum ∑ prod ∏ coprod ∐ int ∫ iint ∬ iiint ∭ oint ∮ bigcup ⋃ bigcap ⋂ bigoplus ⨁ bigotimes ⨂ bigvee ⋁ bigwedge ⋀
""")
_FUNCTIONS = _words("""
    sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp lim limsup liminf max min sup inf
    det dim ker gcd deg arg argmax argmin Pr hom mod
""")
_UNDER = _words("lim limsup liminf max min sup inf argmax argmin det gcd Pr")
_ACCENTS = _pairs("""
    hat ^ widehat ^ bar ¯ overline ¯ tilde ~ widetilde ~ vec → overrightarrow → dot ˙ ddot ¨ check ˇ acute ´ grave
    ` breve ˘
""")
_SPACES = {
    **_pairs("""
    , 0.17em : 0.22em ; 0.28em ! -0.17em quad 1em qquad 2em enspace 0.5em thinspace 0.17em
"""),
    " ": "0.25em",
}
_FENCES = {
    "matrix": ("", ""),
    "pmatrix": ("(", ")"),
    "bmatrix": ("[", "]"),
    "Bmatrix": ("{", "}"),
    "vmatrix": ("|", "|"),
    "Vmatrix": ("‖", "‖"),
    "cases": ("{", ""),
    "smallmatrix": ("", ""),
}
_FONTS = _pairs("""
    mathbf bold boldsymbol bold bm bold mathrm normal operatorname normal mathit italic mathsf sans-serif mathtt
    monospace mathbb double-struck mathcal script mathscr script mathfrak fraktur
""")
_STARTS = {
    "bold": (0x1D400, 0x1D41A),
    "script": (0x1D49C, 0x1D4B6),
    "fraktur": (0x1D504, 0x1D51E),
    "double-struck": (0x1D538, 0x1D552),
    "sans-serif": (0x1D5A0, 0x1D5BA),
    "monospace": (0x1D670, 0x1D68A),
}
_HOLES = _pairs("""
    scriptB ℬ scriptE ℰ scriptF ℱ scriptH ℋ scriptI ℐ scriptL ℒ scriptM ℳ scriptR ℛ scripte ℯ scriptg ℊ scripto ℴ
    frakturC ℭ frakturH ℌ frakturI ℑ frakturR ℜ frakturZ ℨ double-struckC ℂ double-struckH ℍ double-struckN ℕ
    double-struckP ℙ double-struckQ ℚ double-struckR ℝ double-struckZ ℤ
""")
_ALIGNED = _words("aligned align split gathered gather equation eqnarray")
_NOTHING = _words("displaystyle textstyle limits nolimits nonumber notag")
_BIGGER = _words("big Big bigg Bigg bigl bigr Bigl Bigr")
_DIGITS = frozenset("0123456789")
_TOKEN = re.compile(r"\\(?:[A-Za-z]+\*?|.)|\s+|%[^\n]*\n?|.", re.DOTALL)


class _UnknownError(Exception):
    """Something that is shown as it was written."""


def formula(source: str, display: bool) -> str:
    """The MathML of a formula; its source when it has something that this does not know."""
    block = ' display="block"' if display else ""
    try:
        if len(source) > _LONGEST:
            raise _UnknownError
        drawn = _Parser(_TOKEN.findall(source)).all()
    except _UnknownError:
        return f"<code>{escape(source)}</code>"
    note = f'<annotation encoding="application/x-tex">{escape(source)}</annotation>'
    return f"<math{block}><semantics>{drawn}{note}</semantics></math>"


def _row(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"


def _operator(sign: str, more: str = "") -> str:
    return f"<mo{more}>{escape(sign)}</mo>"


def _space(width: str) -> str:
    return f'<mspace width="{width}"></mspace>'


def _never(_: str) -> bool:
    return False


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.font = ""

    def all(self) -> str:
        parts = self.until(_never)
        if self.at < len(self.tokens):
            raise _UnknownError
        return f"<mrow>{''.join(parts)}</mrow>"

    def token(self, ahead: int = 0) -> str:
        """The next one as it stands; empty at the end."""
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def peek(self) -> str:
        """The next one that means something; empty at the end."""
        while (token := self.token()) and (token[0].isspace() or token[0] == "%"):
            self.at += 1
        return token

    def until(self, ends: Callable[[str], bool]) -> list[str]:
        parts: list[str] = []
        while (token := self.peek()) and token != "}" and not ends(token):
            parts.append(self.scripted())
        return parts

    def scripted(self) -> str:
        """One thing with what stands below and above it."""
        first = self.peek()
        name = first[1:]
        limits = not name.endswith("int") if name in _BIG else name in _UNDER
        if first in _DIGITS or (first == "." and self.token(1) in _DIGITS):
            base = self.number()
        else:
            base = "<mrow></mrow>" if first in ("^", "_") else self.one()
        under = over = ""
        while (token := self.peek()) in ("^", "_", "'", "\\limits"):
            self.at += 1
            if token == "'":
                over += _operator("′")
            elif token == "_":
                under += self.one()
            elif token == "^":
                over += self.one()
        low, high = f"<mrow>{under}</mrow>", f"<mrow>{over}</mrow>"
        if under and over:
            tag = "munderover" if limits else "msubsup"
            return f"<{tag}>{base}{low}{high}</{tag}>"
        if not under and not over:
            return base
        tag = ("munder" if under else "mover") if limits else ("msub" if under else "msup")
        return f"<{tag}>{base}{low if under else high}</{tag}>"

    def one(self) -> str:
        self.depth += 1
        if self.depth > _MOST_NESTED:
            raise _UnknownError
        drawn = self.single()
        self.depth -= 1
        return drawn

    def single(self) -> str:
        token = self.peek()
        if not token or token in "&#$}":
            raise _UnknownError
        self.at += 1
        if token == "{":
            return self.closed()
        if token[0] == "\\":
            return self.command(token[1:])
        if token in _DIGITS:  # what a command is given is one digit
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return self.letter(token)
        if token == "~":
            return _space("0.25em")
        return _operator({"-": "−", "*": "∗"}.get(token, token))

    def number(self) -> str:
        """A point or a comma is part of it when a digit follows."""
        found = self.token()
        self.at += 1
        while (token := self.token()) and (token in _DIGITS or (token in ".," and self.token(1) in _DIGITS)):
            found += token
            self.at += 1
        return f"<mn>{found}</mn>"

    def letter(self, sign: str) -> str:
        if self.font == "normal":
            return f'<mi mathvariant="normal">{escape(sign)}</mi>'
        starts = _STARTS.get(self.font)
        if hole := _HOLES.get(self.font + sign):
            sign = hole
        elif starts and sign.isascii():
            sign = chr(starts[0] + ord(sign) - 65 if sign.isupper() else starts[1] + ord(sign) - 97)
        return f"<mi>{escape(sign)}</mi>"

    def closed(self) -> str:
        parts = self.until(_never)
        if self.token() != "}":
            raise _UnknownError
        self.at += 1
        return _row(parts)

    def text(self) -> str:
        if self.peek() != "{":
            raise _UnknownError
        words: list[str] = []
        opened = 1
        while opened:
            self.at += 1
            token = self.token()
            if not token:
                raise _UnknownError
            opened += (token == "{") - (token == "}")
            if token not in "{}":
                words.append(token[1:] if token[0] == "\\" and not re.match(r"[A-Za-z]", token[1:]) else token)
        self.at += 1
        return "".join(words)

    def command(self, name: str) -> str:
        if letter := _LETTERS.get(name):
            return f"<mi>{letter}</mi>"
        if sign := _OPERATORS.get(name):
            return _operator(sign)
        if big := _BIG.get(name):
            return _operator(big, ' largeop="true"')
        if name in _FUNCTIONS:
            apart = _space("0.17em") if re.match(r"[A-Za-z0-9(\\]", self.peek()) else ""
            return f"<mi>{name}</mi>{apart}"
        if space := _SPACES.get(name):
            return _space(space)
        if name in frozenset("{}$%&#_|"):
            return _operator("‖" if name == "|" else name)
        if accent := _ACCENTS.get(name):
            return f'<mover accent="true">{self.one()}{_operator(accent)}</mover>'
        if font := _FONTS.get(name):
            return self.styled(font)
        return self.built(name)

    def styled(self, font: str) -> str:
        before, self.font = self.font, font
        inner = self.one()
        self.font = before
        return inner.replace('</mi><mi mathvariant="normal">', "") if font == "normal" else inner

    def built(self, name: str) -> str:
        match name:
            case "frac" | "dfrac" | "tfrac" | "cfrac":
                return f"<mfrac>{self.one()}{self.one()}</mfrac>"
            case "binom":
                both = f'<mfrac linethickness="0">{self.one()}{self.one()}</mfrac>'
                return f"<mrow>{_operator('(')}{both}{_operator(')')}</mrow>"
            case "sqrt":
                return self.root()
            case "text" | "textrm" | "mbox" | "textbf" | "textit":
                return f"<mtext>{escape(self.text())}</mtext>"
            case "underline":
                return f"<munder>{self.one()}{_operator('_')}</munder>"
            case "overbrace":
                return f"<mover>{self.one()}{_operator('⏞')}</mover>"
            case "underbrace":
                return f"<munder>{self.one()}{_operator('⏟')}</munder>"
            case "stackrel" | "overset":
                over = self.one()
                return f"<mover>{self.one()}{over}</mover>"
            case "boxed":
                return f'<mrow class="boxed">{self.one()}</mrow>'
            case "not":
                return f"<mo>{re.sub('<[^<>]+>', '', self.one())}\u0338</mo>"
            case "left":
                return self.fenced()
            case "begin":
                return self.table()
            case "tag":
                return f"{_space('2em')}<mtext>({escape(self.text())})</mtext>"
            case _ if name in _NOTHING:
                return ""
            case _ if name in _BIGGER:
                return self.one()
            case _:
                raise _UnknownError

    def root(self) -> str:
        if self.peek() != "[":
            return f"<msqrt>{self.one()}</msqrt>"
        self.at += 1
        index = _row(self.until(lambda token: token == "]"))
        self.at += 1
        return f"<mroot>{self.one()}{index}</mroot>"

    def delimiter(self) -> str:
        token = self.peek()
        self.at += 1
        if not token:
            raise _UnknownError
        if token == ".":
            return ""
        sign = "‖" if token == "\\|" else _OPERATORS.get(token[1:], token[1:]) if token[0] == "\\" else token
        return _operator(sign, ' stretchy="true"')

    def fenced(self) -> str:
        opening = self.delimiter()
        inner = "".join(self.until(lambda token: token == "\\right"))
        if self.peek() != "\\right":
            raise _UnknownError
        self.at += 1
        return f"<mrow>{opening}{inner}{self.delimiter()}</mrow>"

    def table(self) -> str:
        name = self.text()
        plain = name.replace("*", "", 1)
        if plain == "array":
            self.text()
        elif plain not in _ALIGNED and plain not in _FENCES:
            raise _UnknownError
        rows = self.rows()
        if self.text() != name:
            raise _UnknownError
        if all(cell == "<mrow></mrow>" for cell in rows[-1]):
            rows.pop()
        aligned = ' class="aligned" displaystyle="true"' if plain in _ALIGNED else ""
        style = ' class="cases"' if plain == "cases" else aligned
        lines = ("".join(f"<mtd>{cell}</mtd>" for cell in cells) for cells in rows)
        body = "".join(f"<mtr>{line}</mtr>" for line in lines)
        opening, closing = (
            _operator(sign, ' stretchy="true"') if sign else "" for sign in _FENCES.get(plain, ("", ""))
        )
        return f"<mrow>{opening}<mtable{style}>{body}</mtable>{closing}</mrow>"

    def rows(self) -> list[list[str]]:
        rows: list[list[str]] = [[]]
        while True:
            cell = _row(self.until(lambda token: token in ("&", "\\\\", "\\end", "\\hline")))
            token = self.peek()
            if not token or token == "}":
                raise _UnknownError
            self.at += 1
            if token == "\\hline":
                continue
            rows[-1].append(cell)
            if token == "\\\\":
                rows.append([])
            elif token == "\\end":
                return rows
