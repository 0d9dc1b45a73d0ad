// Markdown to safe HTML, block by block, so that a growing answer is drawn again only where it grows.

import DOMPurify from "dompurify";
import { Marked, type Token, type Tokens } from "marked";

const escape = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

const marked = new Marked({
  gfm: true,
  breaks: false,
  renderer: {
    // Nothing is fetched from elsewhere because a model wrote it: an address in a picture could carry data away.
    image({ href, text }: Tokens.Image): string {
      if (/^data:image\/(png|jpeg|gif|webp);/i.test(href)) return `<img src="${escape(href)}" alt="${escape(text)}">`;
      return `<a href="${escape(href)}">${escape(text || href)}</a>`;
    },
    code({ text, lang }: Tokens.Code): string {
      const name = (lang ?? "").split(/\s/)[0] ?? "";
      const head = `<div class="code-head"><span>${escape(name)}</span><button type="button" class="copy">Copy</button></div>`;
      return `<div class="code">${head}<pre tabindex="0"><code>${escape(text)}\n</code></pre></div>`;
    },
    table(this: { parser: { parseInline(tokens: Token[]): string } }, token: Tokens.Table): string {
      const cell = (one: Tokens.TableCell, tag: string) => `<${tag}${one.align ? ` align="${one.align}"` : ""}>${this.parser.parseInline(one.tokens)}</${tag}>`;
      const head = token.header.map((one) => cell(one, "th")).join("");
      const body = token.rows.map((row) => `<tr>${row.map((one) => cell(one, "td")).join("")}</tr>`).join("");
      return `<div class="table" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>`;
    },
  },
});

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
});

const CLEAN = {
  USE_PROFILES: { html: true },
  FORBID_TAGS: ["style", "form", "textarea", "select", "option", "iframe", "video", "audio", "source", "picture", "dialog"],
  FORBID_ATTR: ["style", "id", "name", "srcset", "background", "autofocus"],
  ALLOW_DATA_ATTR: false,
};

const drawn = new Map<string, string>();
const KEPT = 500;

/** The HTML of each block. The same text gives the same string, so what has not changed is not touched. */
export function blocks(source: string): string[] {
  const tokens = marked.lexer(source);
  const found: string[] = [];
  for (const token of tokens) {
    if (token.type === "space") continue;
    let html = drawn.get(token.raw);
    if (html === undefined) {
      html = DOMPurify.sanitize(marked.parser(Object.assign([token], { links: tokens.links })), CLEAN);
      if (drawn.size >= KEPT) drawn.delete(drawn.keys().next().value as string);
      drawn.set(token.raw, html);
    }
    found.push(html);
  }
  return found;
}
