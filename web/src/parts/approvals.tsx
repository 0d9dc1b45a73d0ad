import { useEffect, useRef, useState } from "preact/hooks";
import { argumentsOf, covering, Fields, shownIn, type Schema } from "../desk/form";
import { desk } from "../desk/api";
import { pretty } from "../format";
import { answerCall, decide, decideAll, store } from "../model";
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
      {calls.filter((call) => !call.external).length > 1 && <Together run={run} calls={calls.filter((call) => !call.external)} />}
      {calls.map((call) => {
        const schema = askedIn(call);
        if (schema) return <Asked key={call.call_id} run={run} call={call} schema={schema} />;
        return call.external ? <Result key={call.call_id} run={run} call={call} /> : <Approval key={call.call_id} run={run} call={call} />;
      })}
    </section>
  );
}

const composer = () => document.getElementById("composer") as HTMLTextAreaElement | null;

/** Nothing has the focus, or a message box that is empty. */
function idle(): boolean {
  const active = document.activeElement;
  return !active || active === document.body || (active === composer() && !composer()?.value);
}

/** One question about all calls that wait; each can be decided by itself below. */
function Together({ run, calls }: { run: string; calls: Call[] }) {
  const [problem, setProblem] = useState("");
  const [sent, setSent] = useState(false);
  const answer = async (all: boolean) => {
    setSent(true);
    setProblem(await decideAll(run, calls.map((call) => call.call_id), all));
    setSent(false);
  };
  return (
    <div class="approval" role="group" aria-label={`May it make these ${calls.length} calls?`} tabIndex={-1}>
      <header>
        <Hand />
        <span>
          May it make these <strong>{calls.length} calls</strong>: {calls.map((call) => call.tool).join(", ")}?
        </span>
      </header>
      <p class="problem" role="alert">
        {problem}
      </p>
      <div class="decision">
        <button type="button" class="primary" disabled={sent} onClick={() => void answer(true)}>
          Allow all
        </button>
        <button type="button" disabled={sent} onClick={() => void answer(false)}>
          Refuse all
        </button>
      </div>
    </div>
  );
}

function Approval({ run, call }: { run: string; call: Call }) {
  const [note, setNote] = useState("");
  const [form, setForm] = useState<Form | null>(null);
  const [problem, setProblem] = useState("");
  const [sent, setSent] = useState(false);
  const changed = form !== null && JSON.stringify(form.values) !== JSON.stringify(shownIn(form.schema, call.args));

  const answer = async (allow: boolean, always = false) => {
    let args: Record<string, Json> | undefined;
    try {
      if (allow && changed) args = edited(form, call.args);
    } catch (error) {
      return setProblem(error instanceof Error ? error.message : String(error));
    }
    setSent(true);
    setProblem(await decide(run, { call_id: call.call_id, allow, ...(note ? { note } : {}), ...(always ? { always } : {}), ...(args ? { args } : {}) }));
    setSent(false);
  };
  const edit = async () => {
    const schema = covering(await schemaOf(run, call.tool), call.args);
    setForm({ schema, values: shownIn(schema, call.args) });
  };
  const leave = () => {
    setForm(null);
    setProblem("");
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    if (form === null) return composer()?.focus();
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
        {form === null ? (
          <button type="button" class="link" onClick={() => void edit()}>
            Edit
          </button>
        ) : (
          <button type="button" class="link" onClick={leave}>
            Leave as it was
          </button>
        )}
      </header>
      {call.why && call.why !== `approval of ${call.tool}` && <p class="why quiet">{call.why}</p>}
      {form === null ? <Arguments args={call.args} /> : <Editor call={call} form={form} change={setForm} />}
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
          <input type="text" placeholder="If you refuse: why?" value={note} onInput={(event) => setNote(event.currentTarget.value)} />
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

/** What a form of a document asks for; null for any other call. */
function askedIn(call: Call): Schema | null {
  const form = call.args.form as unknown as Schema | null | undefined;
  return call.external && form && typeof form === "object" && form.properties && typeof form.properties === "object" ? form : null;
}

/** A form of a document, whose fields the person fills in. */
function Asked({ run, call, schema }: { run: string; call: Call; schema: Schema }) {
  const first = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const value = field.default ?? (field.type === "boolean" ? false : undefined);
    return value === undefined ? [] : [[name, value] as const];
  });
  const [values, setValues] = useState(() => shownIn(schema, Object.fromEntries(first)));
  const [problem, setProblem] = useState("");
  const [sent, setSent] = useState(false);
  const send = async (event: Event) => {
    event.preventDefault();
    setSent(true);
    setProblem(await answerCall(run, { call_id: call.call_id, content: JSON.stringify(argumentsOf(schema, values)) }));
    setSent(false);
  };
  return (
    <div class="approval" role="group" aria-label={`Form of ${call.tool}`} tabIndex={-1}>
      <form class="tool-form" onSubmit={(event) => void send(event)}>
        <p class="asked">{String(call.args.tips || "This is needed to go on:")}</p>
        <Fields schema={schema} values={values} change={(name, value) => setValues({ ...values, [name]: value })} />
        <p class="problem" role="alert">
          {problem}
        </p>
        <div class="decision">
          <button type="submit" class="primary" disabled={sent}>
            Send
          </button>
        </div>
      </form>
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

interface Form {
  schema: Schema;
  values: Record<string, string | boolean>;
}

function Editor({ call, form, change }: { call: Call; form: Form; change: (form: Form) => void }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.querySelector<HTMLElement>("input, select, textarea")?.focus(), []);
  return (
    <div class="tool-form edit-arguments" ref={place} role="group" aria-label={`Arguments of ${call.tool}`}>
      <Fields schema={form.schema} values={form.values} change={(name, value) => change({ ...form, values: { ...form.values, [name]: value } })} />
    </div>
  );
}

/** The form of a tool, as the server describes it; undefined where it does not. */
async function schemaOf(run: string, tool: string): Promise<Schema | undefined> {
  try {
    const agent = store.get().turns.find((one) => one.run === run)?.agent ?? store.get().agent;
    const agents = await desk.agents();
    const tools = [...agents.filter((one) => one.name === agent), ...agents].flatMap((one) => one.tools);
    return tools.find((one) => one.name === tool)?.parameters;
  } catch {
    return undefined; // the arguments themselves say which fields there are
  }
}

/** The arguments with what was changed: a field that was not touched keeps its value exactly, an emptied one is left out. */
function edited(form: Form, before: Record<string, Json>): Record<string, Json> {
  const shown = shownIn(form.schema, before);
  const now = argumentsOf(form.schema, form.values);
  for (const name of Object.keys(form.schema.properties ?? {})) if (before[name] !== undefined && form.values[name] === shown[name]) now[name] = before[name];
  for (const [name, value] of Object.entries(form.values)) if (value === "" && shown[name] && form.schema.required?.includes(name)) now[name] = "";
  return now;
}
