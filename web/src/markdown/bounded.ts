// The work that a text may cause, in proportion to its length. A parser of markdown has shapes that take the square of it, or a stack as deep as the text.

import { Lexer, Tokenizer, type MarkedOptions, type Token, type Tokens, type TokensList } from "marked";

/** Quotes, lists and emphasis within each other; what is deeper is text. */
const DEEPEST = 24;
/** Running text is read in pieces of about so many characters. */
const PIECE = 1200;
/** How far ahead a block looks for what could end it. */
const AHEAD = 2000;
const LONGEST_LIST = 8000;
const LONGEST_HEADING = 400;
const MOST_CELLS = 20_000;
const MOST_TAGS = 400;

/** The start of a text, whole lines of it. */
export function ahead(source: string, far = AHEAD): string {
  if (source.length <= far) return source;
  const end = source.lastIndexOf("\n", far);
  return source.slice(0, end < 0 ? far : end + 1);
}

/** As many items of a list as are read at once: the rest is a list of its own, which goes on counting. */
function whole(source: string): string {
  if (source.length <= LONGEST_LIST) return source;
  let end = source.lastIndexOf("\n", LONGEST_LIST);
  while (end > 0 && /\s/.test(source[end + 1] ?? " ")) end = source.lastIndexOf("\n", end - 1);
  return end > 0 ? source.slice(0, end + 1) : source;
}

class BoundedTokenizer extends Tokenizer {
  private deep = 0;

  /** `known`: whether an element of this name is drawn. Any other is text: `List<String>`, `<your name>`. */
  constructor(private readonly known: (name: string) => boolean) {
    super();
  }

  private within<T>(read: () => T | undefined): T | undefined {
    if (this.deep >= DEEPEST) return undefined;
    this.deep += 1;
    try {
      return read();
    } finally {
      this.deep -= 1;
    }
  }

  override blockquote(source: string): Tokens.Blockquote | undefined {
    return this.within(() => super.blockquote(source));
  }

  override list(source: string): Tokens.List | undefined {
    return this.within(() => super.list(whole(source)));
  }

  override lheading(source: string): Tokens.Heading | undefined {
    return super.lheading(ahead(source, LONGEST_HEADING));
  }

  /** A row may leave cells out, and each is filled up to the head: two signs could stand for thousands of cells. */
  override table(source: string): Tokens.Table | undefined {
    const [head = "", rule = ""] = source.split("\n", 2);
    if (!/[:|]/.test(rule)) return undefined; // before all lines that could be its rows are read
    const columns = head.split("|").length;
    if (columns > 50) {
      const text = source.split(/\n[ \t]*\n/, 1)[0] ?? "";
      const cells = columns * text.split("\n").length;
      if (cells > MOST_CELLS || cells > 3 * text.split("|").length) return undefined;
    }
    return super.table(source);
  }

  override html(source: string): Tokens.HTML | undefined {
    const found = super.html(source);
    return found && (tags(found.raw) > MOST_TAGS || !this.drawn(found.raw)) ? undefined : found;
  }

  override tag(source: string): Tokens.Tag | undefined {
    return this.drawn(source) && (this.lexer as BoundedLexer).tagged() ? super.tag(source) : undefined;
  }

  private drawn(source: string): boolean {
    const name = /^\s*<\/?([a-z][^\s/>]*)/i.exec(source.slice(0, 100))?.[1];
    return !name || this.known(name.toLowerCase());
  }
}

const tags = (html: string): number => html.split("<").length - 1;

class BoundedLexer extends Lexer {
  private deep = 0;
  private opened = 0;

  /** Whether one more tag of HTML is read as such in this run of text. */
  tagged(): boolean {
    this.opened += 1;
    return this.opened <= MOST_TAGS;
  }

  override inlineTokens(source: string, tokens: Token[] = []): Token[] {
    if (this.deep >= DEEPEST) {
      tokens.push(plain(source));
      return tokens;
    }
    if (!this.deep) this.opened = 0;
    this.deep += 1;
    try {
      for (const piece of this.deep === 1 ? pieces(source) : [source]) {
        if (dense(piece)) tokens.push(plain(piece));
        else super.inlineTokens(piece, tokens);
      }
    } finally {
      this.deep -= 1;
    }
    return tokens;
  }
}

const plain = (text: string): Tokens.Text => ({ type: "text", raw: text, text, escaped: false });

const PICTURE = /\]\(data:image\/[\w.+-]+;base64,[\w+/=]*\)?\S{0,200}\s*$/;
const SIGNS = /[*_~`[\]<$\\]/g;
const BLANK = /[ \n\t]/;
const BREAK = /[ \n\t\\]/;

/** Signs and next to no words: nobody has written that to be read as emphasis and links. */
function dense(piece: string): boolean {
  if (piece.length < 200) return false;
  if (piece.length > 2 * PIECE && !PICTURE.test(piece)) return true; // one word of that length
  return (piece.match(SIGNS)?.length ?? 0) > piece.length / 4;
}

/** A long text cut between words, where nothing is open if there is such a place. */
export function pieces(source: string): string[] {
  const found: string[] = [];
  let at = 0;
  while (source.length - at > PIECE) {
    const end = cut(source, at);
    found.push(source.slice(at, end));
    at = end;
  }
  if (at < source.length || !found.length) found.push(source.slice(at));
  return found;
}

function cut(source: string, from: number): number {
  const open: Record<string, number> = {};
  let space = 0;
  let closed = 0;
  let depth = 0;
  for (let at = from; at < source.length; at += 1) {
    const sign = source[at] as string;
    if (sign === "*" || sign === "_" || sign === "`" || sign === "$" || sign === "~") open[sign] = (open[sign] ?? 0) ^ 1;
    else if (sign === "[" || sign === "(") depth += 1;
    else if (sign === "]" || sign === ")") depth -= 1;
    else if (BLANK.test(sign) && !BREAK.test(source[at - 1] ?? " ") && !BLANK.test(source[at + 1] ?? " ")) {
      space = at + 1; // between two words, and not in the signs of a line break
      if (depth === 0 && !Object.values(open).some(Boolean)) closed = space;
    }
    if (at - from >= PIECE && space > from) return closed > from + PIECE / 4 ? closed : space;
  }
  return source.length;
}

/** The tokens of a text; `known` are the elements that are drawn, `links` those that stood before it. */
export function lex(source: string, options: MarkedOptions, known: (name: string) => boolean, links: TokensList["links"] = {}): TokensList {
  const lexer = new BoundedLexer({ ...options, tokenizer: new BoundedTokenizer(known) });
  Object.assign(lexer.tokens.links, links);
  return lexer.lex(source);
}
