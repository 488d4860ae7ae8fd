// Runs one scenario on the Vercel AI SDK, its spans exported as OTLP. `pager_vercel.py` tells it what as JSON on stdin.

import { readFileSync } from "node:fs";

import { createOpenAI } from "@ai-sdk/openai";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { generateText, jsonSchema, stepCountIs, tool } from "ai";

const { agent, system, prompt, tools, model, models, traces } = JSON.parse(readFileSync(0, "utf-8"));

const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ "service.name": agent }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: traces }))],
});
provider.register();

const offered = tools.map(({ name, description, schema, results }) => [
  name,
  tool({ description, inputSchema: jsonSchema(schema), execute: async () => results.shift() }),
]);

await generateText({
  model: createOpenAI({ baseURL: models, apiKey: "not-used" }).chat(model),
  system,
  prompt,
  tools: Object.fromEntries(offered),
  stopWhen: stepCountIs(10),
  experimental_telemetry: { isEnabled: true, functionId: agent },
});
await provider.shutdown();
