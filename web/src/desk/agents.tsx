// The agents of this server: their tools, knowledge bases and MCP servers, and each tool to be tried by hand.

import { useState } from "preact/hooks";
import { api } from "../api";
import { plural, pretty, readable } from "../format";
import { decide, go, store } from "../model";
import { useReading, Waiting } from "../reading";
import { Chevron } from "../parts/icons";
import type { Run } from "../types";
import { desk, type AgentFacts } from "./api";
import { argumentsOf, Fields, type Schema } from "./form";
import { View } from "./view";

export function Agents() {
  const reading = useReading(desk.agents, "agents");
  return (
    <View title="Agents" aside={reading.value ? `${plural(reading.value.length, "agent")} on this server` : "…"}>
      {!reading.value && <Waiting reading={reading} what="The agents could not be read" />}
      <ul class="agents">
        {reading.value?.map((agent) => (
          <Agent key={agent.name} agent={agent} />
        ))}
      </ul>
    </View>
  );
}

function Agent({ agent }: { agent: AgentFacts }) {
  return (
    <li class="agent">
      <header class="agent-title">
        <h2>{agent.name}</h2>
        <button
          type="button"
          onClick={() => {
            go("");
            store.set({ agent: agent.name });
          }}
        >
          Ask it
        </button>
      </header>
      {agent.description && <p>{agent.description}</p>}
      <dl class="agent-facts">
        <div>
          <dt>Model</dt>
          <dd>{agent.model}</dd>
        </div>
        <div>
          <dt>Works</dt>
          <dd>{agent.kind === "DagAgent" ? "after a plan, steps side by side" : "step by step"}</dd>
        </div>
        <div>
          <dt>Limit</dt>
          <dd>{plural(agent.max_iterations, "step")}</dd>
        </div>
      </dl>
      {agent.knowledge.length > 0 && (
        <p>
          Knowledge bases:{" "}
          {agent.knowledge.map((base, place) => (
            <span key={place} class={base.exists ? "health ok" : "health not"}>
              {place > 0 && ", "}
              {base.name} {base.exists ? "" : "(not made yet)"}
            </span>
          ))}
        </p>
      )}
      {agent.mcp.length > 0 && <Servers agent={agent} />}
      <h3>{plural(agent.tools.length, "tool")}</h3>
      {agent.tools.map((tool) => (
        <details key={tool.name} class="try unfold">
          <summary>
            <Chevron size={15} />
            <code>{tool.name}</code> <span class="quiet">{tool.description}</span>
            {tool.approval !== "allow" && <span class="badge">{tool.approval === "ask" ? "asks first" : tool.approval}</span>}
          </summary>
          <Try agent={agent.name} tool={tool.name} schema={tool.parameters as Schema} />
        </details>
      ))}
    </li>
  );
}

function Servers({ agent }: { agent: AgentFacts }) {
  const [looks, setLooks] = useState(0);
  const reading = useReading(() => desk.health(agent.name), `${agent.name} ${looks}`);
  const servers = reading.value;
  return (
    <section aria-label={`MCP servers of ${agent.name}`}>
      <p>
        MCP servers{" "}
        <button type="button" class="link" onClick={() => setLooks(looks + 1)}>
          Look again
        </button>
      </p>
      <ul>
        {servers === null && <li class="quiet">{reading.failed ? `They could not be asked: ${reading.failed}` : `${agent.mcp.join(", ")}: asking …`}</li>}
        {(servers ?? []).map((one) => (
          <li key={one.name}>
            <strong>{one.name}</strong> <span class={one.ok ? "health ok" : "health not"}>{one.ok ? `answers, with ${plural(one.tools.length, "tool")}` : "does not answer"}</span>{" "}
            <span class="quiet">{one.ok ? one.tools.join(", ") : one.problem}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const POLL = 250;

function Try({ agent, tool, schema }: { agent: string; tool: string; schema: Schema }) {
  const [values, setValues] = useState<Record<string, string | boolean>>({});
  const [run, setRun] = useState<Run | null>(null);
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState("");

  async function follow(id: string): Promise<void> {
    for (;;) {
      const now = await api.run(id);
      setRun(now);
      if (now.status !== "running") return;
      await new Promise((done) => window.setTimeout(done, POLL));
    }
  }
  async function attempt(work: () => Promise<void>): Promise<void> {
    setBusy(true);
    setWrong("");
    try {
      await work();
    } catch (error) {
      setWrong(error instanceof Error ? error.message : String(error));
    }
    setBusy(false);
  }
  const submit = () =>
    attempt(async () => {
      const args = argumentsOf(schema, values);
      setRun(null);
      const { run_id } = await desk.tryTool(agent, tool, args);
      await follow(run_id);
    });
  const answer = (call_id: string, allow: boolean) =>
    attempt(async () => {
      if (!run) return;
      const problem = await decide(run.run_id, { call_id, allow });
      if (problem) throw new Error(problem);
      await new Promise((done) => window.setTimeout(done, POLL));
      await follow(run.run_id);
    });
  return (
    <form
      class="tool-form"
      aria-label={`Try ${tool}`}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Fields schema={schema} values={values} change={(name, value) => setValues({ ...values, [name]: value })} />
      <button type="submit" class="primary" disabled={busy}>
        Call it
      </button>
      {wrong && (
        <p class="health not" role="alert">
          {wrong}
        </p>
      )}
      <div role="status">
        {run?.status === "running" && <p class="quiet">It runs …</p>}
        {run?.waiting.map((call) => (
          <div key={call.call_id} class="tool-waits">
            <p>
              It waits for your approval: {call.why}. <code>{pretty(call.tool_args)}</code>
            </p>
            <button type="button" class="primary" disabled={busy} onClick={() => void answer(call.call_id, true)}>
              Allow
            </button>{" "}
            <button type="button" disabled={busy} onClick={() => void answer(call.call_id, false)}>
              Refuse
            </button>
          </div>
        ))}
        {run?.status === "finished" && (
          <>
            <p class={run.success ? "health ok" : "health not"}>{run.success ? "Done." : "It failed."}</p>
            <pre class="tool-outcome" tabIndex={0}>
              {readable(run.answer || run.error)}
            </pre>
          </>
        )}
        {run && <a href={`#/c/${encodeURIComponent(run.run_id)}`}>The record of this call</a>}
      </div>
    </form>
  );
}
