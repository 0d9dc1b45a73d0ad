// What the keys do.

import { useEffect, useRef } from "preact/hooks";
import { store } from "../model";
import { useStore } from "../store";
import { Close } from "./icons";

const KEYS: [string, string][] = [
  ["Enter", "Send"],
  ["Shift+Enter", "A new line"],
  ["↑", "In an empty message box: edit the last question"],
  ["Ctrl+.", "Stop"],
  ["Alt+N", "New conversation"],
  ["Alt+S", "Search"],
  ["Alt+R", "Answer again"],
  ["Alt+I", "Inspect the run"],
  ["F2", "Rename the conversation"],
  ["Alt+, Alt+.", "The version of the last turn before, the next one"],
  ["Esc", "Close what is open; back to the message box"],
  ["?", "This list"],
];

export function Help() {
  const open = useStore(store, (now) => now.help);
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open) box.current?.showModal();
    else box.current?.close();
  }, [open]);
  return (
    <dialog ref={box} class="help" aria-label="Keys" onClose={() => store.set({ help: false })}>
      <header>
        <h2>Keys</h2>
        <button type="button" class="icon" aria-label="Close the list of keys" onClick={() => store.set({ help: false })}>
          <Close />
        </button>
      </header>
      <dl>
        {KEYS.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  );
}
