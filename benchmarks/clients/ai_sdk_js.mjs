// The AI SDK with four of its providers: OpenAI (Responses and chat), OpenAI-compatible, Anthropic.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import * as c from "./cells.mjs";

const look = tool({ description: "Looks.", inputSchema: jsonSchema(c.PARAMETERS), execute: async () => "a cat" });
const openai = createOpenAI({ baseURL: `${c.ADDRESS}/v1`, apiKey: c.TOKEN });
const compatible = createOpenAICompatible({ name: "treadle", baseURL: `${c.ADDRESS}/v1`, apiKey: c.TOKEN, supportsStructuredOutputs: true });
const anthropic = createAnthropic({ baseURL: `${c.ADDRESS}/v1`, apiKey: c.TOKEN });

const cellsOf = (model) => {
  const said = async (options) => (await generateText({ model, ...options })).text;
  const looked = (prompt) => said({ prompt, tools: { look }, stopWhen: stepCountIs(5) });
  return {
    answer: async () => c.same(await said({ prompt: c.ASK }), c.FIVE),
    stream: async () => {
      let text = "";
      for await (const piece of streamText({ model, prompt: c.ASK }).textStream) text += piece;
      c.same(text, c.FIVE);
    },
    client_tool: async () => c.same(await looked(c.LOOK), c.CAT),
    parallel: async () => c.same(await looked(c.LOOK_TWICE), c.BOTH),
    typed: async () => {
      const output = Output.object({ schema: jsonSchema(c.SUM) });
      c.same((await generateText({ model, prompt: c.DATA, output })).output, { total: 5 });
    },
    image: async () => {
      const content = [{ type: "text", text: c.SEE }, { type: "image", image: Buffer.from(c.PICTURE, "base64") }];
      c.same(await said({ messages: [{ role: "user", content }] }), c.SEEN);
    },
    error: () => c.refused(said({ prompt: c.BROKEN })),
    retry: async () => c.same(await said({ prompt: c.FLAKY }), c.FIVE),
    abort: async () => {
      const leaving = new AbortController();
      const { textStream } = streamText({ model, prompt: c.SLOW, abortSignal: leaving.signal });
      for await (const piece of textStream) if (piece) leaving.abort();
    },
  };
};

const models = {
  "AI SDK openai (responses)": ["@ai-sdk/openai", openai("worker")],
  "AI SDK openai (chat)": ["@ai-sdk/openai", openai.chat("worker")],
  "AI SDK openai-compatible": ["@ai-sdk/openai-compatible", compatible("worker")],
  "AI SDK anthropic": ["@ai-sdk/anthropic", anthropic("worker")],
};
for (const [name, [packaged, model]] of Object.entries(models)) await c.cells(name, ["ai", packaged], cellsOf(model));
process.exit(0);
