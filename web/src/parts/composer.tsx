import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { current, recall, stop, store, submit } from "../model";
import { useStore } from "../store";
import { Close, Send, Stop } from "./icons";

export function Composer() {
  const working = useStore(store, (now) => !!current(now));
  const waiting = useStore(store, (now) => !!current(now)?.view.waiting.length);
  const conversation = useStore(store, (now) => now.conversation);
  const box = useRef<HTMLTextAreaElement>(null);
  const [words, setWords] = useState("");

  useLayoutEffect(() => {
    const area = box.current;
    if (!area) return;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, window.innerHeight * 0.4)}px`;
  }, [words]);
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) box.current?.focus();
  }, [conversation]);

  const send = () => {
    if (!words.trim()) return;
    void submit(words.trim());
    setWords("");
  };
  const placeholder = waiting ? "Decide above, or say something…" : working ? "Add something while it works…" : "Ask anything…";
  return (
    <div class="composer-place">
      <UnreadMessages />
      <form
        class="composer"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
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
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
              event.preventDefault();
              send();
            }
          }}
        />
        {working && (
          <button type="button" class="round stop" onClick={() => void stop()} aria-label="Stop" title="Stop (Ctrl+.)">
            <Stop />
          </button>
        )}
        <button type="submit" class="round send" disabled={!words.trim()} aria-label={working ? "Send while it works" : "Send"} title="Send (Enter)">
          <Send />
        </button>
      </form>
    </div>
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
