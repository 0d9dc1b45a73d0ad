// Something with a name that opens and closes. What is in it is made when it is first open.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Chevron } from "../parts/icons";

export function Group({ name, open, children }: { name: ComponentChildren; open?: boolean; children: ComponentChildren }) {
  const [seen, setSeen] = useState(open);
  return (
    <details class="unfold" open={open} onToggle={(event) => event.currentTarget.open && setSeen(true)}>
      <summary>
        <Chevron size={14} /> {name}
      </summary>
      {(open || seen) && children}
    </details>
  );
}
