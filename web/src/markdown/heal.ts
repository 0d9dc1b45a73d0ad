// Text that is still being written, closed for now: an open emphasis, link, table or fence is shown as what it becomes, never as its signs.

const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** The source with its last block completed as far as it can be guessed. */
export function heal(source: string): string {
  const lines = source.split("\n");
  let fence = "";
  let math = false;
  let start = 0;
  lines.forEach((line, at) => {
    const mark = FENCE.exec(line)?.[1] ?? "";
    if (fence) {
      if (mark.startsWith(fence) && !line.trim().slice(mark.length)) {
        fence = "";
        start = at + 1;
      }
    } else if (mark) fence = mark;
    else if (/^\s*(\$\$|\\\[)\s*$/.test(line)) {
      math = !math || !/\$\$/.test(line);
      start = math ? at : at + 1;
    } else if (/^\s*(\$\$|\\\])\s*$/.test(line)) math = false;
    else if (!line.trim() && at < lines.length - 1) start = math ? start : at + 1;
  });
  // In a fence everything is code; only a closing mark that is not complete yet is held back.
  if (fence) return /^ {0,3}[`~]{1,2}$/.test(lines.at(-1) ?? "") && lines.length > 1 ? lines.slice(0, -1).join("\n") : source;
  const before = lines.slice(0, start).join("\n");
  const block = lines.slice(start);
  const healed = math ? "$$\n\\ldots\n$$" : tail(block);
  return start ? `${before}\n${healed}` : healed;
}

function tail(lines: string[]): string {
  const last = lines.at(-1) ?? "";
  // A mark without its words: a list sign, a heading, a quote, a rule or an underline that may still become something else.
  if (/^\s*(?:[-*+]|\d{1,9}[.)]?|#{1,6}|>|[-=_*`~$|]+|\\|\[\^?[^\]]{0,20})\s*$/.test(last) || /^\s*(?:[-*+]|\d+[.)])\s+\[[ xX]?\]?\s*$/.test(last)) {
    return lines.length > 1 ? tail(lines.slice(0, -1)) : "";
  }
  if (/^\s*\|/.test(lines[0] ?? "")) return table(lines);
  const from = lines.findLastIndex((line) => /^\s*(?:[-*+]|\d+[.)]|#{1,6}|>)\s/.test(line));
  const head = lines.slice(0, Math.max(0, from));
  return [...head, inline(lines.slice(Math.max(0, from)).join("\n"))].join("\n");
}

function table(lines: string[]): string {
  const [head = "", rule, ...rows] = lines;
  const columns = head.trim().replace(/^\||\|$/g, "").split("|").length;
  const ready = rule !== undefined && rule.split("|").filter((cell) => cell.includes("-")).length >= columns;
  const shown = [inline(head), ready ? rule : `|${" --- |".repeat(columns)}`, ...rows.slice(0, -1)];
  if (rows.length) shown.push(inline(rows.at(-1) ?? ""));
  return shown.join("\n");
}

const MARKS = /^(\*\*\*|\*\*|\*|___|__|_|~~|~(?=$))/;

/** Of a long paragraph only the end is looked at. */
const LONGEST = 2000;
/** With more marks open than this, they are signs and no emphasis. */
const MOST_OPEN = 12;

function inline(text: string): string {
  if (text.length > LONGEST) {
    const from = text.indexOf(" ", text.length - LONGEST) + 1 || text.length;
    return text.slice(0, from) + inline(text.slice(from));
  }
  const open: string[] = [];
  const cut = inCode(text) ? text : withoutOpenEnds(text);
  for (let at = 0; at < cut.length; ) {
    const sign = cut[at] as string;
    if (sign === "\\") {
      at += 2;
      continue;
    }
    if (sign === "`") {
      const run = /^`+/.exec(cut.slice(at))?.[0] ?? "`";
      const end = cut.indexOf(run, at + run.length);
      if (end < 0) {
        const rest = cut.slice(at + run.length);
        return close(rest.trim() ? `${cut}${run}` : cut.slice(0, at), open);
      }
      at = end + run.length;
      continue;
    }
    const mark = MARKS.exec(cut.slice(at))?.[1];
    if (!mark) {
      at += 1;
      continue;
    }
    const before = cut[at - 1] ?? " ";
    const after = cut[at + mark.length] ?? "";
    const opens = after !== "" && !/\s/.test(after) && !(mark[0] === "_" && /\w/.test(before));
    const closes = !/\s/.test(before) && open.at(-1) === mark;
    if (closes) open.pop();
    else if (opens) open.push(mark);
    else if (!after && !/\s/.test(before) && open.length && (open.at(-1) as string).startsWith(mark)) return close(cut.slice(0, at), open); // half of a closing mark
    else if (!after) return close(cut.slice(0, at), open); // a mark that has opened nothing yet
    at += mark.length;
  }
  return close(cut, open);
}

const closedMath = (text: string): boolean => /^\$[^$]+\$|^\\\([\s\S]*\\\)|^\\\[[\s\S]*\\\]/.test(text);

function close(text: string, open: string[]): string {
  return open.length && open.length <= MOST_OPEN ? text.trimEnd() + [...open].reverse().join("") : text;
}

/** Whether the text ends inside a code span that is not closed. */
function inCode(text: string): boolean {
  const runs: string[] = text.replace(/\\[\s\S]/g, "").match(/`+/g) ?? [];
  for (let at = 0; at < runs.length; at += 1) {
    const end = runs.indexOf(runs[at] as string, at + 1);
    if (end < 0) return true;
    at = end;
  }
  return false;
}

/** Without a tag, link, picture, citation or formula whose end has not come. */
function withoutOpenEnds(text: string): string {
  return text
    .replace(/<\/?[A-Za-z][^<>\n]*$|<$/, "")
    .replace(/!\[[^\]\n]*(?:\](?:\([^)\n]*)?)?$|!$/, "")
    .replace(/\[(?:ID:[^\]\n]*|\^[^\]\n]*)$/i, "")
    .replace(/\[([^[\]\n]*)\]\([^()\n]*$/, "$1")
    .replace(/\[([^[\]\n]*)\]?$/, (whole, words: string) => (/^(?:ID:|\^)/i.test(words) ? whole : words))
    .replace(/\$\$[^$]*$|\\[([][^$]*$|\$(?=[^$\n]*[\\^_{])[^$\n]*$/, (open) => (closedMath(open) ? open : "…"))
    .replace(/\\$/, "");
}
