// Formulas: the part of TeX that models write, as MathML, which browsers draw themselves. Everything that comes from the source is escaped.

import { escape } from "./escape";

const LETTERS: Record<string, string> = Object.fromEntries(
  "alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ lambda λ mu μ nu ν xi ξ pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω ell ℓ hbar ℏ imath ı jmath ȷ Re ℜ Im ℑ aleph ℵ wp ℘ infty ∞ partial ∂ nabla ∇ emptyset ∅ varnothing ∅ degree ° prime ′ top ⊤ bot ⊥ angle ∠ triangle △ square □ dots … ldots … cdots ⋯ vdots ⋮ ddots ⋱"
    .split(" ")
    .reduce<[string, string][]>((pairs, word, at, all) => (at % 2 ? pairs : [...pairs, [word, all[at + 1] ?? ""]]), []),
);
const OPERATORS: Record<string, string> = Object.fromEntries(
  "times × cdot ⋅ div ÷ pm ± mp ∓ ast ∗ star ⋆ circ ∘ bullet ∙ oplus ⊕ ominus ⊖ otimes ⊗ odot ⊙ wedge ∧ land ∧ vee ∨ lor ∨ cap ∩ cup ∪ setminus ∖ le ≤ leq ≤ ge ≥ geq ≥ ne ≠ neq ≠ ll ≪ gg ≫ approx ≈ sim ∼ simeq ≃ cong ≅ equiv ≡ propto ∝ in ∈ notin ∉ ni ∋ subset ⊂ subseteq ⊆ supset ⊃ supseteq ⊇ to → rightarrow → leftarrow ← leftrightarrow ↔ Rightarrow ⇒ implies ⟹ Leftarrow ⇐ Leftrightarrow ⇔ iff ⟺ mapsto ↦ uparrow ↑ downarrow ↓ forall ∀ exists ∃ nexists ∄ neg ¬ lnot ¬ mid ∣ parallel ∥ perp ⊥ vdash ⊢ models ⊨ langle ⟨ rangle ⟩ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ lvert | rvert | lVert ‖ rVert ‖ Vert ‖ vert | colon : therefore ∴ because ∵ prec ≺ succ ≻ asymp ≍ doteq ≐ triangleq ≜ lbrace { rbrace } backslash \\"
    .split(" ")
    .reduce<[string, string][]>((pairs, word, at, all) => (at % 2 ? pairs : [...pairs, [word, all[at + 1] ?? ""]]), []),
);
const BIG: Record<string, string> = { sum: "∑", prod: "∏", coprod: "∐", int: "∫", iint: "∬", iiint: "∭", oint: "∮", bigcup: "⋃", bigcap: "⋂", bigoplus: "⨁", bigotimes: "⨂", bigvee: "⋁", bigwedge: "⋀" };
const FUNCTIONS = new Set("sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp lim limsup liminf max min sup inf det dim ker gcd deg arg argmax argmin Pr hom mod".split(" "));
const UNDER = new Set(["lim", "limsup", "liminf", "max", "min", "sup", "inf", "argmax", "argmin", "det", "gcd", "Pr"]);
const ACCENTS: Record<string, string> = { hat: "^", widehat: "^", bar: "¯", overline: "¯", tilde: "~", widetilde: "~", vec: "→", overrightarrow: "→", dot: "˙", ddot: "¨", check: "ˇ", acute: "´", grave: "`", breve: "˘" };
const SPACES: Record<string, string> = { ",": "0.17em", ":": "0.22em", ";": "0.28em", "!": "-0.17em", " ": "0.25em", quad: "1em", qquad: "2em", enspace: "0.5em", thinspace: "0.17em" };
const FENCES: Record<string, [string, string]> = { matrix: ["", ""], pmatrix: ["(", ")"], bmatrix: ["[", "]"], Bmatrix: ["{", "}"], vmatrix: ["|", "|"], Vmatrix: ["‖", "‖"], cases: ["{", ""], smallmatrix: ["", ""] };
const FONTS: Record<string, string> = { mathbf: "bold", boldsymbol: "bold", bm: "bold", mathrm: "normal", operatorname: "normal", mathit: "italic", mathsf: "sans-serif", mathtt: "monospace", mathbb: "double-struck", mathcal: "script", mathscr: "script", mathfrak: "fraktur" };
const STARTS: Record<string, [number, number]> = { bold: [0x1d400, 0x1d41a], script: [0x1d49c, 0x1d4b6], fraktur: [0x1d504, 0x1d51e], "double-struck": [0x1d538, 0x1d552], "sans-serif": [0x1d5a0, 0x1d5ba], monospace: [0x1d670, 0x1d68a] };
const HOLES: Record<string, string> = { scriptB: "ℬ", scriptE: "ℰ", scriptF: "ℱ", scriptH: "ℋ", scriptI: "ℐ", scriptL: "ℒ", scriptM: "ℳ", scriptR: "ℛ", scripte: "ℯ", scriptg: "ℊ", scripto: "ℴ", frakturC: "ℭ", frakturH: "ℌ", frakturI: "ℑ", frakturR: "ℜ", frakturZ: "ℨ", "double-struckC": "ℂ", "double-struckH": "ℍ", "double-struckN": "ℕ", "double-struckP": "ℙ", "double-struckQ": "ℚ", "double-struckR": "ℝ", "double-struckZ": "ℤ" };
const MOST_NESTED = 60;
const LONGEST = 5_000;
const DIGIT = /^[0-9]$/;

const row = (parts: string[]): string => (parts.length === 1 ? (parts[0] as string) : `<mrow>${parts.join("")}</mrow>`);
const operator = (sign: string, more = ""): string => `<mo${more}>${escape(sign)}</mo>`;

/** The MathML of a formula; its source when it has something that this does not know. */
export function formula(source: string, display: boolean): string {
  const attribute = display ? ' display="block"' : "";
  try {
    if (source.length > LONGEST) throw new Error("too long");
    const parser = new Parser(source.match(/\\(?:[A-Za-z]+\*?|[\s\S])|\s+|%[^\n]*\n?|[\s\S]/g) ?? []);
    return `<math${attribute}><semantics>${parser.all()}<annotation encoding="application/x-tex">${escape(source)}</annotation></semantics></math>`;
  } catch {
    return `<code>${escape(source)}</code>`;
  }
}

class Parser {
  private at = 0;
  private depth = 0;
  private font = "";
  constructor(private readonly tokens: string[]) {}

  all(): string {
    const parts = this.until(() => false);
    if (this.at < this.tokens.length) throw new Error("unbalanced");
    return `<mrow>${parts.join("")}</mrow>`;
  }

  private peek(): string | undefined {
    while (/^(\s|%)/.test(this.tokens[this.at] ?? "")) this.at += 1;
    return this.tokens[this.at];
  }

  private until(ends: (token: string) => boolean): string[] {
    const parts: string[] = [];
    for (let token = this.peek(); token !== undefined && !ends(token) && token !== "}"; token = this.peek()) parts.push(this.scripted());
    return parts;
  }

  /** One thing with what stands below and above it. */
  private scripted(): string {
    const first = this.peek() ?? "";
    const name = first.slice(1);
    const limits = name in BIG ? !/int$/.test(name) : UNDER.has(name);
    const base = first === "^" || first === "_" ? "<mrow></mrow>" : DIGIT.test(first) || (first === "." && DIGIT.test(this.tokens[this.at + 1] ?? "")) ? this.number() : this.one();
    let under = "";
    let over = "";
    for (let token = this.peek(); token === "^" || token === "_" || token === "'" || token === "\\limits"; token = this.peek()) {
      this.at += 1;
      if (token === "'") over += operator("′");
      else if (token === "_") under += this.one();
      else if (token === "^") over += this.one();
    }
    if (under.length && over.length) return limits ? `<munderover>${base}<mrow>${under}</mrow><mrow>${over}</mrow></munderover>` : `<msubsup>${base}<mrow>${under}</mrow><mrow>${over}</mrow></msubsup>`;
    if (under) return limits ? `<munder>${base}<mrow>${under}</mrow></munder>` : `<msub>${base}<mrow>${under}</mrow></msub>`;
    if (over) return limits ? `<mover>${base}<mrow>${over}</mrow></mover>` : `<msup>${base}<mrow>${over}</mrow></msup>`;
    return base;
  }

  private one(): string {
    if (++this.depth > MOST_NESTED) throw new Error("too deep");
    const drawn = this.single();
    this.depth -= 1;
    return drawn;
  }

  /** A point or a comma is part of a number when a digit follows. */
  private number(): string {
    let digits = this.tokens[this.at++] as string;
    for (;;) {
      const [token = "", after = ""] = this.tokens.slice(this.at, this.at + 2);
      if (!DIGIT.test(token) && !(/^[.,]$/.test(token) && DIGIT.test(after))) return `<mn>${digits}</mn>`;
      digits += token;
      this.at += 1;
    }
  }

  private single(): string {
    const token = this.peek();
    if (token === undefined) throw new Error("incomplete");
    this.at += 1;
    if (token === "{") return this.closed();
    if (token.startsWith("\\")) return this.command(token.slice(1));
    if (DIGIT.test(token)) return `<mn>${token}</mn>`; // what a command is given is one digit
    if (/\p{L}/u.test(token)) return this.letter(token);
    if (token === "~") return '<mspace width="0.25em"></mspace>';
    if (token === "&" || token === "#" || token === "$" || token === "}") throw new Error("misplaced");
    return operator(token === "-" ? "−" : token === "*" ? "∗" : token);
  }

  private letter(sign: string): string {
    if (!this.font) return `<mi>${escape(sign)}</mi>`;
    if (this.font === "normal") return `<mi mathvariant="normal">${escape(sign)}</mi>`;
    const starts = STARTS[this.font];
    const code = sign.charCodeAt(0);
    const hole = HOLES[this.font + sign];
    if (hole) return `<mi>${hole}</mi>`;
    if (starts && /[A-Z]/.test(sign)) return `<mi>${String.fromCodePoint(starts[0] + code - 65)}</mi>`;
    if (starts && /[a-z]/.test(sign)) return `<mi>${String.fromCodePoint(starts[1] + code - 97)}</mi>`;
    return `<mi>${escape(sign)}</mi>`;
  }

  private closed(): string {
    const parts = this.until(() => false);
    if (this.tokens[this.at] !== "}") throw new Error("not closed");
    this.at += 1;
    return row(parts);
  }

  private text(): string {
    if (this.peek() !== "{") throw new Error("braces expected");
    let words = "";
    let open = 1;
    for (this.at += 1; open; this.at += 1) {
      const token = this.tokens[this.at];
      if (token === undefined) throw new Error("not closed");
      if (token === "{") open += 1;
      else if (token === "}") open -= 1;
      else words += /^\\[^A-Za-z]/.test(token) ? token.slice(1) : token;
    }
    return words;
  }

  private command(name: string): string {
    const letter = LETTERS[name];
    if (letter) return `<mi>${letter}</mi>`;
    const sign = OPERATORS[name];
    if (sign) return operator(sign);
    const big = BIG[name];
    if (big) return operator(big, ' largeop="true"');
    if (FUNCTIONS.has(name)) return `<mi>${name}</mi>${/^[A-Za-z0-9(\\]/.test(this.peek() ?? "") ? '<mspace width="0.17em"></mspace>' : ""}`;
    const space = SPACES[name];
    if (space) return `<mspace width="${space}"></mspace>`;
    if (/^[{}$%&#_|]$/.test(name)) return operator(name === "|" ? "‖" : name);
    const accent = ACCENTS[name];
    if (accent) return `<mover accent="true">${this.one()}${operator(accent)}</mover>`;
    if (name in FONTS) return this.styled(FONTS[name] as string);
    return this.built(name);
  }

  private styled(font: string): string {
    const before = this.font;
    this.font = font;
    const inner = this.one();
    this.font = before;
    return font === "normal" ? inner.replace(/<\/mi><mi mathvariant="normal">/g, "") : inner;
  }

  private built(name: string): string {
    switch (name) {
      case "frac":
      case "dfrac":
      case "tfrac":
      case "cfrac":
        return `<mfrac>${this.one()}${this.one()}</mfrac>`;
      case "binom":
        return `<mrow>${operator("(")}<mfrac linethickness="0">${this.one()}${this.one()}</mfrac>${operator(")")}</mrow>`;
      case "sqrt": {
        if (this.peek() !== "[") return `<msqrt>${this.one()}</msqrt>`;
        this.at += 1;
        const index = row(this.until((token) => token === "]"));
        this.at += 1;
        return `<mroot>${this.one()}${index}</mroot>`;
      }
      case "text":
      case "textrm":
      case "mbox":
      case "textbf":
      case "textit":
        return `<mtext>${escape(this.text())}</mtext>`;
      case "underline":
        return `<munder>${this.one()}${operator("_")}</munder>`;
      case "overbrace":
      case "underbrace": {
        const tag = name === "overbrace" ? "mover" : "munder";
        return `<${tag}>${this.one()}${operator(name === "overbrace" ? "⏞" : "⏟")}</${tag}>`;
      }
      case "stackrel":
      case "overset": {
        const over = this.one();
        return `<mover>${this.one()}${over}</mover>`;
      }
      case "boxed":
        return `<mrow class="boxed">${this.one()}</mrow>`;
      case "not":
        return operator(`${this.one().replace(/<[^>]+>/g, "")}\u0338`);
      case "left":
        return this.fenced();
      case "begin":
        return this.table();
      case "displaystyle":
      case "textstyle":
      case "limits":
      case "nolimits":
      case "nonumber":
      case "notag":
        return "";
      case "big":
      case "Big":
      case "bigg":
      case "Bigg":
      case "bigl":
      case "bigr":
      case "Bigl":
      case "Bigr":
        return this.one();
      case "tag":
        return `<mspace width="2em"></mspace><mtext>(${escape(this.text())})</mtext>`;
      default:
        throw new Error(`unknown: ${name}`);
    }
  }

  private delimiter(): string {
    const token = this.peek();
    this.at += 1;
    if (token === undefined) throw new Error("incomplete");
    if (token === ".") return "";
    return operator(token.startsWith("\\") ? (OPERATORS[token.slice(1)] ?? (token === "\\|" ? "‖" : token.slice(1))) : token, ' stretchy="true"');
  }

  private fenced(): string {
    const open = this.delimiter();
    const inner = this.until((token) => token === "\\right").join("");
    if (this.peek() !== "\\right") throw new Error("not closed");
    this.at += 1;
    return `<mrow>${open}${inner}${this.delimiter()}</mrow>`;
  }

  private table(): string {
    const name = this.text();
    const plain = name.replace("*", "");
    const aligned = /^(aligned|align|split|gathered|gather|equation|eqnarray)$/.test(plain);
    if (plain === "array") this.text();
    if (!aligned && plain !== "array" && !(plain in FENCES)) throw new Error(`unknown: ${name}`);
    const rows: string[][] = [[]];
    for (;;) {
      const cell = row(this.until((token) => token === "&" || token === "\\\\" || token === "\\end" || token === "\\hline"));
      const token = this.peek();
      if (token === undefined || token === "}") throw new Error("not closed");
      this.at += 1;
      if (token === "\\hline") continue;
      rows.at(-1)?.push(cell);
      if (token === "\\\\") rows.push([]);
      if (token === "\\end") break;
    }
    if (this.text() !== name) throw new Error("not closed");
    if (rows.at(-1)?.every((cell) => cell === "<mrow></mrow>")) rows.pop();
    const [open, close] = FENCES[plain] ?? ["", ""];
    const style = aligned ? ' class="aligned" displaystyle="true"' : plain === "cases" ? ' class="cases"' : "";
    const body = rows.map((cells) => `<mtr>${cells.map((cell) => `<mtd>${cell}</mtd>`).join("")}</mtr>`).join("");
    const fence = (sign: string) => (sign ? operator(sign, ' stretchy="true"') : "");
    return `<mrow>${fence(open)}<mtable${style}>${body}</mtable>${fence(close)}</mrow>`;
  }
}
