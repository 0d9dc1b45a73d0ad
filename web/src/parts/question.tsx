// A question as it was asked: it can be asked again in other words, and its other versions are a click away.

import { useEffect, useRef, useState } from "preact/hooks";
import { versions } from "../branches";
import { fileUrl } from "../api";
import { isExported } from "../embedded";
import { again, sentFiles, store, toBranch, type Turn } from "../model";
import { useStore } from "../store";
import { Back, Chevron, File, Pencil } from "./icons";

export function Question({ turn }: { turn: Turn }) {
  const [editing, setEditing] = useState(false);
  const pencil = useRef<HTMLButtonElement>(null);
  const leave = () => {
    setEditing(false);
    window.setTimeout(() => pencil.current?.focus());
  };
  if (editing && !isExported) return <Editor turn={turn} leave={leave} />;
  return (
    <div class="question-place">
      <div class="question">
        <p>{turn.question}</p>
        <Files turn={turn} />
      </div>
      {!isExported && (
        <div class="question-actions">
          <Versions turn={turn} />
          <button type="button" class="icon" ref={pencil} aria-label="Edit and ask again" title="Edit and ask again" disabled={!turn.view.done} onClick={() => setEditing(true)}>
            <Pencil size={15} />
          </button>
        </div>
      )}
    </div>
  );
}

/** What was sent with it, as the journal has it. */
function Files({ turn }: { turn: Turn }) {
  const address = (place: number) => sentFiles.get(turn.run)?.[place] ?? fileUrl(turn.run, place);
  return (
    <>
      {turn.files.map(({ kind, name }, place) =>
        kind === "image" ? (
          <img key={place} src={address(place)} alt={name || "Sent with the question"} />
        ) : kind === "audio" ? (
          <audio key={place} controls src={address(place)} aria-label={name || "Sent with the question"} />
        ) : (
          <a key={place} class="question-file" href={fileUrl(turn.run, place)} target="_blank" rel="noreferrer">
            <File size={15} /> {name || "A file"}
          </a>
        ),
      )}
    </>
  );
}

function Editor({ turn, leave }: { turn: Turn; leave: () => void }) {
  const [words, setWords] = useState(turn.question);
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    box.current?.focus();
    box.current?.setSelectionRange(words.length, words.length);
  }, []);
  const [sending, setSending] = useState(false);
  const send = async () => {
    if (!words.trim() || sending) return;
    setSending(true);
    if (await again(turn.run, words.trim())) return leave();
    setSending(false);
  };
  return (
    <form
      class="question-edit"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        ref={box}
        aria-label="Your question"
        rows={Math.min(12, words.split("\n").length + 1)}
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            void send();
          } else if (event.key === "Escape") {
            event.stopPropagation();
            leave();
          }
        }}
      />
      <div class="decision">
        <span class="quiet grow">The answer before stays: it is another branch.</span>
        <button type="button" onClick={leave}>
          Cancel
        </button>
        <button type="submit" class="primary" disabled={!words.trim() || sending}>
          Ask again
        </button>
      </div>
    </form>
  );
}

function Versions({ turn }: { turn: Turn }) {
  const lines = useStore(store, (now) => now.lines);
  const all = versions(lines, turn.run);
  if (all.length < 2) return null;
  const at = all.findIndex((line) => line.run === turn.run);
  const step = (by: number) => {
    const other = all[at + by];
    if (other) toBranch(other.run);
  };
  return (
    <div class="versions" role="group" aria-label="Versions of this turn">
      <button type="button" class="icon" aria-label="The version before" disabled={at <= 0} onClick={() => step(-1)}>
        <Back size={15} />
      </button>
      <span class="quiet">
        {at + 1} of {all.length}
      </span>
      <button type="button" class="icon" aria-label="The next version" disabled={at >= all.length - 1} onClick={() => step(1)}>
        <Chevron size={15} />
      </button>
    </div>
  );
}
