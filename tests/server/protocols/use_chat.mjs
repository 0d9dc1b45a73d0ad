// What `useChat` does, without React: its chat and its transport, with a tool that the page executes. Prints JSON.
import { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } from "ai";

const [address, token] = process.argv.slice(2);

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => void (this.messages = [...this.messages, message]);
  popMessage = () => void (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index, message) => void (this.messages = this.messages.map((one, at) => (at === index ? message : one)));
  snapshot = (value) => structuredClone(value);
}

class Chat extends AbstractChat {
  constructor(init) {
    super({ ...init, state: new State() });
  }
}

const parameters = { type: "object", properties: { where: { type: "string" } }, required: ["where"] };

function chat(agent, tools) {
  const errors = [];
  let finished;
  const one = new Chat({
    transport: new DefaultChatTransport({
      api: `${address}/vercel/${agent}`,
      headers: { authorization: `Bearer ${token}` },
      body: { tools },
    }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall({ toolCall }) {
      if (toolCall.toolName !== "look") return;
      const give = one.addToolOutput ?? one.addToolResult;
      void give.call(one, { tool: "look", toolCallId: toolCall.toolCallId, output: "a cat" });
    },
    onError: (error) => errors.push(error.message),
    onFinish: ({ message }) => {
      if (message.parts.some((part) => part.type === "text")) finished(message);
    },
  });
  return async (text) => {
    const last = new Promise((resolve) => (finished = resolve));
    await one.sendMessage({ text });
    return errors.length ? { errors } : { message: await last, messages: one.messages.length };
  };
}

const words = (message) => message.parts.filter((part) => part.type === "text").map((part) => part.text).join("");
const own = await chat("looker", [])("2+3?");
const page = await chat("looker", [{ name: "look", description: "Looks.", parameters }])("What is there?");
const failed = await chat("mailing", [])("?");
console.log(
  JSON.stringify({
    own: words(own.message),
    shown: own.message.parts.filter((part) => part.type === "dynamic-tool").map((part) => [part.toolName, part.state, part.output]),
    page: words(page.message),
    messages: page.messages,
    failed: failed.errors?.[0] ?? "",
  }),
);
