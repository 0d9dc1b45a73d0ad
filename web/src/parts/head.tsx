// Above the talk: its title, who answers with which model, and what can be chosen and done for this conversation.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Format } from "../export";
import { exportAs } from "../exporting";
import { current, modelInUse, remove, rename, setOptions, store } from "../model";
import type { Options } from "../options";
import { useStore } from "../store";
import { MenuButton } from "./bar";
import { More } from "./icons";

export function Head() {
  const title = useStore(store, (now) => now.conversations.find((line) => line.id === now.conversation)?.title ?? now.turns[0]?.question ?? "");
  const agent = useStore(store, (now) => (now.turns.length ? now.agent : ""));
  const model = useStore(store, modelInUse);
  const busy = useStore(store, (now) => !!current(now));
  useEffect(() => {
    document.title = `${busy ? "● " : ""}${title || "Treadle"}`;
  }, [title, busy]);
  return (
    <header class="head">
      <MenuButton />
      <Title title={title} />
      {agent && <span class="agent-name">{agent}</span>}
      {model && (
        <span class="model-name" title={`Model: ${model}`}>
          {model}
        </span>
      )}
      <Choices title={title} />
    </header>
  );
}

const LONGEST = 200;

/** The title; a click on it, or F2, makes it something to write in. */
function Title({ title }: { title: string }) {
  const conversation = useStore(store, (now) => now.conversation);
  const [writing, setWriting] = useState("");
  const [words, setWords] = useState("");
  const button = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => box.current?.select(), [writing]);
  const open = useRef(false); // what is taken away loses the focus, too: that must not end it twice
  const begin = () => {
    open.current = true;
    setWords(title);
    setWriting(conversation);
  };
  const end = (keep: boolean) => {
    if (!open.current) return;
    open.current = false;
    setWriting("");
    window.setTimeout(() => button.current?.focus());
    if (keep && words.trim() !== title) void rename(conversation, words.trim());
  };
  useEffect(() => {
    const begun = (event: KeyboardEvent) => {
      if (event.key !== "F2" || !conversation) return;
      event.preventDefault();
      begin();
    };
    window.addEventListener("keydown", begun);
    return () => window.removeEventListener("keydown", begun);
  }, [conversation, title]);
  if (!conversation) return <h1>{title || "New conversation"}</h1>;
  if (writing === conversation) {
    return (
      <h1 class="retitle">
        <span class="visually-hidden">{title}</span>
        <form
        onSubmit={(event) => {
          event.preventDefault();
          end(true);
        }}
      >
        <input
          type="text"
          aria-label="Title of this conversation"
          placeholder="Its first question"
          maxLength={LONGEST}
          value={words}
          ref={box}
          onInput={(event) => setWords(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            event.stopPropagation();
            end(false);
          }}
          onBlur={() => end(true)}
        />
        </form>
      </h1>
    );
  }
  return (
    <h1>
      <button type="button" class="title-button" ref={button} title="Rename (F2)" onClick={begin}>
        {title || "New conversation"}
      </button>
    </h1>
  );
}

function Choices({ title }: { title: string }) {
  const [open, setOpen] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  const conversation = useStore(store, (now) => now.conversation);
  const busy = useStore(store, (now) => !!current(now));
  useEffect(() => {
    if (!open) return;
    const leave = (event: Event) => place.current?.contains(event.target as Node) || setOpen(false);
    document.addEventListener("pointerdown", leave);
    return () => document.removeEventListener("pointerdown", leave);
  }, [open]);
  const save = (format: Format) => {
    setOpen(false);
    void exportAs(title || "Conversation", format);
  };
  return (
    <div
      class="choices"
      ref={place}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !open) return;
        event.stopPropagation();
        setOpen(false);
        place.current?.querySelector<HTMLElement>("button")?.focus();
      }}
    >
      <button type="button" class="icon" aria-label="Settings and export" title="Settings and export" aria-expanded={open} onClick={() => setOpen(!open)}>
        <More />
      </button>
      {open && (
        <div class="choices-panel" role="group" aria-label="This conversation">
          <Settings />
          {conversation && (
            <div class="choices-actions">
              <button type="button" onClick={() => save("markdown")}>
                Export as Markdown
              </button>
              <button type="button" onClick={() => save("json")}>
                Export as JSON
              </button>
              <button type="button" onClick={() => save("html")}>
                Export as a page that replays it
              </button>
              <button type="button" class="danger" disabled={busy} onClick={() => window.confirm(`Delete “${title}” for good?`) && void remove(conversation)}>
                Delete
              </button>
            </div>
          )}
        </div>
      )}
    </div>
  );
}

/** What the server offers beside the agent's own; nothing to choose where there is only that. */
function Offered({ name, own, from, value, pick }: { name: string; own: string; from: string[]; value: string | undefined; pick: (value: string | undefined) => void }) {
  const shown = value && from.includes(value) ? value : own;
  return (
    <label class="wide">
      <span>{name}</span>
      <select value={shown} disabled={from.length < 2} title={from.length < 2 ? `${shown}: the server offers no other` : shown} onChange={(event) => pick(event.currentTarget.value === own ? undefined : event.currentTarget.value)}>
        {from.map((one) => (
          <option key={one} value={one}>
            {one === own && from.length > 1 ? `${one} (its own)` : one}
          </option>
        ))}
      </select>
    </label>
  );
}

function Settings() {
  const agents = useStore(store, (now) => now.agents);
  const agent = useStore(store, (now) => now.agent);
  const options = useStore(store, (now) => now.options);
  const chosen = agents.find((one) => one.name === agent);
  const most = chosen?.max_iterations;
  const number = (name: "temperature" | "max_iterations" | "max_tokens", box: HTMLInputElement) =>
    box.reportValidity() && setOptions({ ...options, [name]: box.value === "" ? undefined : Number(box.value) });
  return (
    <fieldset class="settings">
      <legend>For the next question</legend>
      <label class="wide">
        <span>Agent</span>
        <select value={agent} title={agent} onChange={(event) => store.set({ agent: event.currentTarget.value })}>
          {agents.map((one) => (
            <option key={one.name} value={one.name}>
              {one.name}
            </option>
          ))}
        </select>
      </label>
      <Offered name="Model" own={chosen?.model ?? ""} from={chosen?.models ?? []} value={options.model} pick={(model) => setOptions({ ...options, model })} />
      <Offered name="Preset" own={chosen?.preset ?? ""} from={chosen?.presets ?? []} value={options.preset} pick={(preset) => setOptions({ ...options, preset })} />
      <label class="wide">
        <span>Answer</span>
        <select value={options.answer ?? ""} onChange={(event) => setOptions({ ...options, answer: (event.currentTarget.value || undefined) as Options["answer"] })}>
          <option value="">as the agent is set</option>
          <option value="direct">the model's own words</option>
          <option value="synthesize">written anew from what was found</option>
        </select>
      </label>
      <label>
        <span>Steps at most</span>
        <input type="number" min={1} max={most} placeholder={most ? String(most) : ""} value={options.max_iterations ?? ""} onInput={(event) => number("max_iterations", event.currentTarget)} />
      </label>
      <label>
        <span>Temperature</span>
        <input type="number" min={0} max={2} step={0.1} placeholder="as set" value={options.temperature ?? ""} onInput={(event) => number("temperature", event.currentTarget)} />
      </label>
      <label>
        <span>Reply tokens</span>
        <input type="number" min={1} step={256} placeholder="as set" value={options.max_tokens ?? ""} onInput={(event) => number("max_tokens", event.currentTarget)} />
      </label>
    </fieldset>
  );
}
