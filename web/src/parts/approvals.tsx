import { useEffect, useRef, useState } from "preact/hooks";
import { pretty } from "../format";
import { answerCall, decide } from "../model";
import type { Call } from "../items";
import type { Json } from "../types";
import { Hand } from "./icons";

export function Approvals({ run, calls }: { run: string; calls: Call[] }) {
  const place = useRef<HTMLElement>(null);
  const first = calls[0]?.call_id;
  // Whoever is writing is not interrupted. The card gets the focus, not a button: a key that was meant for something else decides nothing.
  useEffect(() => {
    if (idle()) place.current?.querySelector<HTMLElement>(".approval")?.focus();
  }, [first]);
  useEffect(() => () => void window.setTimeout(() => idle() && matchMedia("(pointer: fine)").matches && composer()?.focus()), []);
  return (
    <section class="approvals" aria-label="Waiting for your decision" ref={place}>
      {calls.map((call) => (call.external ? <Result key={call.call_id} run={run} call={call} /> : <Approval key={call.call_id} run={run} call={call} />))}
    </section>
  );
}

const composer = () => document.getElementById("composer") as HTMLTextAreaElement | null;

/** Nothing has the focus, or a message box that is empty. */
function idle(): boolean {
  const active = document.activeElement;
  return !active || active === document.body || (active === composer() && !composer()?.value);
}

function Approval({ run, call }: { run: string; call: Call }) {
  const [note, setNote] = useState("");
  const [edited, setEdited] = useState<string | null>(null);
  const [problem, setProblem] = useState("");
  const [sent, setSent] = useState(false);
  const changed = edited !== null && edited !== written(call.args);

  const answer = async (allow: boolean, always = false) => {
    const args = allow && changed ? read(edited) : undefined;
    if (typeof args === "string") return setProblem(args);
    setSent(true);
    setProblem(await decide(run, { call_id: call.call_id, allow, ...(note ? { note } : {}), ...(always ? { always } : {}), ...(args ? { args } : {}) }));
    setSent(false);
  };
  const leave = () => {
    setEdited(null);
    setProblem("");
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    if (edited === null) return composer()?.focus();
    leave();
    (event.currentTarget as HTMLElement).focus();
  };
  return (
    <div class="approval" role="group" aria-label={`May it use ${call.tool}?`} tabIndex={-1} onKeyDown={keys}>
      <header>
        <Hand />
        <span>
          May it use <strong>{call.tool}</strong>?
        </span>
        {edited === null ? (
          <button type="button" class="link" onClick={() => setEdited(written(call.args))}>
            Edit
          </button>
        ) : (
          <button type="button" class="link" onClick={leave}>
            Leave as it was
          </button>
        )}
      </header>
      {call.why && call.why !== `approval of ${call.tool}` && <p class="why quiet">{call.why}</p>}
      {edited === null ? <Arguments args={call.args} /> : <Editor call={call} text={edited} invalid={!!problem} change={setEdited} />}
      <p class="problem" role="alert">
        {problem}
      </p>
      <div class="decision">
        <button type="button" class="primary" disabled={sent} onClick={() => void answer(true)}>
          {changed ? "Allow as changed" : "Allow"}
        </button>
        <button type="button" disabled={sent} title={`Also every later call of ${call.tool} in this run`} onClick={() => void answer(true, true)}>
          Always for this run
        </button>
        <button type="button" disabled={sent} onClick={() => void answer(false)}>
          Refuse
        </button>
        <label class="grow">
          <span class="visually-hidden">Why it is refused</span>
          <input type="text" placeholder="If you refuse: why? (optional)" value={note} onInput={(event) => setNote(event.currentTarget.value)} />
        </label>
      </div>
    </div>
  );
}

/** A call that is not executed by the server: whoever knows what came of it says so. */
function Result({ run, call }: { run: string; call: Call }) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const [sent, setSent] = useState(false);
  const give = async (result: { content?: string; error?: string }) => {
    setSent(true);
    setProblem(await answerCall(run, { call_id: call.call_id, ...result }));
    setSent(false);
  };
  return (
    <div class="approval" role="group" aria-label={`Result of ${call.tool}`} tabIndex={-1}>
      <header>
        <Hand />
        <span>
          What came of <strong>{call.tool}</strong>?
        </span>
      </header>
      <Arguments args={call.args} />
      <textarea class="edit-arguments" aria-label={`Result of ${call.tool}, text or JSON`} rows={4} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <p class="problem" role="alert">
        {problem}
      </p>
      <div class="decision">
        <button type="button" class="primary" disabled={sent || !text} onClick={() => void give({ content: text })}>
          Give the result
        </button>
        <button type="button" disabled={sent} onClick={() => void give({ error: text || "it could not be done" })}>
          It failed
        </button>
      </div>
    </div>
  );
}

function Arguments({ args }: { args: Record<string, Json> }) {
  return (
    <dl class="arguments">
      {Object.entries(args).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{pretty(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

interface EditorProps {
  call: Call;
  text: string;
  invalid: boolean;
  change: (text: string) => void;
}

function Editor({ call, text, invalid, change }: EditorProps) {
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => box.current?.focus(), []);
  return (
    <textarea
      ref={box}
      class="edit-arguments"
      aria-label={`Arguments of ${call.tool}, as JSON`}
      aria-invalid={invalid}
      rows={Math.min(16, text.split("\n").length + 1)}
      spellcheck={false}
      value={text}
      onInput={(event) => change(event.currentTarget.value)}
    />
  );
}

const written = (args: Record<string, Json>): string => JSON.stringify(args, null, 2);

/** The arguments that a text stands for, or what is wrong with it; the server checks them against the tool. */
function read(text: string): Record<string, Json> | string {
  try {
    const value: Json = JSON.parse(text);
    if (value && typeof value === "object" && !Array.isArray(value)) return value;
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
  return "The arguments are a JSON object: names and values in braces.";
}
