// Markdown to safe HTML, block by block, so that a growing answer is drawn again only where it grows.

import DOMPurify from "dompurify";
import { Marked, type Token, type TokenizerAndRendererExtension, type Tokens, type TokensList } from "marked";
import { ahead, lex } from "./bounded";
import { escape, unescape } from "./escape";
import { heal } from "./heal";
import { highlight } from "./highlight";
import { formula } from "./math";

/** Where a file that an answer names can be had; nothing when there is none of that name. */
export type Resolve = (name: string) => { address: string; mime: string } | undefined;

let resolve: Resolve = () => undefined;

/** A file of the run by the last part of a relative address: `chart.png`, `./out/chart.png`, `sandbox:/out/chart.png`. */
function fileOf(href: string): { address: string; mime: string } | undefined {
  if (/^(?:[a-z][a-z0-9+.-]*:)/i.test(href) && !/^(?:sandbox|attachment|file):/i.test(href)) return undefined;
  let path = href;
  try {
    path = decodeURIComponent(href);
  } catch {
    // It stays as it is written.
  }
  path = path.replace(/^\w+:\/*|^[./]+/g, "");
  return resolve(path) ?? resolve(path.split("/").at(-1) ?? path);
}

const formulaToken = (name: string, level: "inline" | "block", pattern: RegExp, start: RegExp): TokenizerAndRendererExtension => ({
  name,
  level,
  start: (source) => ahead(source).match(start)?.index,
  tokenizer(source) {
    const found = pattern.exec(source);
    if (!found) return undefined;
    const tex = found.slice(1).find((part) => part !== undefined) ?? "";
    return tex.trim() ? { type: name, raw: found[0], text: tex.trim() } : undefined;
  },
  renderer: ({ text, raw }) => (level === "block" || /^(\$\$|\\\[)/.test(raw) ? `<div class="math">${escape(text)}</div>` : `<span class="math">${escape(text)}</span>`),
});

const EXTENSIONS: TokenizerAndRendererExtension[] = [
  formulaToken("formula_block", "block", /^ {0,3}(?:\$\$((?:(?!\$\$)[\s\S])+)\$\$|\\\[((?:(?!\\\])[\s\S])+)\\\])[ \t]*(?:\n|$)/, /^ {0,3}(?:\$\$|\\\[)/m),
  // A sum of money is no formula: the first sign stands directly before something, the second directly after, and no digit follows.
  formulaToken("formula", "inline", /^(?:\$\$((?:\\.|[^$\\])+?)\$\$|\$((?=\S)(?:\\.|[^$\\\n])*?[^\s\\$]|\S)\$(?!\d)|\\\(([\s\S]+?)\\\)|\\\[([\s\S]+?)\\\])/, /\$|\\[([]/),
  {
    name: "citation",
    level: "inline",
    start: (source) => ahead(source).match(/\[(?:ID:|\^)/i)?.index,
    tokenizer(source) {
      const found = /^\[(?:ID:\s*(\d{1,9}(?:[,;\s]+(?:ID:)?\s*\d{1,9})*)|\^([^\]\s]{1,40}))\]/i.exec(source);
      if (!found) return undefined;
      const names = found[1] ? (found[1].match(/\d+/g) ?? []).map((id) => `ID:${id}`) : [`^${found[2]}`];
      return { type: "citation", raw: found[0], names };
    },
    renderer: ({ names }) => (names as string[]).map((name) => `<button type="button" class="cite" value="${escape(name)}" aria-label="Source ${escape(name.replace(/^(ID:|\^)/, ""))}">${escape(name.replace(/^(ID:|\^)/, ""))}</button>`).join(""),
  },
  {
    name: "footnote",
    level: "block",
    start: (source) => ahead(source).match(/^\[\^/m)?.index,
    tokenizer(source) {
      const found = /^\[\^([^\]\s]{1,40})\]:[ \t]*([^\n]*(?:\n(?!\[\^|\s*\n)[^\n]+)*)(?:\n|$)/.exec(source);
      if (!found) return undefined;
      return { type: "footnote", raw: found[0], name: found[1] as string, tokens: this.lexer.inlineTokens((found[2] ?? "").replace(/\n\s+/g, " ")) };
    },
    renderer(token) {
      return `<p class="footnote"><span class="footnote-name">${escape(String(token.name))}</span> ${this.parser.parseInline(token.tokens ?? [])}</p>`;
    },
  },
];

const marked = new Marked({
  gfm: true,
  breaks: false,
  extensions: EXTENSIONS,
  renderer: {
    image({ href, text }: Tokens.Image): string {
      const address = inside(href);
      if (address) shown.add(address);
      if (address) return `<img src="${escape(address)}" alt="${escape(text)}" loading="lazy">`;
      return `<a href="${escape(fileOf(href)?.address ?? href)}">${escape(text || href)}</a>`;
    },
    link(this: { parser: { parseInline(tokens: Token[]): string } }, { href, title, tokens }: Tokens.Link): string {
      const file = fileOf(href);
      return `<a href="${escape(file?.address ?? href)}"${file ? ' class="file"' : ""}${title ? ` title="${escape(title)}"` : ""}>${this.parser.parseInline(tokens)}</a>`;
    },
    code({ text, lang }: Tokens.Code): string {
      const name = (lang ?? "").split(/\s/)[0] ?? "";
      const head = `<div class="code-head"><span>${escape(name)}</span><button type="button" class="copy">Copy</button></div>`;
      if (/^(math|latex|tex)$/i.test(name) && text.trim()) return `<div class="math">${escape(text.trim())}</div>`;
      return `<div class="code">${head}<pre tabindex="0"><code>${highlight(text, name)}\n</code></pre></div>`;
    },
    checkbox({ checked }: Tokens.Checkbox): string {
      return `<span class="task${checked ? " done" : ""}" role="img" aria-label="${checked ? "done" : "open"}"></span> `;
    },
    listitem(this: { parser: { parse(tokens: Token[]): string } }, item: Tokens.ListItem): string {
      return `<li${item.task ? ' class="with-task"' : ""}>${this.parser.parse(item.tokens)}</li>`;
    },
    table(this: { parser: { parseInline(tokens: Token[]): string } }, token: Tokens.Table): string {
      const cell = (one: Tokens.TableCell, tag: string) => `<${tag}${one.align ? ` align="${one.align}"` : ""}>${this.parser.parseInline(one.tokens)}</${tag}>`;
      const head = token.header.map((one) => cell(one, one.text.trim() ? "th" : "td")).join("");
      const body = token.rows.map((row) => `<tr>${row.map((one) => cell(one, "td")).join("")}</tr>`).join("");
      return `<div class="table" tabindex="0" role="group" aria-label="Table"><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>`;
    },
  },
});

/** What this file itself writes. Any other class, and any other button, would be a model that dresses up as the page. */
const CLASSES = /^(?:code|code-head|copy|table|math|cite|file|footnote|footnote-name|task|done|with-task|tok-[a-z])$/;

DOMPurify.addHook("uponSanitizeElement", (node, { tagName }) => {
  if (tagName === "button" && !/^(?:copy|cite)$/.test((node as Element).className)) (node as Element).remove();
});
DOMPurify.addHook("uponSanitizeAttribute", (_, data) => {
  if (data.attrName !== "class") return;
  data.attrValue = data.attrValue.split(/\s+/).filter((name) => CLASSES.test(name)).join(" ");
  data.keepAttr = !!data.attrValue;
});
/** Nothing is fetched from elsewhere because a model wrote it: an address in a picture could carry data away. */
const inside = (href: string): string => {
  const file = fileOf(href);
  if (file?.mime.startsWith("image/")) return file.address;
  return shown.has(href) || /^data:image\/(?:png|jpeg|gif|webp);/i.test(href) ? href : "";
};

/** The addresses of files of the run that stand in the text at hand. */
const shown = new Set<string>();

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "IMG") {
    const href = node.getAttribute("src") ?? "";
    const address = inside(href);
    if (address) node.setAttribute("src", address);
    else {
      const link = node.ownerDocument.createElement("a");
      if (/^https?:/i.test(href)) link.href = href;
      link.textContent = node.getAttribute("alt") || href;
      node.replaceWith(link);
      outward(link);
    }
  }
  if (node.tagName === "A") outward(node);
});

function outward(link: Element): void {
  link.setAttribute("target", "_blank");
  link.setAttribute("rel", "noopener noreferrer nofollow");
}

const CLEAN = {
  USE_PROFILES: { html: true },
  FORBID_TAGS: ["style", "form", "input", "textarea", "select", "option", "iframe", "video", "audio", "source", "picture", "dialog", "map", "area", "marquee", "nav", "main", "aside", "header", "footer"],
  FORBID_ATTR: ["style", "id", "name", "srcset", "background", "autofocus", "popover", "popovertarget", "popovertargetaction", "accesskey", "contenteditable", "draggable"],
  ALLOW_DATA_ATTR: false,
};

const MATH = /<(span|div) class="math">([^<]*)<\/\1>/g;

/** Safe HTML. Formulas are put in afterwards: they are made here, from escaped text alone. */
function safe(html: string): string {
  return DOMPurify.sanitize(html, CLEAN).replace(MATH, (_, tag: string, tex: string) => {
    const drawn = formula(unescape(tex), tag === "div");
    return tag === "div" ? `<div class="math" tabindex="0" role="group" aria-label="Formula">${drawn}</div>` : `<span class="math">${drawn}</span>`;
  });
}

const staying = new Map<string, boolean>();

/** Whether an element is left of a tag once it is clean. One that would be removed is shown as it was written: it may be no HTML at all. */
function stays(name: string): boolean {
  let found = staying.get(name);
  if (found === undefined) {
    if (staying.size >= KEPT) staying.clear();
    staying.set(name, (found = DOMPurify.sanitize(`<${name}>`, CLEAN) !== ""));
  }
  return found;
}

const drawn = new Map<string, string>();
const KEPT = 1000;
/** Longer than anybody reads: what comes after is shown as it was written. */
const LONGEST = 300_000;

/** So many blocks are drawn one by one, those after them in groups: each that is drawn costs something of its own. */
const SINGLE = 400;
const TOGETHER = 25;

/** Every text with links has its number: the links themselves are too long for the name of each block. */
const linked = new Map<string, number>();
let numbered = 0;

/**
 * The HTML of each block. The same text gives the same string, so what has not changed is not touched.
 * `open`: more text is coming. `files` names the set of files that `find` knows.
 */
export function blocks(source: string, open = false, find: Resolve = () => undefined, files = ""): string[] {
  resolve = find;
  try {
    const end = source.length > LONGEST ? source.lastIndexOf("\n", LONGEST) + 1 || LONGEST : source.length;
    const tokens = open && end === source.length ? growing(source) : lex(source.slice(0, end), marked.defaults, stays);
    const found = html(tokens, files, open);
    if (!open && !found.length && source.trim()) return [asWritten(source.trim())];
    return end < source.length ? [...found, asWritten(source.slice(end))] : found;
  } catch {
    return [asWritten(source)]; // whatever a text does to the parser, the page stands
  }
}

const asWritten = (source: string): string => `<p class="pre">${escape(source)}</p>`;

const MARKS = /^(?:heading|list|blockquote)$/;
/** Whether a block may be marks that mark nothing, such as "*", the answer to "which operator?". */
const mayMarkNothing = (token: Token): boolean => MARKS.test(token.type) && token.raw.length < 100 && !/\p{L}/u.test(token.raw);
const markNothing = (html: string): boolean => !/<(?:img|button|span|hr|pre)/.test(html) && !html.replace(/<[^>]*>/g, "").trim();

function html(tokens: TokensList, files: string, open: boolean): string[] {
  const links = JSON.stringify(tokens.links);
  if (!linked.has(links)) {
    if (linked.size >= KEPT / 10) linked.clear();
    linked.set(links, (numbered += 1));
  }
  const found: string[] = [];
  const real = tokens.filter((token) => token.type !== "space" && token.type !== "def");
  for (let at = 0; at < real.length; ) {
    const some = real.slice(at, at + (at < SINGLE ? 1 : TOGETHER));
    at += some.length;
    const bare = !open && some.every(mayMarkNothing); // while more is coming they may become a list
    const key = `${files}\n${bare}\n${linked.get(links)}\n${some.map((token) => token.raw).join("\n")}`;
    let html = drawn.get(key);
    if (html === undefined) {
      shown.clear();
      html = safe(marked.parser(Object.assign(some, { links: tokens.links })));
      if (bare && markNothing(html)) html = asWritten(some.map((token) => token.raw).join("").trim());
      if (drawn.size >= KEPT) drawn.delete(drawn.keys().next().value as string);
      drawn.set(key, html);
    }
    found.push(html);
  }
  return found;
}

/** The part of the text that is being written in which nothing changes any more, and what it is read as. */
interface Settled {
  source: string;
  tokens: Token[];
  /** The links that it defines, and all those with which it was read. */
  links: TokensList["links"];
  read: string;
}

const NOTHING: Settled = { source: "", tokens: [], links: {}, read: "" };
let done = NOTHING;

/** The tokens of a text of which more is coming. Only its end is read again. */
function growing(source: string): TokensList {
  if (!source.startsWith(done.source)) done = NOTHING;
  const rest = source.slice(done.source.length);
  const read = lex(heal(rest), marked.defaults, stays, done.links);
  const links = JSON.stringify(read.links);
  if (done.source && links !== done.read) {
    done = NOTHING; // the words before may have meant a link that is only defined now
    return growing(source);
  }
  const tokens = Object.assign([...done.tokens, ...read], { links: read.links });
  // A blank line with two blocks after it: what stands before cannot become part of what comes.
  let after = 0;
  let at = read.length - 1;
  for (; at > 0; at -= 1) {
    if (read[at]?.type !== "space") after += 1;
    else if (after >= 2) break;
  }
  const settled = read.slice(0, at + 1);
  const text = settled.map((token) => token.raw).join("");
  if (at > 0 && rest.startsWith(text)) done = { source: done.source + text, tokens: [...done.tokens, ...settled], links: { ...defined(settled), ...done.links }, read: links };
  return tokens;
}

function defined(tokens: Token[]): TokensList["links"] {
  const found: TokensList["links"] = {};
  for (const token of tokens) if (token.type === "def") found[(token as Tokens.Def).tag] ??= { href: token.href, title: token.title };
  return found;
}

/** What the footnotes of a text say, by name, as safe HTML. */
export function footnotes(source: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const token of lex(source.slice(0, LONGEST), marked.defaults, stays)) {
    if (token.type === "footnote") found.set(String((token as Tokens.Generic).name), safe(marked.parser(Object.assign([token], { links: {} }))));
  }
  return found;
}
