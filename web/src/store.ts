// One value that changes, and components that look at a part of it.

import { useLayoutEffect, useState } from "preact/hooks";

export interface Store<T> {
  get(): T;
  set(change: Partial<T> | ((now: T) => Partial<T>)): void;
  subscribe(listener: () => void): () => void;
}

export function createStore<T extends object>(first: T): Store<T> {
  let now = first;
  const listeners = new Set<() => void>();
  return {
    get: () => now,
    set(change) {
      const part = typeof change === "function" ? change(now) : change;
      now = { ...now, ...part };
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The part of a store that `pick` gives; the component is drawn again only when that part is another value. */
export function useStore<T extends object, P>(store: Store<T>, pick: (now: T) => P): P {
  const [, redraw] = useState(0);
  const picked = pick(store.get());
  useLayoutEffect(() => {
    let seen = picked;
    const look = () => {
      const next = pick(store.get());
      if (!Object.is(next, seen)) {
        seen = next;
        redraw((count) => count + 1);
      }
    };
    look();
    return store.subscribe(look);
  }, [store, picked]);
  return picked;
}
