// What the provider did by itself while it wrote a reply: nothing of it was run here.

import { plural } from "../format";
import type { ProviderUse } from "../items";
import { Chevron, Cross, Lens } from "./icons";

export function ProviderCard({ used }: { used: ProviderUse }) {
  const failed = used.calls.some((call) => call.error);
  const names = [...new Set(used.calls.map((call) => call.tool))].join(", ") || "sources";
  const asked = used.calls.map((call) => call.input ?? "").filter(Boolean).join(" · ");
  return (
    <div class={`tool at-provider ${failed ? "failed" : "done"}`}>
      <details>
        <summary>
          <span class="state" role="img" aria-label={failed ? "failed" : "done"}>
            {failed ? <Cross size={14} /> : <Lens size={14} />}
          </span>
          <span class="tool-name">{names}</span>
          <span class="tool-brief">{asked}</span>
          <span class="quiet">at the provider{used.citations.length > 0 && `, ${plural(used.citations.length, "source")}`}</span>
          <span class="chevron">
            <Chevron size={15} />
          </span>
        </summary>
        <div class="tool-body">
          {used.calls.map((call, place) => (
            <section key={place}>
              <h2>{call.tool}</h2>
              {call.input && <pre tabIndex={0}>{call.input}</pre>}
              {(call.error || call.output) && (
                <pre tabIndex={0} class={call.error ? "bad" : ""}>
                  {call.error || call.output}
                </pre>
              )}
            </section>
          ))}
          {used.citations.length > 0 && (
            <>
              <h2>Sources</h2>
              <ul class="cited">
                {used.citations.map((one, place) => (
                  <li key={place}>
                    <Source url={one.url ?? ""} name={one.title || one.url || one.file || ""} />
                    {one.quote && <q>{one.quote}</q>}
                  </li>
                ))}
              </ul>
            </>
          )}
        </div>
      </details>
    </div>
  );
}

/** An address is a link only if it leads to the web: whatever a provider cites may be a stranger's words. */
function Source({ url, name }: { url: string; name: string }) {
  if (!/^https?:\/\//i.test(url)) return <span>{name}</span>;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer nofollow">
      {name}
    </a>
  );
}
