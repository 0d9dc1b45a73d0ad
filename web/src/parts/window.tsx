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

export function Turns({ turns, place, target, grown }: { turns: Turn[]; place: RefObject<HTMLDivElement | null>; target: string; grown: () => void }) {
  const heights = useRef(new Map<string, number>());
  const [range, setRange] = useState<[number, number]>([Math.max(0, turns.length - 12), turns.length]);
  const whole = turns.length <= SHORT;
  const height = (turn: Turn) => heights.current.get(turn.run) ?? ESTIMATE;

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
    if (from !== range[0] || to !== range[1]) setRange([from, to]);
  };
  useLayoutEffect(() => {
    const box = place.current;
    if (!box) return;
    let frame = 0;
    const later = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        look.current();
      });
    };
    box.addEventListener("scroll", later, { passive: true });
    const resize = new ResizeObserver(later);
    resize.observe(box);
    return () => {
      box.removeEventListener("scroll", later);
      resize.disconnect();
      cancelAnimationFrame(frame);
    };
  }, []);
  useLayoutEffect(() => look.current(), [turns.length, whole]);
  // To what was searched for: where it is, as far as is known, then exactly.
  useLayoutEffect(() => {
    const at = turns.findIndex((turn) => turn.run === target);
    const box = place.current;
    if (at < 0 || !box) return;
    if (!whole) {
      box.scrollTop = turns.slice(0, at).reduce((sum, turn) => sum + height(turn), 0);
      look.current();
    }
    requestAnimationFrame(() => document.getElementById(`turn-${target}`)?.scrollIntoView({ block: "start" }));
  }, [target, turns.length > 0]);

  const from = whole ? 0 : Math.min(range[0], turns.length);
  const to = whole ? turns.length : Math.max(from, Math.min(turns.length, range[1]));
  const sum = (some: Turn[]) => some.reduce((total, turn) => total + height(turn), 0);
  return (
    <>
      {from > 0 && <div class="off-screen" aria-hidden="true" style={{ height: `${sum(turns.slice(0, from))}px` }} />}
      {turns.slice(from, to).map((turn) => (
        <Measured key={turn.run} turn={turn} heights={heights.current} grown={grown} />
      ))}
      {to < turns.length && <div class="off-screen" aria-hidden="true" style={{ height: `${sum(turns.slice(to))}px` }} />}
    </>
  );
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
