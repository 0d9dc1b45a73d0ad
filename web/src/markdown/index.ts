// Markdown to safe HTML, block by block, so that a growing answer is drawn again only where it grows.

import DOMPurify from "dompurify";
import { Marked, type Token, type TokenizerAndRendererExtension, type Tokens } from "marked";
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
  start: (source) => source.match(start)?.index,
  tokenizer(source) {
    const found = pattern.exec(source);
    if (!found) return undefined;
    const tex = found.slice(1).find((part) => part !== undefined) ?? "";
    return tex.trim() ? { type: name, raw: found[0], text: tex.trim() } : undefined;
  },
  renderer: ({ text, raw }) => (level === "block" || /^(\$\$|\\\[)/.test(raw) ? `<div class="math">${escape(text)}</div>` : `<span class="math">${escape(text)}</span>`),
});

const EXTENSIONS: TokenizerAndRendererExtension[] = [
  formulaToken("formula_block", "block", /^ {0,3}(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])[ \t]*(?:\n|$)/, /\$\$|\\\[/),
  // A sum of money is no formula: the first sign stands directly before something, the second directly after, and no digit follows.
  formulaToken("formula", "inline", /^(?:\$\$((?:\\.|[^$\\])+?)\$\$|\$((?=\S)(?:\\.|[^$\\\n])*?[^\s\\$]|\S)\$(?!\d)|\\\(([\s\S]+?)\\\)|\\\[([\s\S]+?)\\\])/, /\$|\\[([]/),
  {
    name: "citation",
    level: "inline",
    start: (source) => source.match(/\[(?:ID:|\^)/i)?.index,
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
    start: (source) => source.match(/^\[\^/m)?.index,
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
    // Nothing is fetched from elsewhere because a model wrote it: an address in a picture could carry data away.
    image({ href, text }: Tokens.Image): string {
      const file = fileOf(href);
      const inside = file?.mime.startsWith("image/") ? file.address : /^data:image\/(png|jpeg|gif|webp);/i.test(href) ? href : "";
      if (inside) return `<img src="${escape(inside)}" alt="${escape(text)}" loading="lazy">`;
      return `<a href="${escape(file?.address ?? href)}">${escape(text || href)}</a>`;
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
DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
});

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

const drawn = new Map<string, string>();
const KEPT = 1000;

/**
 * The HTML of each block. The same text gives the same string, so what has not changed is not touched.
 * `open`: more text is coming. `files` names the set of files that `find` knows.
 */
export function blocks(source: string, open = false, find: Resolve = () => undefined, files = ""): string[] {
  resolve = find;
  const tokens = marked.lexer(open ? heal(source) : source);
  const links = JSON.stringify(tokens.links);
  const found: string[] = [];
  for (const token of tokens) {
    if (token.type === "space" || token.type === "def") continue;
    const key = `${files}\n${links}\n${token.raw}`;
    let html = drawn.get(key);
    if (html === undefined) {
      html = safe(marked.parser(Object.assign([token], { links: tokens.links })));
      if (drawn.size >= KEPT) drawn.delete(drawn.keys().next().value as string);
      drawn.set(key, html);
    }
    found.push(html);
  }
  return found;
}

/** What the footnotes of a text say, by name, as safe HTML. */
export function footnotes(source: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const token of marked.lexer(source)) {
    if (token.type === "footnote") found.set(String((token as Tokens.Generic).name), safe(marked.parser(Object.assign([token], { links: {} }))));
  }
  return found;
}
