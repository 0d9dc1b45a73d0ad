// A conversation as a file: markdown, JSON, or one page that plays it again and needs nothing else.

import { artifactUrl } from "./api";
import { blocks } from "./markdown";
import { escape } from "./markdown/escape";
import type { Turn } from "./model";
import { atProvider, type Item, type ToolUse } from "./view";

export type Format = "markdown" | "json" | "html";

const KINDS: Record<Format, [string, string]> = { markdown: ["md", "text/markdown"], json: ["json", "application/json"], html: ["html", "text/html"] };

export async function save(title: string, turns: Turn[], format: Format): Promise<void> {
  const [suffix, mime] = KINDS[format];
  const text = format === "markdown" ? asMarkdown(title, turns) : format === "json" ? asJson(title, turns) : await asPage(title, turns);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: mime }));
  link.download = `${title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "conversation"}.${suffix}`;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const outcome = (turn: Turn): string => turn.view.answer || turn.view.error?.message || "";

function asMarkdown(title: string, turns: Turn[]): string {
  const parts = [`# ${title}`];
  for (const turn of turns) {
    parts.push(`## ${turn.question.split("\n")[0]}`);
    if (turn.question.includes("\n")) parts.push(turn.question);
    for (const item of turn.view.items) parts.push(step(item));
    parts.push(turn.view.answer || (turn.view.error ? `**This did not work:** ${turn.view.error.message}` : ""));
  }
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}

function step(item: Item): string {
  switch (item.kind) {
    case "tool":
      return `> **${item.name}** \`${JSON.stringify(item.args)}\`\n>\n${item.observation.split("\n").map((line) => `> ${line}`).join("\n")}`;
    case "thought":
      return `> ${item.text.replaceAll("\n", "\n> ")}`;
    case "interrupt":
      return `> You added: ${item.text.replaceAll("\n", "\n> ")}`;
    case "compaction":
      return "";
    case "provider":
      return `> ${atProvider(item)}`;
    case "note":
      return `> ${item.title}${item.text ? `: ${item.text.replaceAll("\n", "\n> ")}` : ""}`;
  }
}

function asJson(title: string, turns: Turn[]): string {
  const listed = turns.map(({ run, agent, model, question, created, follows, view }) => ({
    run,
    follows,
    agent,
    model,
    question,
    created,
    steps: view.items.map(({ key: _, ...item }) => item),
    answer: view.answer,
    error: view.error,
    result: view.done,
  }));
  return JSON.stringify({ format: "treadle-conversation", version: 1, title, turns: listed }, null, 2);
}

async function asPage(title: string, turns: Turn[]): Promise<string> {
  const pictures = await embedded(turns);
  const body = turns
    .map((turn) => {
      const find = (name: string) => {
        const address = pictures.get(`${turn.run}/${name}`);
        return address ? { address, mime: "image/png" } : undefined;
      };
      const items = turn.view.items.map((item) => `<div class="step">${stepHtml(item)}</div>`).join("\n");
      const text = turn.view.answer ? blocks(turn.view.answer, false, find, `export ${turn.run}`).join("\n") : `<p class="bad">${escape(outcome(turn))}</p>`;
      return `<article><div class="step question">${escape(turn.question)}</div>\n${items}\n<div class="step answer">${text}</div></article>`;
    })
    .join("\n");
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>${escape(title)}</title><style>${STYLE}</style></head>
<body><header><h1>${escape(title)}</h1><button id="play">Replay</button><input id="at" type="range" min="1" aria-label="Step"><output id="of"></output></header>
<main>${body}</main><script>${SCRIPT}</script></body></html>
`;
}

function stepHtml(item: Item): string {
  if (item.kind === "tool") return `<details><summary><b>${escape(item.name)}</b> <code>${escape(JSON.stringify(item.args))}</code>${item.error ? ` <em>${escape(item.error)}</em>` : ""}</summary><pre>${escape(item.observation)}</pre></details>`;
  if (item.kind === "compaction") return `<p class="quiet">Earlier steps were summarised.</p>`;
  if (item.kind === "note") return `<p class="quiet">${escape(item.title)} ${escape(item.text)}</p>`;
  if (item.kind === "provider") return `<p class="quiet">${escape(atProvider(item))}</p>`;
  return `<p class="${item.kind === "thought" ? "quiet" : "question"}">${escape(item.text)}</p>`;
}

/** The pictures that tools have made, by run and name, as they can stand in a file. */
async function embedded(turns: Turn[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const turn of turns) {
    for (const use of turn.view.items.filter((item): item is ToolUse => item.kind === "tool")) {
      for (const { name, mime } of use.artifacts.filter((one) => /^image\/(png|jpeg|gif|webp)$/.test(one.mime))) {
        const answer = await fetch(artifactUrl(turn.run, use.call, name), { credentials: "same-origin" }).catch(() => null);
        if (!answer?.ok) continue;
        const bytes = new Uint8Array(await answer.arrayBuffer());
        let text = "";
        for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
        found.set(`${turn.run}/${name}`, `data:${mime};base64,${btoa(text)}`);
      }
    }
  }
  return found;
}

const STYLE = `:root{color-scheme:light dark;font:16px/1.6 system-ui,sans-serif}body{max-width:52rem;margin:0 auto;padding:0 1rem 4rem}
header{position:sticky;top:0;display:flex;flex-wrap:wrap;gap:.8rem;align-items:center;padding:.6rem 0;background:Canvas;border-bottom:1px solid #8884}
h1{font-size:1.1rem;margin:0;flex:1}article{padding:1.2rem 0;border-bottom:1px solid #8883}.step{margin:.5rem 0}.step.off{display:none}
.question{white-space:pre-wrap;margin-left:auto;width:fit-content;max-width:80%;padding:.5rem .9rem;border-radius:14px;background:#2f5d6222}
.quiet{color:GrayText;white-space:pre-wrap}.bad{color:#b3392f}details{border:1px solid #8884;border-radius:10px;padding:.4rem .8rem}
pre{overflow:auto;white-space:pre-wrap}code,pre{font:.85rem ui-monospace,monospace}summary code{color:GrayText}table{border-collapse:collapse}
th,td{padding:.3rem .8rem;border-bottom:1px solid #8884;text-align:left}.table,.math{overflow-x:auto}img{max-width:100%}
.code-head,.copy{display:none}.code{border:1px solid #8884;border-radius:10px;padding:0 .8rem}.task{display:inline-block;width:.9em;height:.9em;border:1px solid;border-radius:3px}
.task.done::after{content:"\\2713"}.tok-k{color:light-dark(#7a3e9d,#c9a0ec)}.tok-s{color:light-dark(#2f6b3c,#9bcf9f)}.tok-c{color:GrayText}.tok-n{color:light-dark(#9a4a10,#e5b07a)}
.cite{border:0;border-radius:5px;font-size:.7em;vertical-align:super}`;
const SCRIPT = `const steps=[...document.querySelectorAll(".step")],at=document.getElementById("at"),of=document.getElementById("of"),play=document.getElementById("play");
at.max=steps.length;let timer=0;const show=n=>{at.value=n;of.textContent=n+" of "+steps.length;steps.forEach((s,i)=>s.classList.toggle("off",i>=n));};
at.oninput=()=>show(+at.value);play.onclick=()=>{clearInterval(timer);let n=1;show(n);timer=setInterval(()=>{show(++n);steps[n-1]&&steps[n-1].scrollIntoView({block:"end"});if(n>=steps.length)clearInterval(timer);},700);};
show(steps.length);`;
