// Views beside the conversations (`#/runs`, `#/agents`, `#/memory`, `#/compare/A/B`).

import { useEffect, useState } from "preact/hooks";

const PLACE = /^#\/(runs|agents|memory|compare)(?:\/(.*))?$/;

export interface Place {
  name: "runs" | "agents" | "memory" | "compare";
  rest: string[];
}

export function placeOf(hash: string): Place | null {
  const found = PLACE.exec(hash);
  return found ? { name: found[1] as Place["name"], rest: (found[2] ?? "").split("/").filter(Boolean).map(decoded) } : null;
}

/** A part of an address; as it stands where it is none. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The place that the address names; null where that is a conversation. */
export function usePlace(): Place | null {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const look = () => setHash(location.hash);
    window.addEventListener("hashchange", look);
    return () => window.removeEventListener("hashchange", look);
  }, []);
  return placeOf(hash);
}
