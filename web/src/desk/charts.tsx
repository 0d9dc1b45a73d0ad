// Small charts, drawn as SVG.

import { count, money, plural } from "../format";
import type { Overview } from "./api";

const HEIGHT = 120;
const WIDTH = 720;
/** So many spans are shown at least: one of them alone is no bar as wide as the view. */
const FEWEST = 12;

export function Bars({ spans, span }: { spans: Overview["spans"]; span: number }) {
  const last = spans.at(-1)?.start ?? 0;
  const first = Math.min(spans[0]?.start ?? 0, last - (FEWEST - 1) * span);
  const places = Math.round((last - first) / span) + 1;
  const most = Math.max(1, ...spans.map((one) => one.runs));
  const wide = WIDTH / places;
  const finer = span < 86_400 ? { hour: "2-digit", minute: "2-digit" } as const : last - first > 300 * 86_400 ? { year: "numeric" } as const : {};
  const day = (time: number) => new Date(time * 1000).toLocaleString("en", { day: "numeric", month: "short", ...finer });
  const total = spans.reduce((sum, one) => sum + one.runs, 0);
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${plural(total, "run")} from ${day(first)} to ${day(last)}, at most ${count(most)} at a time`} preserveAspectRatio="none">
        {spans.map((one) => {
          const x = Math.round((one.start - first) / span) * wide;
          const high = (HEIGHT * one.runs) / most;
          const good = (HEIGHT * one.succeeded) / most;
          return (
            <g key={one.start}>
              <title>{`${day(one.start)}: ${plural(one.runs, "run")}, ${count(one.succeeded)} good${one.cost === null ? "" : `, ${money(one.cost)}`}`}</title>
              <rect class="all" x={x} y={HEIGHT - high} width={Math.max(1, wide * 0.84)} height={high} />
              <rect class="good" x={x} y={HEIGHT - good} width={Math.max(1, wide * 0.84)} height={good} />
            </g>
          );
        })}
      </svg>
      <figcaption class="quiet">
        <span>{day(first)}</span>
        <span>
          <i class="key good" /> succeeded <i class="key all" /> others (at most {count(most)})
        </span>
        <span>{day(last)}</span>
      </figcaption>
    </figure>
  );
}

export function Meter({ part, whole }: { part: number; whole: number }) {
  return (
    <svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      <rect class="good" width={(100 * part) / Math.max(1, whole)} height="4" />
    </svg>
  );
}
