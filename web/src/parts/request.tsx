import { api } from "../api";
import { plural, pretty } from "../format";
import { useReading, Waiting } from "../reading";
import { Difference } from "../desk/difference";
import type { Json, LogRecord, SentRequest } from "../types";
import { Check, Chevron, Cross } from "./icons";

interface Props {
  run: string;
  seq: number;
  /** The record of the request to put beside it; -1 for none. */
  beside: number;
  requests: LogRecord[];
  choose: (seq: number) => void;
  back: () => void;
}

export function RequestView({ run, seq, beside, requests, choose, back }: Props) {
  const reading = useReading(() => api.request(run, seq), `${run}/${seq}`);
  const readingOther = useReading<SentRequest | null>(() => (beside < 0 ? Promise.resolve(null) : api.request(run, beside)), `${run}/${beside}`);
  const request = reading.value;
  const other = readingOther.value;
  return (
    <div class="inspector-body request">
      <button type="button" class="link back" onClick={back}>
        <Chevron size={15} /> Timeline
      </button>
      {requests.length > 1 && (
        <label class="beside">
          Compare with{" "}
          <select value={beside} onChange={(event) => choose(Number(event.currentTarget.value))}>
            <option value={-1}>no other request</option>
            {requests
              .filter((one) => one.seq !== seq)
              .map((one) => (
                <option key={one.seq} value={one.seq}>
                  {`record ${one.seq}: ${pretty(one.event.component)}, iteration ${pretty(one.event.iteration)}`}
                </option>
              ))}
          </select>
        </label>
      )}
      {!request && <Waiting reading={reading} what="This request could not be rendered again" />}
      {request && beside >= 0 && !other && <Waiting reading={readingOther} what="The other request could not be rendered again" />}
      {request && (beside < 0 ? <Sent request={request} /> : other && <Both before={other} after={request} />)}
    </div>
  );
}

function Both({ before, after }: { before: SentRequest; after: SentRequest }) {
  return (
    <>
      <h3>
        From record {before.seq} to record {after.seq}
      </h3>
      <Difference before={asText(before)} after={asText(after)} />
    </>
  );
}

function asText(request: SentRequest): string {
  const messages = request.messages.map((message) => `--- ${pretty(message.role)} ---\n${words(message)}`);
  const tools = request.tools.map((tool) => `--- tool ${tool.name} ---\n${tool.description}\n${pretty(tool.parameters)}`);
  const options = Object.entries(request.options).map(([name, value]) => `${name}: ${pretty(value)}`);
  return [...messages, ...tools, "--- options ---", ...options].join("\n");
}

function Sent({ request }: { request: SentRequest }) {
  const options = Object.entries(request.options).filter(([, value]) => value !== null && !(Array.isArray(value) && !value.length));
  return (
    <>
      <h3>
        Request of {request.component}, iteration {request.iteration}
      </h3>
      <p class={request.verified ? "verified" : "verified not"}>
        {request.verified ? <Check size={14} /> : <Cross size={14} />}
        {request.verified ? "Byte for byte what was sent" : "Not what was sent: it was rendered by another version"}
        <code>{request.digest.slice(0, 12)}</code>
      </p>
      <ol class="messages">
        {request.messages.map((message, place) => (
          <Message key={place} message={message} />
        ))}
      </ol>
      {request.tools.length > 0 && (
        <details>
          <summary>{plural(request.tools.length, "tool")}</summary>
          {request.tools.map((tool) => (
            <details key={tool.name}>
              <summary>
                <code>{tool.name}</code> <span class="quiet">{tool.description}</span>
              </summary>
              <pre tabIndex={0}>{pretty(tool.parameters)}</pre>
            </details>
          ))}
        </details>
      )}
      <details>
        <summary>Options</summary>
        <pre tabIndex={0}>{options.map(([name, value]) => `${name}: ${pretty(value)}`).join("\n")}</pre>
      </details>
    </>
  );
}

function Message({ message }: { message: Record<string, Json> }) {
  const records = (message.records as number[] | undefined) ?? [];
  return (
    <li class={`message by-${pretty(message.role)}`}>
      <header>
        <span class="role">{pretty(message.role)}</span>
        <span class="quiet">
          from {pretty(message.from)}
          {records.length > 0 && `, record ${records.join(", ")}`}
        </span>
      </header>
      <pre tabIndex={0}>{words(message)}</pre>
    </li>
  );
}

function words(message: Record<string, Json>): string {
  const parts: string[] = [];
  if (typeof message.reasoning === "string" && message.reasoning) parts.push(`(reasoning)\n${message.reasoning}`);
  const content = message.content ?? message.text;
  if (content !== undefined && content !== "") parts.push(typeof content === "string" ? content : pretty(content));
  for (const call of (message.calls as { name: string; args?: Json }[] | undefined) ?? []) parts.push(`${call.name}(${pretty(call.args ?? {})})`);
  return parts.join("\n\n");
}
