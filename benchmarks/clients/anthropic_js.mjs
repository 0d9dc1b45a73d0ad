// Anthropic's own client in JavaScript.
import Anthropic from "@anthropic-ai/sdk";
import * as c from "./cells.mjs";

const client = new Anthropic({ baseURL: c.ADDRESS, apiKey: c.TOKEN });
const tools = [{ name: "look", description: "Looks.", input_schema: c.PARAMETERS }];
const asking = (content, past = [], options = {}) => ({
  model: "worker",
  max_tokens: 500,
  messages: [{ role: "user", content }, ...past],
  ...options,
});
const said = async (...given) => (await client.messages.create(asking(...given))).content.at(-1).text;
const looked = async (question, count) => {
  const { content } = await client.messages.create(asking(question, [], { tools }));
  const wanted = content.filter((block) => block.type === "tool_use");
  c.same(wanted.length, count);
  const results = wanted.map((one) => ({ type: "tool_result", tool_use_id: one.id, content: "a cat" }));
  return said(question, [{ role: "assistant", content }, { role: "user", content: results }], { tools });
};
await c.cells("anthropic (JavaScript)", ["@anthropic-ai/sdk"], {
  answer: async () => c.same(await said(c.ASK), c.FIVE),
  stream: async () => c.same(await client.messages.stream(asking(c.ASK)).finalText(), c.FIVE),
  client_tool: async () => c.same(await looked(c.LOOK, 1), c.CAT),
  parallel: async () => c.same(await looked(c.LOOK_TWICE, 2), c.BOTH),
  typed: async () => {
    const output_config = { format: { type: "json_schema", schema: c.SUM } };
    c.same(JSON.parse(await said(c.DATA, [], { output_config })), { total: 5 });
  },
  image: async () => {
    const source = { type: "base64", media_type: "image/png", data: c.PICTURE };
    c.same(await said([{ type: "image", source }, { type: "text", text: c.SEE }]), c.SEEN);
  },
  error: () => c.refused(said(c.BROKEN)),
  retry: async () => c.same(await said(c.FLAKY), c.FIVE),
  abort: async () => {
    for await (const event of client.messages.stream(asking(c.SLOW))) if (event.type === "content_block_delta") break;
  },
});
process.exit(0);
