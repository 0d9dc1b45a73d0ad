// The frame: conversations on the left, the talk in the middle, the inspector on the right when it is wanted.

import { useEffect } from "preact/hooks";
import { versions } from "./branches";
import { again, current, enter, go, stop, store, toBranch } from "./model";
import { isDrawer, useDrawer } from "./parts/bar";
import { Composer } from "./parts/composer";
import { Guard } from "./parts/guard";
import { Help } from "./parts/help";
import { Login } from "./parts/login";
import { Notice } from "./parts/notice";
import { Sidebar } from "./parts/sidebar";
import { Talk } from "./parts/talk";
import { usePlace, type Place } from "./places";
import { Failed, useReading } from "./reading";
import { useStore } from "./store";

export function App() {
  const door = useStore(store, (now) => now.door);
  useEffect(() => {
    window.addEventListener("keydown", shortcuts);
    return () => window.removeEventListener("keydown", shortcuts);
  }, []);
  const failed = useStore(store, (now) => now.failed);
  if (door === "unknown") return failed ? <main class="login"><Failed what="The page could not start" why={failed} again={() => void enter()} /></main> : null;
  if (door === "token") return <Login />;
  return <Frame />;
}

function Frame() {
  const inspected = useStore(store, (now) => now.inspected);
  const sidebar = useStore(store, (now) => now.sidebar);
  const place = usePlace();
  const inspecting = !!inspected && !place;
  const drawer = useDrawer(inspecting);
  return (
    <div class={`frame${drawer ? " with-drawer" : ""}${sidebar ? " with-sidebar" : ""}${inspecting ? " with-inspector" : ""}`}>
      {!place && (
        <a class="skip" href="#composer">
          Skip to the message box
        </a>
      )}
      <Sidebar />
      {drawer && sidebar && <button type="button" class="scrim" aria-label="Close the list of conversations" onClick={() => store.set({ sidebar: false })} />}
      {place ? (
        <main class="main" aria-label={{ runs: "Runs", agents: "Agents", memory: "Memory", compare: "Two runs" }[place.name]} id="desk">
          <Guard key={place.name} what="This view cannot be shown">
            <Aside place={place} />
          </Guard>
        </main>
      ) : (
        <main class="main" aria-label="Conversation">
          <Talk />
          <Composer />
        </main>
      )}
      {inspecting && (
        <Guard key={inspected} what="This run cannot be inspected">
          <Inspected run={inspected} />
        </Guard>
      )}
      <Help />
      <Notice />
      <Announcer />
    </div>
  );
}

function Inspected({ run }: { run: string }) {
  const part = useReading(() => import("./parts/inspector"), "inspector");
  if (part.failed) return <aside class="inspector" aria-label="Run inspector"><PartMissing why={part.failed} /></aside>;
  return part.value && <part.value.Inspector run={run} />;
}

function Aside({ place }: { place: Place }) {
  const part = useReading(() => import("./desk"), "desk");
  if (part.failed) return <div class="missing"><PartMissing why={part.failed} /></div>;
  return part.value && <part.value.Desk place={place} />;
}

/** A part of the page that is loaded when it is first shown. Browsers do not all ask again for one that failed. */
function PartMissing({ why }: { why: string }) {
  return <Failed what="This part of the page could not be loaded" why={why} again={() => location.reload()} name="Load the page again" />;
}

/** Says what happens to those who do not see it; not every word, only the turns. */
function Announcer() {
  const words = useStore(store, (now) => {
    const last = now.turns.at(-1);
    if (!last) return "";
    if (last.view.error) return `The run failed: ${last.view.error.message}`;
    if (last.view.done) return last.view.done.stop_reason === "cancelled" ? "Stopped." : "The answer is ready.";
    if (last.view.waiting.length) return `Waiting for your approval of ${last.view.waiting[0]?.tool}.`;
    return last.view.activity;
  });
  return (
    <div class="visually-hidden" role="status" aria-live="polite">
      {words}
    </div>
  );
}

function shortcuts(event: KeyboardEvent): void {
  const state = store.get();
  if (state.door !== "open") return;
  const command = event.ctrlKey || event.metaKey;
  if (event.key === "Escape") {
    if (document.querySelector("dialog[open]")) return;
    if (state.sidebar) store.set({ sidebar: false });
    else if (state.inspected) store.set({ inspected: "" });
    else document.getElementById("composer")?.focus();
  } else if (command && event.key === ".") {
    event.preventDefault();
    void stop();
  } else if (event.altKey && event.code === "KeyN") {
    event.preventDefault();
    go("");
    document.getElementById("composer")?.focus();
  } else if (event.altKey && event.code === "KeyS") {
    event.preventDefault();
    if (isDrawer(!!state.inspected)) store.set({ sidebar: true });
    document.getElementById("search")?.focus();
  } else if (event.altKey && event.code === "KeyR") {
    event.preventDefault();
    const last = state.turns.at(-1);
    if (last?.view.done) void again(last.run);
  } else if (event.altKey && (event.code === "Comma" || event.code === "Period")) {
    event.preventDefault();
    const last = state.turns.at(-1);
    const all = last ? versions(state.lines, last.run) : [];
    const other = all[all.findIndex((line) => line.run === last?.run) + (event.code === "Comma" ? -1 : 1)];
    if (other) toBranch(other.run);
  } else if (event.key === "?" && !(event.target as Element).closest("input, textarea, select")) {
    event.preventDefault();
    store.set({ help: true });
  } else if (event.altKey && event.code === "KeyI") {
    event.preventDefault();
    const run = current(state)?.run ?? state.turns.at(-1)?.run ?? "";
    store.set({ inspected: state.inspected ? "" : run });
  }
}
