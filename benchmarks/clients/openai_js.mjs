// OpenAI's own client in JavaScript: Chat Completions and Responses.
import OpenAI from "openai";
import * as c from "./cells.mjs";

const client = new OpenAI({ baseURL: `${c.ADDRESS}/v1`, apiKey: c.TOKEN });
const model = "worker";
const picture = `data:image/png;base64,${c.PICTURE}`;
const schema = { name: "sum", strict: true, schema: c.SUM };

const chat = (content, options = {}, past = []) =>
  client.chat.completions.create({ model, messages: [{ role: "user", content }, ...past], ...options });
const chatSaid = async (...given) => (await chat(...given)).choices[0].message.content;
const chatLooked = async (question, count) => {
  const tools = [{ type: "function", function: { name: "look", parameters: c.PARAMETERS } }];
  const first = (await chat(question, { tools })).choices[0].message;
  c.same(first.tool_calls.length, count);
  const results = first.tool_calls.map((one) => ({ role: "tool", tool_call_id: one.id, content: "a cat" }));
  return chatSaid(question, { tools }, [first, ...results]);
};
await c.cells("openai (JavaScript) chat", ["openai"], {
  answer: async () => c.same(await chatSaid(c.ASK), c.FIVE),
  stream: async () => {
    let text = "";
    for await (const chunk of await chat(c.ASK, { stream: true })) text += chunk.choices[0]?.delta?.content ?? "";
    c.same(text, c.FIVE);
  },
  client_tool: async () => c.same(await chatLooked(c.LOOK, 1), c.CAT),
  parallel: async () => c.same(await chatLooked(c.LOOK_TWICE, 2), c.BOTH),
  typed: async () => c.same(JSON.parse(await chatSaid(c.DATA, { response_format: { type: "json_schema", json_schema: schema } })), { total: 5 }),
  image: async () => c.same(await chatSaid([{ type: "text", text: c.SEE }, { type: "image_url", image_url: { url: picture } }]), c.SEEN),
  error: () => c.refused(chatSaid(c.BROKEN)),
  retry: async () => c.same(await chatSaid(c.FLAKY), c.FIVE),
  abort: async () => {
    for await (const _ of await chat(c.SLOW, { stream: true })) break;
  },
});

const respond = (input, options = {}) => client.responses.create({ model, input, ...options });
const responseSaid = async (...given) => (await respond(...given)).output_text;
const responseLooked = async (question, count) => {
  const tools = [{ type: "function", name: "look", parameters: c.PARAMETERS, strict: false }];
  const { output } = await respond(question, { tools });
  const wanted = output.filter((item) => item.type === "function_call");
  c.same(wanted.length, count);
  const results = wanted.map((one) => ({ type: "function_call_output", call_id: one.call_id, output: "a cat" }));
  return responseSaid([{ role: "user", content: question }, ...output, ...results], { tools });
};
await c.cells("openai (JavaScript) responses", ["openai"], {
  answer: async () => c.same(await responseSaid(c.ASK), c.FIVE),
  stream: async () => {
    let text = "";
    for await (const event of await respond(c.ASK, { stream: true })) if (event.type === "response.output_text.delta") text += event.delta;
    c.same(text, c.FIVE);
  },
  client_tool: async () => c.same(await responseLooked(c.LOOK, 1), c.CAT),
  parallel: async () => c.same(await responseLooked(c.LOOK_TWICE, 2), c.BOTH),
  typed: async () => c.same(JSON.parse(await responseSaid(c.DATA, { text: { format: { type: "json_schema", ...schema } } })), { total: 5 }),
  image: async () => c.same(await responseSaid([{ role: "user", content: [{ type: "input_text", text: c.SEE }, { type: "input_image", image_url: picture }] }]), c.SEEN),
  error: () => c.refused(responseSaid(c.BROKEN)),
  retry: async () => c.same(await responseSaid(c.FLAKY), c.FIVE),
  abort: async () => {
    for await (const event of await respond(c.SLOW, { stream: true })) if (event.type === "response.output_text.delta") break;
  },
});
process.exit(0);
