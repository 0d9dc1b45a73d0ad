// Two texts, line by line: what both have, what only one has.

const MOST = 600;

export type Change = [kind: "same" | "removed" | "added", line: string];

export function changes(before: string, after: string): Change[] {
  const a = before.split("\n");
  const b = after.split("\n");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const middle = between(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const same = (line: string): Change => ["same", line];
  return [...a.slice(0, start).map(same), ...middle, ...a.slice(a.length - end).map(same)];
}

function between(a: string[], b: string[]): Change[] {
  if (!a.length || !b.length || a.length > MOST || b.length > MOST) {
    return [...a.map((line): Change => ["removed", line]), ...b.map((line): Change => ["added", line])];
  }
  // The longest common part, by the usual table.
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i]![j] = a[i] === b[j] ? table[i + 1]![j + 1]! + 1 : Math.max(table[i + 1]![j]!, table[i]![j + 1]!);
    }
  }
  const found: Change[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      found.push(["same", a[i]!]);
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && table[i + 1]![j]! >= table[i]![j + 1]!)) found.push(["removed", a[i++]!]);
    else found.push(["added", b[j++]!]);
  }
  return found;
}

const SIGN = { same: " ", removed: "−", added: "+" };

export function Difference({ before, after }: { before: string; after: string }) {
  return (
    <pre class="difference" tabIndex={0}>
      {changes(before, after).map(([kind, line], place) => (
        <span key={place} class={kind}>
          {`${SIGN[kind]} ${line}\n`}
        </span>
      ))}
    </pre>
  );
}

const KIND: Record<string, string> = { "+": "added", "-": "removed", " ": "same", "\\": "same", "": "same" };

/** A unified difference, without what says where it is; a line without a sign names the place of those below it. */
export function Lines({ name, text }: { name: string; text: string }) {
  const lines = text.trimEnd().split("\n").filter((line) => !/^(---|\+\+\+|@@)/.test(line));
  return (
    <pre class="difference" tabIndex={0} role="region" aria-label={name}>
      {lines.map((line, place) => (
        <span key={place} class={KIND[line[0] ?? ""] ?? "place"}>{`${line}\n`}</span>
      ))}
    </pre>
  );
}
