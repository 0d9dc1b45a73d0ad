// Of a long talk only what is near the reader is in the page. What has been seen keeps its height, what has not is estimated.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";
import { watch, type Turn } from "../model";
import { Guard } from "./guard";
import { TurnView } from "./turn";

/** Shorter talks are drawn whole. */
const SHORT = 30;
const ESTIMATE = 260;
/** How many screens above and below are drawn. */
const AROUND = 1.5;

interface Shown {
  turns: Turn[];
  place: RefObject<HTMLDivElement | null>;
  target: string;
  /** The turn that stays where it was put while what is around it is read and grows, until the reader goes elsewhere. */
  held: RefObject<string>;
  grown: () => void;
}

export function Turns({ turns, place, target, held, grown }: Shown) {
  const heights = useRef(new Map<string, number>());
  const [range, setRange] = useState<[number, number]>([Math.max(0, turns.length - 12), turns.length]);
  const whole = turns.length <= SHORT;
  const height = (turn: Turn) => heights.current.get(turn.run) ?? ESTIMATE;
  const sum = (some: Turn[]) => some.reduce((total, turn) => total + height(turn), 0);

  const look = useRef(() => undefined as void);
  look.current = () => {
    const box = place.current;
    if (!box || whole) return;
    const top = box.scrollTop - box.clientHeight * AROUND;
    const bottom = box.scrollTop + box.clientHeight * (1 + AROUND);
    let from = 0;
    let at = 0;
    while (from < turns.length - 1 && at + height(turns[from] as Turn) < top) at += height(turns[from++] as Turn);
    let to = from;
    while (to < turns.length && at < bottom) at += height(turns[to++] as Turn);
    const kept = turns.findIndex((turn) => turn.run === held.current);
    if (kept >= 0) [from, to] = [Math.min(from, kept), Math.max(to, kept + 1)];
    if (from !== range[0] || to !== range[1]) setRange([from, to]);
  };

  // To what was searched for: where it is, as far as is known, then exactly.
  const put = useRef(0);
  const keep = useRef((_: string) => undefined as void);
  keep.current = (run) => {
    held.current = run;
    const box = place.current;
    if (!box) return;
    box.style.overflowAnchor = run ? "none" : ""; // two that hold a place would push each other
    put.current = box.scrollTop;
  };
  const hold = useRef(() => undefined as void);
  hold.current = () => {
    const box = place.current;
    const at = held.current ? turns.findIndex((turn) => turn.run === held.current) : -1;
    if (at < 0 || !box) return;
    if (gone(box, put.current)) return keep.current("");
    const shown = document.getElementById(`turn-${held.current}`);
    if (shown) box.scrollTop += shown.getBoundingClientRect().top - box.getBoundingClientRect().top;
    else box.scrollTop = sum(turns.slice(0, at));
    put.current = box.scrollTop;
  };
  const moved = () => {
    if (held.current) hold.current();
    else grown();
  };

  useLayoutEffect(() => {
    const box = place.current;
    if (!box) return;
    let frame = 0;
    const scrolled = () => {
      if (held.current && gone(box, put.current)) keep.current("");
      later();
    };
    const later = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        look.current();
      });
    };
    box.addEventListener("scroll", scrolled, { passive: true });
    const resize = new ResizeObserver(later);
    resize.observe(box);
    return () => {
      box.removeEventListener("scroll", scrolled);
      resize.disconnect();
      cancelAnimationFrame(frame);
    };
  }, []);
  useLayoutEffect(() => look.current(), [turns.length, whole]);
  useLayoutEffect(() => {
    keep.current(target);
    hold.current();
    look.current();
  }, [target, turns.length > 0]);
  useLayoutEffect(() => hold.current());

  const from = whole ? 0 : Math.min(range[0], turns.length);
  const to = whole ? turns.length : Math.max(from, Math.min(turns.length, range[1]));
  return (
    <>
      {from > 0 && <div class="off-screen" aria-hidden="true" style={{ height: `${sum(turns.slice(0, from))}px` }} />}
      {turns.slice(from, to).map((turn) => (
        <Measured key={turn.run} turn={turn} heights={heights.current} grown={moved} />
      ))}
      {to < turns.length && <div class="off-screen" aria-hidden="true" style={{ height: `${sum(turns.slice(to))}px` }} />}
    </>
  );
}

/** Whether the reader has left the place where something was put; at the end of what has become shorter nobody has gone. */
function gone(box: HTMLElement, put: number): boolean {
  const shortened = box.scrollTop < put && box.scrollTop + box.clientHeight >= box.scrollHeight - 2;
  return Math.abs(box.scrollTop - put) > 2 && !shortened;
}

function Measured({ turn, heights, grown }: { turn: Turn; heights: Map<string, number>; grown: () => void }) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const box = place.current;
    if (!box) return;
    watch(turn.run);
    const size = new ResizeObserver(() => {
      heights.set(turn.run, box.offsetHeight);
      grown();
    });
    size.observe(box);
    return () => size.disconnect();
  }, [turn.run]);
  return (
    <div ref={place} id={`turn-${turn.run}`}>
      <Guard what="This turn cannot be shown">
        <TurnView turn={turn} />
      </Guard>
    </div>
  );
}
