// The files of a run's workspace: what each step has changed in them, and the ways back to one.

import { useState } from "preact/hooks";
import { plural } from "../format";
import { say } from "../model";
import { File, Fork } from "../parts/icons";
import { ForkForm } from "../parts/timeline";
import { useReading, Waiting } from "../reading";
import type { LogRecord } from "../types";
import { desk, type Changed, type FileChange, type Tree } from "./api";
import { Lines } from "./difference";
import { Group } from "./group";

const MOMENTS: Record<string, string> = {
  start: "As it was at the beginning",
  between: "Changed by something else",
  interrupted: "Left by a call that was interrupted",
  restored: "Brought back",
};
const KINDS = { A: "new", M: "changed", D: "gone" };

export function Files({ run, records }: { run: string; records: LogRecord[] }) {
  const reading = useReading(() => desk.trees(run), run, records.length);
  if (!reading.value) return <Waiting reading={reading} what="The files of this run could not be read" />;
  const { trees, folder } = reading.value;
  const first = trees[0];
  const last = trees.at(-1);
  if (!first || !last) return null;
  const later = trees.slice(1);
  return (
    <div class="files">
      {later.length > 1 && (
        <Group key="whole" name={<StepName title="The whole run" of="" />} open>
          <Step run={run} tree={last} before={first.seq} folder={folder} />
        </Group>
      )}
      {later.map((tree) => (
        <Group key={tree.seq} name={<StepName title={`Step ${tree.step}`} of={what(tree, records)} tree={tree} />} open={later.length === 1}>
          <Step run={run} tree={tree} before={-1} folder={folder} />
        </Group>
      ))}
      <Group key="start" name={<StepName title={MOMENTS.start as string} of="" />} open={!later.length}>
        <Step run={run} tree={first} before={first.seq} folder={folder} />
      </Group>
    </div>
  );
}

/** The call that has made a tree, in a line. */
function what(tree: Tree, records: LogRecord[]): string {
  if (tree.moment !== "after") return MOMENTS[tree.moment] ?? tree.moment;
  for (const record of records) {
    const call = record.event.call as { id: string; name: string; args?: Record<string, unknown> } | undefined;
    if (record.type === "tool_started" && call?.id === tree.call_id) {
      const told = call.args?.path ?? call.args?.command ?? "";
      return `${call.name} ${String(told).split("\n")[0]}`.trim();
    }
  }
  return "";
}

function StepName({ title, of, tree }: { title: string; of: string; tree?: Tree }) {
  const { added = 0, changed = 0, removed = 0 } = tree?.changes ?? {};
  return (
    <>
      <strong>{title}</strong>
      <span class="files-call" title={of}>
        {of}
      </span>
      {tree && <span class="quiet">{plural(added + changed + removed, "file")}</span>}
    </>
  );
}

function Step({ run, tree, before, folder }: { run: string; tree: Tree; before: number; folder: string }) {
  const [all, setAll] = useState(false);
  const [asked, setAsked] = useState<"" | "fork" | "bring" | "exact">("");
  const ask = (what: typeof asked) => setAsked(asked === what ? "" : what);
  const button = (what: typeof asked, name: string) => (
    <button type="button" aria-expanded={asked === what} onClick={() => ask(what)}>
      {what === "fork" && <Fork size={14} />}
      {name}
    </button>
  );
  if (tree.problem) return <p class="why-failed">The files of this step were not stored: {tree.problem}</p>;
  return (
    <div class="files-step">
      {before !== tree.seq && <Changes run={run} tree={tree} before={before} />}
      <p class="files-ways">
        {button("fork", "Fork from here")}
        {folder && before !== tree.seq && button("bring", "Apply to my folder")}
        {folder && button("exact", "Restore my folder to this")}
        <button type="button" aria-expanded={all} onClick={() => setAll(!all)}>
          <File size={14} />
          All files
        </button>
      </p>
      {asked === "fork" && <ForkForm run={run} seq={tree.seq} />}
      {(asked === "bring" || asked === "exact") && <Bring key={asked} run={run} seq={tree.seq} exact={asked === "exact"} done={() => setAsked("")} />}
      {all && <AllFiles run={run} seq={tree.seq} />}
      {tree.skipped.length > 0 && <p class="quiet">Not stored: {tree.skipped.join(", ")}</p>}
    </div>
  );
}

function Changes({ run, tree, before }: { run: string; tree: Tree; before: number }) {
  const reading = useReading(() => desk.changed(run, tree.seq, before), `${run} ${tree.seq} ${before}`);
  if (!reading.value) return <Waiting reading={reading} what="The difference could not be read" />;
  return <Differences of={reading.value} open={reading.value.changes.length === 1} />;
}

/** The files that differ, in their folders. */
function Differences({ of, open = false }: { of: Changed; open?: boolean }) {
  const folderOf = (change: FileChange) => change.path.slice(0, change.path.lastIndexOf("/") + 1);
  const folders = [...new Set(of.changes.map(folderOf))];
  if (!of.changes.length) return <p class="quiet">Nothing differs.</p>;
  return (
    <ul class="files-tree" aria-label="Files that differ">
      {folders.map((folder) => (
        <li key={folder}>
          {folder && <p class="files-folder">{folder}</p>}
          <ul>
            {of.changes.filter((change) => folderOf(change) === folder).map((change) => (
              <li key={change.path}>
                <Group name={<Changed change={change} name={change.path.slice(folder.length)} />} open={open}>
                  <Lines name={`What differs in ${change.path}`} text={change.difference} />
                </Group>
              </li>
            ))}
          </ul>
        </li>
      ))}
      {!of.complete && <li class="quiet">and more</li>}
    </ul>
  );
}

function Changed({ change, name }: { change: FileChange; name: string }) {
  const lines = change.difference.split("\n").filter((line) => !/^(---|\+\+\+)/.test(line));
  const of = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
  return (
    <>
      <span class={`files-kind is-${KINDS[change.kind]}`}>{KINDS[change.kind]}</span>
      <span class="files-name">{name}</span>
      {of("+") + of("-") > 0 && (
        <span class="files-count">
          <span class="plus">+{of("+")}</span> <span class="minus">−{of("-")}</span>
        </span>
      )}
    </>
  );
}

function AllFiles({ run, seq }: { run: string; seq: number }) {
  const [shown, setShown] = useState("");
  const reading = useReading(() => desk.files(run, seq), `${run} ${seq}`);
  const text = useReading(async () => (shown ? desk.file(run, seq, shown) : ""), `${run} ${seq} ${shown}`);
  if (!reading.value) return <Waiting reading={reading} what="The files could not be read" />;
  return (
    <ul class="files-all" aria-label="All files">
      {reading.value.files.map((path) => (
        <li key={path}>
          <button type="button" class="link" aria-expanded={shown === path} onClick={() => setShown(shown === path ? "" : path)}>
            {path}
          </button>
          {shown === path && (text.value === null ? <Waiting reading={text} what="The file could not be read" /> : <pre tabIndex={0}>{text.value}</pre>)}
        </li>
      ))}
      {!reading.value.complete && <li class="quiet">and more</li>}
    </ul>
  );
}

/** What would change in the person's folder, and the question whether it may. */
function Bring({ run, seq, exact, done }: { run: string; seq: number; exact: boolean; done: () => void }) {
  const [failed, setFailed] = useState("");
  const [sent, setSent] = useState<object | null>(null);
  const reading = useReading(() => desk.wouldBring(run, seq, exact), `${run} ${seq} ${exact}`);
  const found = reading.value;
  if (!found) return <Waiting reading={reading} what="This cannot be done" />;
  const change = async () => {
    setSent(found);
    try {
      await desk.bring(run, seq, { exact, now: found.now });
      say(`${plural(found.changes.length, "file")} changed in ${found.folder}.`);
      done();
    } catch (error) {
      setFailed(error instanceof Error ? error.message : String(error));
      reading.again();
    }
  };
  if (!found.changes.length) return <p class="quiet">{found.folder} has these files already.</p>;
  return (
    <section class="files-bring" aria-label="Change my folder">
      <p>
        {exact ? "This makes" : "This changes"} <code>{found.folder}</code>
        {exact ? " what it was at this step; what was changed there since is lost:" : ", beside what was changed there meanwhile:"}
      </p>
      <Differences of={found} />
      {found.conflicts.length > 0 && (
        <p class="why-failed" role="alert">
          Nothing can be changed: the same lines of {found.conflicts.join(", ")} were changed there, too.
        </p>
      )}
      {failed && (
        <p class="why-failed" role="alert">
          {failed}
        </p>
      )}
      <p class="files-ways">
        <button type="button" class="primary" disabled={found.conflicts.length > 0 || sent === found} onClick={() => void change()}>
          Change {plural(found.changes.length, "file")}
        </button>
        <button type="button" onClick={done}>
          Leave it
        </button>
      </p>
    </section>
  );
}
