// The frame of each view beside the conversations: the same head as theirs, and what is below it scrolls.

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { MenuButton } from "../parts/bar";

export function View({ title, aside, children }: { title: string; aside?: ComponentChildren; children: ComponentChildren }) {
  useEffect(() => {
    document.title = `${title} · Treadle`;
  }, [title]);
  return (
    <>
      <header class="head desk-head">
        <MenuButton />
        <h1>{title}</h1>
        <p class="quiet" role="status">
          {aside}
        </p>
      </header>
      <div class="desk" tabIndex={-1}>
        <div class="desk-page">{children}</div>
      </div>
    </>
  );
}
