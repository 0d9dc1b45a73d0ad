// The way to every other view, in the head of each view where the list of conversations is a drawer.

import { useEffect, useState } from "preact/hooks";
import { store } from "../model";
import { Menu } from "./icons";

const DRAWER = "(max-width: 760px)";
const DRAWER_BESIDE_INSPECTOR = "(max-width: 1100px)";

/** Whether the sidebar is a drawer at this width, which the inspector makes narrower. */
export function isDrawer(inspected: boolean): boolean {
  return matchMedia(inspected ? DRAWER_BESIDE_INSPECTOR : DRAWER).matches;
}

export function useDrawer(inspected: boolean): boolean {
  const [, look] = useState(0);
  useEffect(() => {
    const queries = [matchMedia(DRAWER), matchMedia(DRAWER_BESIDE_INSPECTOR)];
    const changed = () => look((now) => now + 1);
    for (const query of queries) query.addEventListener("change", changed);
    return () => {
      for (const query of queries) query.removeEventListener("change", changed);
    };
  }, []);
  return isDrawer(inspected);
}

export function MenuButton() {
  return (
    <button type="button" class="icon menu" aria-label="Conversations and views" onClick={() => store.set({ sidebar: true })}>
      <Menu />
    </button>
  );
}
