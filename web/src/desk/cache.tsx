// What each request had in common with the one before it, and where and why that ended.

import { bytes, count } from "../format";
import { useReading, Waiting } from "../reading";
import { desk } from "./api";

export function Cache({ run, upTo, showRequest }: { run: string; upTo: number; showRequest: (seq: number, beside: number) => void }) {
  const reading = useReading(() => desk.prefixes(run), run, upTo);
  const requests = reading.value;
  if (!requests) return <Waiting reading={reading} what="The requests could not be read" />;
  const before = new Map<string, number>();
  return (
    <ol class="prefixes" aria-label="Requests and what they had in common">
      {requests.map((one) => {
        const earlier = before.get(one.component) ?? -1;
        before.set(one.component, one.seq);
        const share = one.bytes ? Math.round((100 * one.kept_bytes) / one.bytes) : 0;
        return (
          <li key={one.seq} class={one.broke_at >= 0 ? "broken" : ""}>
            <p>
              <strong>
                {one.component}, iteration {one.iteration}
              </strong>{" "}
              <span class="quiet">record {one.seq}</span>
            </p>
            <svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label={`${share} % the same as the request before`}>
              <rect class="all" width="100" height="4" />
              <rect class="good" width={share} height="4" />
            </svg>
            <p class="quiet">
              {earlier < 0 ? `The first: ${bytes(one.bytes)}, nothing to use again.` : `${share} % the same as before: ${one.kept_messages} of ${one.messages} messages, ${bytes(one.kept_bytes)} of ${bytes(one.bytes)}.`}
              {one.input_tokens > 0 && ` The provider read ${count(one.cached_tokens)} of ${count(one.input_tokens)} tokens from its cache.`}
            </p>
            {one.broke_at >= 0 && (
              <p class="broke">
                Broke at {one.tools_changed ? "the tools" : `message ${one.broke_at}`}
                {one.why ? `: ${one.why}` : ""}.
              </p>
            )}
            {earlier >= 0 && (
              <button type="button" class="link" onClick={() => showRequest(one.seq, earlier)}>
                Show the difference
              </button>
            )}
          </li>
        );
      })}
    </ol>
  );
}
