// Asks the server through the AI SDK, as existing chat front ends do. Prints what came as JSON.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, Output, streamText, tool } from "ai";

const provider = createOpenAICompatible({
  name: "treadle",
  baseURL: process.argv[2],
  apiKey: process.argv[3],
  includeUsage: true,
  supportsStructuredOutputs: true,
});
const whole = await generateText({ model: provider("adder"), prompt: "2+3?", maxRetries: 0 });
const streamed = streamText({
  model: provider("adder"),
  messages: [
    { role: "user", content: "hello" },
    { role: "assistant", content: "hi" },
    { role: "user", content: "2+3?" },
  ],
  maxRetries: 0,
});
const pieces = [];
for await (const piece of streamed.textStream) pieces.push(piece);
const schema = jsonSchema({ type: "object", properties: { total: { type: "integer" } }, required: ["total"] });
const typed = await generateText({ model: provider("typed"), prompt: "2+3?", output: Output.object({ schema }), maxRetries: 0 });
const look = tool({
  description: "Looks.",
  inputSchema: jsonSchema({ type: "object", properties: { where: { type: "string" } }, required: ["where"] }),
  execute: async () => "a cat",
});
const looked = await generateText({
  model: provider("looker"),
  prompt: "What is there?",
  tools: { look },
  stopWhen: ({ steps }) => steps.length >= 3,
  maxRetries: 0,
});
let refused = "";
try {
  await generateText({ model: provider("nobody"), prompt: "?", maxRetries: 0 });
} catch (error) {
  refused = `${error.statusCode} ${error.message}`;
}
console.log(
  JSON.stringify({
    whole: whole.text,
    finish: whole.finishReason,
    tokens: whole.usage.totalTokens,
    pieces,
    streamedTokens: (await streamed.usage).totalTokens,
    refused,
    typed: typed.output,
    looked: looked.text,
  }),
);
