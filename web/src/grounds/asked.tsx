// Which answers were asked for their grounds, and the button that asks. What is shown then is a bundle of its own.

import type { RefObject } from "preact";
import { useReading } from "../reading";
import { createStore, useStore } from "../store";

const asked = createStore<{ runs: ReadonlySet<string> }>({ runs: new Set() });

function toggle(run: string): void {
  const runs = new Set(asked.get().runs);
  if (!runs.delete(run)) runs.add(run);
  asked.set({ runs });
}

export function GroundsButton({ run }: { run: string }) {
  const on = useStore(asked, (now) => now.runs.has(run));
  return (
    <button type="button" class="icon" aria-label="Grounds of the answer" title="Where each sentence comes from" aria-pressed={on} onClick={() => toggle(run)}>
      <svg width="16" height="16" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
        <path d="M12 8v13M12 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM5 13a7 7 0 0 0 14 0M8 11h8" />
      </svg>
    </button>
  );
}

/** The grounds of a finished answer, in the element that shows it. */
export function GroundsPlace({ run, place, shown }: { run: string; place: RefObject<HTMLElement | null>; shown: string[] }) {
  const on = useStore(asked, (now) => now.runs.has(run));
  return on ? <Loaded run={run} place={place} shown={shown} /> : null;
}

function Loaded(props: { run: string; place: RefObject<HTMLElement | null>; shown: string[] }) {
  const part = useReading(() => import("./layer"), "grounds");
  if (part.failed) return <p role="alert">This part of the page could not be loaded: {part.failed}</p>;
  return part.value && <part.value.Layer {...props} />;
}
