// Footnotes of an answer: the records that each sentence and number came from. They open on hover, on focus and on tap.

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { plural, when } from "../format";
import type { LedgerEntry } from "../items";
import { inspect } from "../model";
import { Close } from "../parts/icons";
import { useReading, Waiting } from "../reading";
import { groundsOf, proofUrl, type Claim, type Grounds } from "./api";
import "./grounds.css";
import { footnoteOf, mark, WORDS } from "./marks";

interface Card {
  claim: number;
  left: number;
  top: number;
  /** It was opened by a press: it stays until it is closed. */
  pinned: boolean;
}

const SHOW = 150;
const HIDE = 300;

export function Layer({ run, place, shown }: { run: string; place: RefObject<HTMLElement | null>; shown: string[] }) {
  const reading = useReading(() => groundsOf(run), run);
  return (
    <aside class="grounds" aria-label="Grounds of the answer">
      {reading.value ? <Footnotes run={run} place={place} shown={shown} grounds={reading.value} /> : <Waiting reading={reading} what="The grounds could not be computed" />}
    </aside>
  );
}

function Footnotes({ run, place, shown, grounds }: { run: string; place: RefObject<HTMLElement | null>; shown: string[]; grounds: Grounds }) {
  const [card, setCard] = useState<Card | null>(null);
  const [marked, setMarked] = useState<ReadonlySet<number>>(new Set());
  const [width, setWidth] = useState(0);

  useLayoutEffect(() => {
    const drawn = [...(place.current?.querySelectorAll(":scope > .block") ?? [])];
    const before = drawn.map((block) => block.innerHTML);
    setMarked(mark(drawn, grounds.claims));
    return () =>
      drawn.forEach((block, at) => {
        // One that was drawn anew meanwhile has no marks.
        if (block.querySelector("button.ground, .claim")) block.innerHTML = before[at] as string;
      });
  }, [shown, grounds]);
  useEffect(() => {
    const resized = () => setWidth(innerWidth);
    window.addEventListener("resize", resized);
    return () => window.removeEventListener("resize", resized);
  }, []);
  useEffect(() => setCard(null), [width]);
  useOpening(place, card, setCard);

  const counted = (Object.keys(WORDS) as (keyof typeof WORDS)[]).filter((status) => grounds.counts[status]);
  const elsewhere = grounds.claims.filter((claim, number) => claim.status !== "empty" && !marked.has(number));
  return (
    <>
      <p role="status">
        {counted.length ? "Sentences: " : "Nothing in this answer can be looked up"}
        {counted.map((status, place) => (
          <span key={status}>
            {place > 0 && ", "}
            <span class={good(status) ? "" : "warn"}>
              {grounds.counts[status]} {WORDS[status]}
            </span>
          </span>
        ))}
        {!grounds.complete && "; the answer is too long to be looked at whole"}.
      </p>
      <p class="quiet">
        Compared by rule with the results and the calls of this run; what only words match was not understood. <a href={proofUrl(run)} download>Download the proof</a>
      </p>
      {elsewhere.length > 0 && (
        <details>
          <summary>{plural(elsewhere.length, "sentence")} that could not be found in the text above</summary>
          <ul>
            {elsewhere.map((claim, number) => (
              <li key={number}>
                <p class="pre">{claim.text}</p>
                <Records claim={claim} ledger={grounds.ledger} />
              </li>
            ))}
          </ul>
        </details>
      )}
      {card && <GroundCard key={card.claim} card={card} claim={grounds.claims[card.claim] as Claim} ledger={grounds.ledger} close={() => close(place, card, setCard)} />}
    </>
  );
}

type Place = RefObject<HTMLElement | null>;
type SetCard = (next: Card | null | ((now: Card | null) => Card | null)) => void;

function close(place: Place, card: Card, setCard: SetCard): void {
  setCard(null);
  footnoteOf(place.current, card.claim)?.focus();
}

/** Opens the card when a sentence is pointed at, or its footnote has the focus or is pressed. */
function useOpening(place: Place, card: Card | null, setCard: SetCard): void {
  const timer = useRef(0);
  useEffect(() => {
    const root = place.current;
    if (!root) return;
    const at = (target: EventTarget | null) => (target as Element | null)?.closest<HTMLElement>(".claim, button.ground") ?? null;
    const later = (wait: number, work: () => void) => {
      window.clearTimeout(timer.current);
      timer.current = window.setTimeout(work, wait);
    };
    // What was opened by a press stays, and so does what the keyboard is at: the pointer only happens to lie elsewhere.
    const stays = (now: Card) => now.pinned || footnoteOf(root, now.claim)?.matches(":focus-visible");
    const hide = () => setCard((now) => (now && stays(now) ? now : null));
    const open = (element: HTMLElement, pinned: boolean) => setCard((now) => (now?.pinned && !pinned ? now : placed(root, element, pinned)));
    const over = (event: PointerEvent) => {
      if (event.pointerType !== "mouse") return;
      const element = at(event.target);
      if (element) later(SHOW, () => open(element, false));
      else if ((event.target as Element).closest(".ground-card")) window.clearTimeout(timer.current);
      else later(HIDE, hide);
    };
    const out = (event: PointerEvent) => {
      if (!root.contains(event.relatedTarget as Node | null)) later(HIDE, hide);
    };
    const focus = (event: FocusEvent) => {
      const element = (event.target as Element).closest<HTMLElement>("button.ground");
      if (element?.matches(":focus-visible")) open(element, false);
    };
    const blur = (event: FocusEvent) => {
      const next = event.relatedTarget as Element | null;
      if (!next?.closest(".ground-card, button.ground")) setCard((now) => (now?.pinned && next === null ? now : null));
    };
    const press = (event: MouseEvent) => {
      const element = (event.target as Element).closest<HTMLElement>("button.ground");
      if (!element) return;
      window.clearTimeout(timer.current);
      open(element, true);
      requestAnimationFrame(() => root.querySelector<HTMLElement>(".ground-card button, .ground-card a")?.focus());
    };
    const key = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || !root.querySelector(".ground-card")) return;
      event.stopPropagation();
      setCard((now) => {
        if (now) footnoteOf(root, now.claim)?.focus();
        return null;
      });
    };
    root.addEventListener("pointerover", over);
    root.addEventListener("pointerout", out);
    root.addEventListener("focusin", focus);
    root.addEventListener("focusout", blur);
    root.addEventListener("click", press);
    root.addEventListener("keydown", key);
    return () => {
      window.clearTimeout(timer.current);
      root.removeEventListener("pointerover", over);
      root.removeEventListener("pointerout", out);
      root.removeEventListener("focusin", focus);
      root.removeEventListener("focusout", blur);
      root.removeEventListener("click", press);
      root.removeEventListener("keydown", key);
    };
  }, []);
  useEffect(() => {
    for (const button of place.current?.querySelectorAll("button.ground") ?? []) button.setAttribute("aria-expanded", String(button.getAttribute("data-claim") === String(card?.claim)));
  }, [card?.claim]);
}

function placed(root: HTMLElement, element: HTMLElement, pinned: boolean): Card {
  const box = root.getBoundingClientRect();
  const claim = Number(element.dataset.claim);
  const at = [...(footnoteOf(root, claim) ?? element).getClientRects()].at(-1) ?? element.getBoundingClientRect();
  return { claim, pinned, left: Math.max(0, Math.min(at.left - box.left - 20, box.width - 340)), top: at.bottom - box.top + 6 };
}

function GroundCard({ card, claim, ledger, close }: { card: Card; claim: Claim; ledger: LedgerEntry[]; close: () => void }) {
  return (
    <div class="ground-card" role="dialog" aria-label={`Grounds of: ${claim.text.slice(0, 80)}`} style={{ left: `${card.left}px`, top: `${card.top}px` }}>
      <header>
        <strong class={good(claim.status) ? "" : "warn"}>{sentence(claim.status === "empty" ? "no claim" : WORDS[claim.status]).slice(0, -1)}</strong>
        <button type="button" class="icon" aria-label="Close the grounds" onClick={close}>
          <Close size={15} />
        </button>
      </header>
      <Records claim={claim} ledger={ledger} />
    </div>
  );
}

const good = (status: Claim["status"]) => status === "supported" || status === "receipted";

function Records({ claim, ledger }: { claim: Claim; ledger: LedgerEntry[] }) {
  const receipts = ledger.filter((entry) => claim.receipt?.calls?.includes(entry.call_id));
  const grounds = claim.grounds ?? [];
  return (
    <>
      {claim.why && <p>{sentence(claim.why)}</p>}
      {claim.status === "unsupported" && grounds.length > 0 && <p class="quiet">The nearest that was found:</p>}
      {receipts.map((entry) => (
        <p key={entry.call_id} class="ground-number">
          <code>{entry.tool}</code> {entry.state === "done" ? "done" : "not done"}
          {entry.time && ` ${when(entry.time)}`}
          {entry.result && `: ${entry.result}`} <RecordLink run={entry.run ?? ""} seq={entry.seq ?? 0} />
        </p>
      ))}
      {grounds.map((ground, number) => (
        <div key={number} class="ground-quote">
          <p class="pre">{ground.quote}</p>
          <RecordLink run={ground.run} seq={ground.seq} />
        </div>
      ))}
      {(claim.status === "receipted" ? [] : (claim.numbers ?? [])).map((number, place) => (
        <p key={place} class="ground-number">
          <code>{number.text}</code>{" "}
          {number.worked_out ? `= ${number.worked_out}` : number.seq !== undefined && number.run ? <RecordLink run={number.run} seq={number.seq} /> : <span class="warn">in no record</span>}
        </p>
      ))}
    </>
  );
}

const sentence = (why: string) => `${why.charAt(0).toUpperCase()}${why.slice(1)}.`;

function RecordLink({ run, seq }: { run: string; seq: number }) {
  return (
    <button type="button" class="link" onClick={() => inspect(run, seq)}>
      Record {seq}
    </button>
  );
}
