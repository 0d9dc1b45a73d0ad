import { useEffect, useState } from "preact/hooks";
import { artifactUrl } from "../api";
import { isExported } from "../embedded";
import { brief, bytes, pretty, readable, seconds } from "../format";
import { store } from "../model";
import type { ArtifactLine, Call } from "../items";
import type { Json } from "../types";
import { ChildRun } from "./child";
import { Check, Chevron, Cross, Download, File, Lens } from "./icons";

const ERRORS: Record<string, string> = {
  unknown_tool: "There is no such tool",
  invalid_args: "The arguments do not fit",
  timeout: "Took too long",
  exception: "Failed",
  denied: "Refused",
  cancelled: "Not run: stopped",
  unknown_outcome: "Outcome unknown",
  rejected: "Not run",
  lost_extras: "Not run",
};

const WORK = { running: "works in the background", done: "ended in the background", failed: "failed in the background", stopped: "stopped with the run" };

export function ToolCard({ use, run }: { use: Call; run: string }) {
  const [open, setOpen] = useState(false);
  const running = use.state === "running" || use.work === "running";
  const failed = isFailed(use) || use.work === "failed";
  return (
    <div class={`tool ${isFailed(use) ? "failed" : use.state}`}>
      <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span class="state" role="img" aria-label={running ? "running" : failed ? "failed" : "done"}>
            {running ? <span class="spinner" /> : failed ? <Cross size={14} /> : <Check size={14} />}
          </span>
          <span class="tool-name">{use.tool}</span>
          <span class="tool-brief">{brief(use.args)}</span>
          {use.error && <span class="tool-error">{ERRORS[use.error] ?? use.error}</span>}
          {use.work && <span class={use.work === "failed" ? "tool-error" : "quiet"}>{WORK[use.work]}</span>}
          <span class="tool-time">{running ? <Clock since={use.began * 1000} /> : use.elapsed > 0 && seconds(use.elapsed)}</span>
          <span class="chevron">
            <Chevron size={15} />
          </span>
        </summary>
        {(open || isExported) && (
          <div class="tool-body">
            <Body use={use} run={run} />
          </div>
        )}
      </details>
      {!open && running && use.output && <LiveLine text={use.output} />}
      {use.artifacts.map((artifact) => (
        <ArtifactView key={artifact.name} artifact={artifact} run={run} call={use.call_id} />
      ))}
    </div>
  );
}

/** It has no result: it failed, was not allowed, or was stopped. */
const isFailed = (use: Call): boolean => ["failed", "refused", "cancelled"].includes(use.state);

function Body({ use, run }: { use: Call; run: string }) {
  const child = useChild(run, use);
  return (
    <>
      <h2>Arguments</h2>
      {Object.keys(use.args).length ? <Arguments args={use.args} /> : <p class="quiet">None</p>}
      {use.proposed && (
        <>
          <h2>They were changed; the model asked for</h2>
          <Arguments args={use.proposed} />
        </>
      )}
      {use.output && (
        <>
          <h2>{use.state === "running" ? "Output so far" : "Output while it ran"}</h2>
          <pre tabIndex={0} class="live">
            {use.output}
          </pre>
        </>
      )}
      {use.state !== "running" && (
        <>
          <h2>{isFailed(use) ? "Error" : "Observation"}</h2>
          <pre tabIndex={0} class={isFailed(use) ? "bad" : ""}>
            {readable(use.content)}
          </pre>
          {use.truncated && <p class="quiet">Cut for the model; the journal has it whole.</p>}
        </>
      )}
      {child && <ChildRun run={child} />}
      {child && !isExported && (
        <button type="button" class="link" onClick={() => store.set({ inspected: child })}>
          <Lens size={14} /> Inspect the run it started
        </button>
      )}
    </>
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

/** An agent that was used as a tool has a run of its own, under the run and the call. */
function useChild(run: string, use: Call): string {
  const keys = Object.keys(use.args);
  return use.has_run || (keys.includes("reasoning") && keys.includes("context")) ? `${run}.${use.call_id}` : "";
}

function LiveLine({ text }: { text: string }) {
  const lines = text.trimEnd().split("\n");
  return <pre class="live-line">{lines.slice(-3).join("\n")}</pre>;
}

function Clock({ since }: { since: number }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = window.setInterval(() => tick((count) => count + 1), 500);
    return () => window.clearInterval(timer);
  }, []);
  const passed = (Date.now() - since) / 1000;
  return <>{passed < 1 ? "" : seconds(passed)}</>;
}

function ArtifactView({ artifact, run, call }: { artifact: ArtifactLine; run: string; call: string }) {
  const [open, setOpen] = useState(false);
  // A picture is looked at at once. One with scripts in it (SVG) does not run them there, but it stays in its frame.
  const picture = /^image\/(png|jpeg|gif|webp|avif)$/.test(artifact.mime);
  const address = artifactUrl(run, call, artifact.name);
  if (isExported && !address) return <p class="quiet artifact">{artifact.name}: {artifact.summary || artifact.mime}, in the log</p>;
  return (
    <div class="artifact">
      <div class="artifact-head">
        <button type="button" aria-expanded={picture !== open} onClick={() => setOpen(!open)}>
          <File size={16} />
          <span class="artifact-name">{artifact.name}</span>
          <span class="quiet">
            {artifact.mime}, {bytes(artifact.size)}
          </span>
          <span class="quiet">{picture === open ? "Preview" : "Hide"}</span>
        </button>
        <a class="icon" href={isExported ? address : artifactUrl(run, call, artifact.name, true)} download={artifact.name} aria-label={`Download ${artifact.name}`} title="Download">
          <Download size={16} />
        </a>
      </div>
      {artifact.summary && <p class="quiet">{artifact.summary}</p>}
      {/* No permission at all: what a tool made can be looked at, it cannot act. The server says the same in its headers. */}
      {picture && !open && <img class="artifact-picture" src={address} alt={artifact.summary || artifact.name} loading="lazy" />}
      {!picture && open && <iframe sandbox="" title={`Preview of ${artifact.name}`} src={address} loading="lazy" referrerpolicy="no-referrer" />}
    </div>
  );
}
