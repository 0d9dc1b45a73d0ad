// OpenAI's own client and AG-UI's, each with a tool that the program executes. Prints JSON.
import { HttpAgent } from "@ag-ui/client";
import OpenAI from "openai";

const [address, token] = process.argv.slice(2);
const parameters = { type: "object", properties: { where: { type: "string" } }, required: ["where"] };

const openai = new OpenAI({ baseURL: `${address}/v1`, apiKey: token, maxRetries: 2 });
const asked = [{ role: "user", content: "What is there?" }];
const tools = [{ type: "function", function: { name: "look", description: "Looks.", parameters } }];
const first = await openai.chat.completions.create({ model: "looker", messages: asked, tools });
const wanted = first.choices[0].message;
const result = { role: "tool", tool_call_id: wanted.tool_calls[0].id, content: "a cat" };
let chat = "";
for await (const chunk of await openai.chat.completions.create({ model: "looker", messages: [...asked, wanted, result], tools, stream: true }))
  chat += chunk.choices[0]?.delta?.content ?? "";
const response = await openai.responses.create({ model: "looker", input: "2+3?" });
let refused = 0;
try {
  await openai.chat.completions.create({ model: "mailing", messages: asked });
} catch (error) {
  refused = error.status;
}

const agent = new HttpAgent({ url: `${address}/ag-ui/looker`, headers: { authorization: `Bearer ${token}` } });
agent.messages = [{ id: "1", role: "user", content: "What is there?" }];
const look = { name: "look", description: "Looks.", parameters };
await agent.runAgent({ tools: [look] });
const call = agent.messages.flatMap((message) => message.toolCalls ?? []).find((one) => one.function.name === "look");
agent.messages = [...agent.messages, { id: "9", role: "tool", toolCallId: call.id, content: "a cat" }];
await agent.runAgent({ tools: [look] });
const last = agent.messages.at(-1);
console.log(JSON.stringify({ chat, response: response.output_text, refused, agUi: last.content, arguments: JSON.parse(call.function.arguments) }));
process.exit(0);
