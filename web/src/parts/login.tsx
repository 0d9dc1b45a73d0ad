import { useState } from "preact/hooks";
import { logIn, store } from "../model";
import { useStore } from "../store";
import { Mark } from "./mark";

export function Login() {
  const [token, setToken] = useState("");
  const notice = useStore(store, (now) => now.notice);
  return (
    <main class="login">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (token) void logIn(token);
        }}
      >
        <Mark size={44} />
        <h1>Treadle</h1>
        <label for="token">Token</label>
        <input id="token" type="password" autocomplete="current-password" value={token} onInput={(event) => setToken(event.currentTarget.value)} autofocus />
        <button type="submit" class="primary" disabled={!token}>
          Log in
        </button>
        <p class="quiet" role="alert">
          {notice || "Whoever runs this server gives you one."}
        </p>
      </form>
    </main>
  );
}
