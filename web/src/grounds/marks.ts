// Finds the sentences of an answer in its drawn form, and puts a footnote after each. The server names a sentence by its
// source; what is drawn has no stars, bars and addresses. So only letters and digits are compared, in their order.

import { blocks } from "../markdown";
import type { Claim } from "./api";

/** What is said of a sentence. Words that were found are never shown as support. */
export const WORDS = {
  supported: "supported",
  receipted: "receipted",
  contradicted: "contradicted",
  words: "only words match",
  unsupported: "unsupported",
} satisfies Partial<Record<Claim["status"], string>>;

const SIGNS: Partial<Record<Claim["status"], string>> = { words: "~", unsupported: "?", contradicted: "!" };

const LETTER = /[\p{L}\p{N}]/u;
/** What has words of its own, or none that stand in the source as they are drawn. */
const OTHER = "button, .math, .code, script, style";
/** Letters between two sentences; what is further away is another place with the same words. */
const GAP = 3000;

interface Letters {
  text: string;
  /** For each unit of `text`: its text node and its place in there. */
  nodes: Text[];
  at: number[];
}

function lettersOf(roots: Iterable<Element>): Letters {
  const parts: string[] = [];
  const nodes: Text[] = [];
  const at: number[] = [];
  for (const root of roots) {
    const walker = root.ownerDocument.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode() as Text | null; node; node = walker.nextNode() as Text | null) {
      if (node.parentElement?.closest(OTHER)) continue;
      let place = 0;
      for (const letter of node.data) {
        if (LETTER.test(letter)) {
          parts.push(letter);
          for (let unit = 0; unit < letter.length; unit++) {
            nodes.push(node);
            at.push(place + unit);
          }
        }
        place += letter.length;
      }
    }
  }
  return { text: parts.join(""), nodes, at };
}

/** The letters of a sentence as the page would draw it. */
function drawn(source: string): string {
  const inert = new DOMParser().parseFromString(blocks(source).join(""), "text/html");
  return lettersOf([inert.body]).text;
}

interface Piece {
  from: number;
  to: number;
  claim: number;
  last: boolean;
}

/** Marks what can be found; returns the numbers of the claims that were. */
export function mark(roots: Element[], claims: Claim[]): Set<number> {
  const letters = lettersOf(roots);
  const found = new Set<number>();
  const pieces = new Map<Text, Piece[]>();
  let after = 0;
  claims.forEach((claim, number) => {
    const wanted = drawn(claim.text);
    const begin = wanted ? letters.text.indexOf(wanted, after) : -1;
    if (begin < 0 || begin - after > GAP) return;
    after = begin + wanted.length;
    if (claim.status === "empty") return;
    found.add(number);
    for (let unit = begin; unit < after; ) {
      const node = letters.nodes[unit] as Text;
      let end = unit;
      while (end + 1 < after && letters.nodes[end + 1] === node) end++;
      const last = end + 1 === after;
      const to = last ? closed(node.data, (letters.at[end] as number) + 1) : (letters.at[end] as number) + 1;
      pieces.set(node, [...(pieces.get(node) ?? []), { from: letters.at[unit] as number, to, claim: number, last }]);
      unit = end + 1;
    }
  });
  for (const [node, list] of pieces) wrap(node, list, claims);
  return found;
}

/** The place behind the signs that end a sentence. */
function closed(text: string, at: number): number {
  while (at < text.length && /[^\s\p{L}\p{N}]/u.test(text[at] as string)) at++;
  return at;
}

function wrap(node: Text, pieces: Piece[], claims: Claim[]): void {
  const made = document.createDocumentFragment();
  const link = node.parentElement?.closest("a");
  let done = 0;
  for (const { from, to, claim, last } of pieces) {
    if (from > done) made.append(node.data.slice(done, from));
    const span = document.createElement("span");
    span.className = `claim ${claims[claim]?.status}`;
    span.dataset.claim = String(claim);
    span.textContent = node.data.slice(Math.max(done, from), to);
    made.append(span);
    done = Math.max(done, to);
    if (last) (link ? link.after.bind(link) : made.append.bind(made))(footnote(claim, claims));
  }
  if (done < node.data.length) made.append(node.data.slice(done));
  node.replaceWith(made);
}

function footnote(claim: number, claims: Claim[]): HTMLElement {
  const status = claims[claim]?.status as keyof typeof WORDS;
  const button = document.createElement("button");
  button.type = "button";
  button.className = `ground ${status}`;
  button.dataset.claim = String(claim);
  const number = claims.slice(0, claim + 1).filter((one) => one.status !== "empty").length;
  button.textContent = `${number}${SIGNS[status] ?? ""}`;
  button.setAttribute("aria-label", `Grounds ${number}: ${WORDS[status]}`);
  button.setAttribute("aria-expanded", "false");
  return button;
}

/** The footnote of a claim. */
export function footnoteOf(root: Element | null, claim: number): HTMLButtonElement | null {
  return root?.querySelector<HTMLButtonElement>(`button.ground[data-claim="${claim}"]`) ?? null;
}
