import { useState } from "preact/hooks";
import { pretty } from "../format";
import { decide } from "../model";
import type { WaitingCall } from "../types";
import { Hand } from "./icons";

export function Approvals({ run, calls }: { run: string; calls: WaitingCall[] }) {
  return (
    <section class="approvals" aria-label="Waiting for your decision">
      {calls.map((call) => (
        <Approval key={call.call_id} run={run} call={call} />
      ))}
    </section>
  );
}

function Approval({ run, call }: { run: string; call: WaitingCall }) {
  const [note, setNote] = useState("");
  const [sent, setSent] = useState(false);
  const answer = async (allow: boolean) => {
    setSent(true);
    await decide(run, call.call_id, allow, note);
    setSent(false);
  };
  return (
    <div class="approval">
      <header>
        <Hand />
        <span>
          May it use <strong>{call.tool_name}</strong>?
        </span>
      </header>
      <dl class="arguments">
        {Object.entries(call.tool_args).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{pretty(value)}</dd>
          </div>
        ))}
      </dl>
      <div class="decision">
        <button type="button" class="primary" disabled={sent} onClick={() => void answer(true)}>
          Allow
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
