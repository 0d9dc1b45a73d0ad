// What a model writes for people: markdown that is drawn while it comes, and a card for what it cites.

import { useMemo, useRef, useState } from "preact/hooks";
import { api, artifactUrl } from "../api";
import { isExported } from "../embedded";
import { GroundsPlace } from "../grounds/asked";
import { blocks, footnotes } from "../markdown";
import { say } from "../model";
import { pageOf, passagesOf, type Passage } from "../sources";
import type { Step } from "../view";
import { Close } from "./icons";

interface Card {
  name: string;
  left: number;
  top: number;
  passage?: Passage | undefined;
  html?: string | undefined;
}

export function Answer({ text, open, run, items }: { text: string; open: boolean; run: string; items: Step[] }) {
  const files = useMemo(() => filesOf(run, items), [run, items]);
  const shown = useMemo(() => blocks(text, open, files.find, files.key), [text, open, files.key]);
  const [card, setCard] = useState<Card | null>(null);
  const place = useRef<HTMLDivElement>(null);

  const press = async (event: MouseEvent) => {
    const button = (event.target as Element).closest<HTMLButtonElement>("button.copy, button.cite");
    if (!button) return;
    if (button.classList.contains("copy")) {
      const code = button.closest(".code")?.querySelector("code")?.textContent;
      if (code) void copy(code.replace(/\n$/, ""));
      return;
    }
    const name = button.value;
    if (card?.name === name) return setCard(null);
    const box = place.current?.getBoundingClientRect();
    const at = button.getBoundingClientRect();
    const where = { name, left: Math.max(0, Math.min(at.left - (box?.left ?? 0) - 20, (box?.width ?? 0) - 340)), top: at.bottom - (box?.top ?? 0) + 6 };
    if (name.startsWith("^")) return setCard({ ...where, html: footnotes(text).get(name.slice(1)) });
    setCard({ ...where, passage: await passage(run, items, Number(name.slice(3))) });
  };
  const close = () => {
    const button = place.current?.querySelector<HTMLButtonElement>(`button.cite[value="${CSS.escape(card?.name ?? "")}"]`);
    setCard(null);
    button?.focus();
  };
  return (
    <div
      ref={place}
      role="group"
      class={`answer markdown${open ? " open" : ""}`}
      aria-label="Answer"
      onClick={(event) => void press(event)}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !card) return;
        event.stopPropagation();
        close();
      }}
    >
      {shown.map((html, at) => (
        <div key={at} class="block" dangerouslySetInnerHTML={{ __html: html }} />
      ))}
      {!open && !isExported && <GroundsPlace run={run} place={place} shown={shown} />}
      {card && <SourceCard key={card.name} card={card} close={close} />}
    </div>
  );
}

function SourceCard({ card, close }: { card: Card; close: () => void }) {
  const name = card.name.replace(/^(ID:|\^)/, "");
  const known = card.passage || card.html;
  return (
    <div class="source-card" role="dialog" aria-label={`Source ${name}`} style={{ left: `${card.left}px`, top: `${card.top}px` }}>
      <header>
        <strong>{card.passage?.document || `Source ${name}`}</strong>
        {card.passage && <span class="quiet">{pageOf(card.passage)}</span>}
        <button type="button" class="icon" aria-label="Close the source" onClick={close}>
          <Close size={15} />
        </button>
      </header>
      {card.passage?.text && <p class="pre">{card.passage.text}</p>}
      {card.html && <div dangerouslySetInnerHTML={{ __html: card.html }} />}
      {!known && <p class="quiet">The answer names this source, but the run has not read one of that name.</p>}
    </div>
  );
}

/** The passage of that id: from the results that are shown, or from the log where they were too long to show. */
async function passage(run: string, items: Step[], id: number): Promise<Passage | undefined> {
  const observations = items.flatMap((item) => (item.kind === "call" ? [item.content] : []));
  const near = passagesOf(observations).get(id);
  if (near) return near;
  try {
    let after = -1;
    for (let more = true; more; ) {
      const page = await api.records(run, after);
      const texts = page.records.flatMap(({ event }) => [event.full, event.content].filter((part) => typeof part === "string"));
      const noted = page.records.flatMap(({ type, event }) => (type === "noted" ? [JSON.stringify({ chunks: (event.data as { passages?: unknown } | null)?.passages ?? [] })] : []));
      const found = passagesOf([...noted, ...texts]).get(id);
      if (found) return found;
      after = page.records.at(-1)?.seq ?? after;
      more = page.more;
    }
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
  }
  return undefined;
}

/** The files that the tools of a run have made, by name. */
function filesOf(run: string, items: Step[]) {
  const files = new Map<string, { address: string; mime: string }>();
  for (const item of items) {
    if (item.kind !== "call") continue;
    for (const made of item.artifacts) {
      const address = artifactUrl(run, item.call_id, made.name);
      if (address) files.set(made.name, { address, mime: made.mime });
    }
  }
  return { find: (name: string) => files.get(name), key: files.size ? `${run} ${[...files.keys()].join(" ")}` : "" };
}

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.");
  } catch {
    say("The browser does not allow copying here.");
  }
}
