// AG-UI's own client.
import { HttpAgent } from "@ag-ui/client";
import * as c from "./cells.mjs";

const tools = [{ name: "look", description: "Looks.", parameters: c.PARAMETERS }];
const asking = (content) => {
  const agent = new HttpAgent({ url: `${c.ADDRESS}/ag-ui/worker`, headers: { authorization: `Bearer ${c.TOKEN}` } });
  agent.messages = [{ id: "1", role: "user", content }];
  return agent;
};
const said = async (content) => {
  const agent = asking(content);
  await agent.runAgent();
  return agent.messages.at(-1).content;
};
const looked = async (question, count) => {
  const agent = asking(question);
  await agent.runAgent({ tools });
  const wanted = agent.messages.flatMap((message) => message.toolCalls ?? []);
  c.same(wanted.length, count);
  const results = wanted.map((one) => ({ id: `r${one.id}`, role: "tool", toolCallId: one.id, content: "a cat" }));
  agent.messages = [...agent.messages, ...results];
  await agent.runAgent({ tools });
  return agent.messages.at(-1).content;
};
await c.cells("AG-UI (JavaScript)", ["@ag-ui/client"], {
  answer: async () => c.same(await said(c.ASK), c.FIVE),
  stream: async () => {
    const pieces = [];
    await asking(c.ASK).runAgent({}, { onTextMessageContentEvent: ({ event }) => void pieces.push(event.delta) });
    c.same(pieces.join(""), c.FIVE);
  },
  client_tool: async () => c.same(await looked(c.LOOK, 1), c.CAT),
  parallel: async () => c.same(await looked(c.LOOK_TWICE, 2), c.BOTH),
  image: async () => {
    const source = { type: "data", value: c.PICTURE, mimeType: "image/png" };
    c.same(await said([{ type: "text", text: c.SEE }, { type: "image", source }]), c.SEEN);
  },
  error: async () => {
    let message = "";
    await asking(c.BROKEN).runAgent({}, { onRunErrorEvent: ({ event }) => void (message = event.message) });
    await c.refused(Promise.reject(new Error(message)));
  },
  abort: async () => {
    const agent = asking(c.SLOW);
    await agent.runAgent({}, { onTextMessageContentEvent: () => void agent.abortRun() });
  },
});
process.exit(0);
