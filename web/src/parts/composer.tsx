import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { attach, type Attachment } from "../attachments";
import { current, recall, say, stop, store, submit } from "../model";
import { useStore } from "../store";
import { Clip, Close, File, Send, Stop } from "./icons";

export function Composer() {
  const working = useStore(store, (now) => !!current(now));
  const waiting = useStore(store, (now) => !!current(now)?.view.waiting.length);
  const conversation = useStore(store, (now) => now.conversation);
  const box = useRef<HTMLTextAreaElement>(null);
  const [words, setWords] = useState("");
  const [files, setFiles] = useState<Attachment[]>([]);
  const [over, setOver] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const draft = useStore(store, (now) => now.draft);
  const sendable = !!words.trim() || (files.length > 0 && !working);

  useEffect(() => {
    if (!draft) return;
    setWords(draft);
    store.set({ draft: "" });
    box.current?.focus();
  }, [draft]);
  const take = async (given: File[]) => {
    if (!given.length) return;
    if (working) return say("Files go with a question: wait until this one is answered.");
    const all = await attach(files, given);
    if (typeof all === "string") say(all);
    else setFiles(all);
  };

  const placeholder = waiting ? "Decide above, or write…" : working ? "Add something while it works…" : "Ask anything…";
  useLayoutEffect(() => {
    const area = box.current;
    if (!area) return;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, window.innerHeight * 0.4)}px`;
  }, [words, placeholder]); // one that is longer than the box is wide has made it higher
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) box.current?.focus();
  }, [conversation]);

  const send = async () => {
    if (!sendable) return;
    setWords("");
    setFiles([]);
    if (await submit(words.trim(), files)) return;
    // What could not be sent is still there, also behind a login.
    if (store.get().door !== "open") return store.set({ draft: words });
    setWords((now) => now || words);
    setFiles((now) => (now.length ? now : files));
  };
  return (
    <div
      class={`composer-place${over ? " over" : ""}`}
      onDragOver={(event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void take([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <UnreadMessages />
      {files.length > 0 && <Files files={files} drop={(file) => setFiles(files.filter((one) => one !== file))} />}
      <form
        class="composer"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <button type="button" class="icon clip" aria-label="Add files" title="Add files: drop them here, or paste a picture" onClick={() => picker.current?.click()}>
          <Clip />
        </button>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label="Files"
          onChange={(event) => {
            void take([...(event.currentTarget.files ?? [])]);
            event.currentTarget.value = "";
          }}
        />
        <label class="visually-hidden" for="composer">
          Message
        </label>
        <textarea
          id="composer"
          ref={box}
          rows={1}
          value={words}
          placeholder={placeholder}
          enterkeyhint="send"
          onInput={(event) => setWords(event.currentTarget.value)}
          onPaste={(event) => {
            const pasted = [...(event.clipboardData?.files ?? [])];
            if (!pasted.length) return;
            event.preventDefault();
            void take(pasted);
          }}
          onKeyDown={(event) => {
            if (event.key === "ArrowUp" && !words) {
              const pencils = document.querySelectorAll<HTMLButtonElement>('button[aria-label="Edit and ask again"]:enabled');
              const last = pencils[pencils.length - 1];
              if (last) event.preventDefault();
              last?.click();
            } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
              event.preventDefault();
              void send();
            }
          }}
        />
        {working && (
          <button type="button" class="round stop" onClick={() => void stop()} aria-label="Stop" title="Stop (Ctrl+.)">
            <Stop />
          </button>
        )}
        <button type="submit" class="round send" disabled={!sendable} aria-label={working ? "Send while it works" : "Send"} title="Send (Enter)">
          <Send />
        </button>
      </form>
    </div>
  );
}

function Files({ files, drop }: { files: Attachment[]; drop: (file: Attachment) => void }) {
  return (
    <ul class="attachments" aria-label="Goes with the question">
      {files.map((file) => (
        <li key={file.name + file.data.length}>
          {file.kind === "image" ? <img src={`data:${file.mime};base64,${file.data}`} alt={file.name} /> : <File size={16} />}
          <span class="words">{file.name}</span>
          <button type="button" class="icon" aria-label={`Remove ${file.name}`} onClick={() => drop(file)}>
            <Close size={15} />
          </button>
        </li>
      ))}
    </ul>
  );
}

function UnreadMessages() {
  const unread = useStore(store, (now) => now.unread);
  if (!unread.length) return null;
  return (
    <ul class="unread" aria-label="Not read yet">
      {unread.map((message) => (
        <li key={message.id}>
          <span class="dot running" aria-hidden="true" />
          <span class="words">{message.text}</span>
          <span class="quiet">will be read next</span>
          <button type="button" class="icon" aria-label="Take back" title="Take back" onClick={() => void recall(message)}>
            <Close size={16} />
          </button>
        </li>
      ))}
    </ul>
  );
}
