// What people note about a run: a thumb, tags, a text. Kept in the journal.

import { useEffect, useState } from "preact/hooks";
import { say } from "../model";
import { Chevron, ThumbDown, ThumbUp } from "../parts/icons";
import { desk } from "./api";

interface Kept {
  tags: string[];
  note: string;
  thumb: string;
}

export function Notes({ run, kept }: { run: string; kept: Kept }) {
  const [now, setNow] = useState(kept);
  const [tag, setTag] = useState("");
  const [note, setNote] = useState(kept.note);
  useEffect(() => {
    setNow(kept);
    setNote(kept.note);
  }, [run, kept.thumb, kept.note, kept.tags.join(",")]);
  const change = async (what: Partial<Kept>) => {
    try {
      setNow(await desk.annotate(run, what));
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
    }
  };
  const thumb = (which: string, name: string, Sign: typeof ThumbUp) => (
    <button type="button" class="thumb" aria-pressed={now.thumb === which} aria-label={name} title={name} onClick={() => void change({ thumb: now.thumb === which ? "" : which })}>
      <Sign size={16} />
    </button>
  );
  return (
    <details class="notes unfold" open={!!(now.tags.length || now.note)}>
      <summary>
        <Chevron size={14} /> Notes
        {now.tags.map((one) => (
          <span key={one} class="badge">
            {one}
          </span>
        ))}
        {now.thumb && <span class="badge">{now.thumb === "up" ? "good" : "bad"}</span>}
      </summary>
      <div class="notes-row">
        {thumb("up", "Good run", ThumbUp)}
        {thumb("down", "Bad run", ThumbDown)}
        {now.tags.map((one) => (
          <button key={one} type="button" class="badge" aria-label={`Remove the tag ${one}`} onClick={() => void change({ tags: now.tags.filter((other) => other !== one) })}>
            {one} ×
          </button>
        ))}
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (tag.trim()) void change({ tags: [...now.tags, tag.trim()] });
            setTag("");
          }}
        >
          <input type="text" aria-label="Add a tag" placeholder="Add a tag" maxLength={60} value={tag} onInput={(event) => setTag(event.currentTarget.value)} />
        </form>
      </div>
      <textarea aria-label="Note" placeholder="A note about this run" rows={2} maxLength={10_000} value={note} onInput={(event) => setNote(event.currentTarget.value)} onBlur={() => note !== now.note && void change({ note })} />
    </details>
  );
}
