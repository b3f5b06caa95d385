// The official TypeScript SDK as a client of weft: does a whole visit and prints what it saw as one line of JSON.
// argv: the folder of the npm peers, the mode (legacy, auto, or a pinned revision), then `http URL TOKEN` or `stdio COMMAND…`.
import { pathToFileURL } from "node:url";

const [packages, mode, link, ...target] = process.argv.slice(2);
const load = async (name) => import(pathToFileURL(`${packages}/@modelcontextprotocol/client/dist/${name}.mjs`).href);
const { Client, StreamableHTTPClientTransport } = await load("index");
const { StdioClientTransport } = await load("stdio");

const negotiation = mode === "legacy" || mode === "auto" ? mode : { pin: mode };
const client = new Client(
  { name: "typescript", version: "1" },
  { capabilities: { elicitation: {} }, versionNegotiation: { mode: negotiation } },
);
client.setRequestHandler("elicitation/create", async (request) => {
  const [field] = Object.keys(request.params.requestedSchema.properties);
  return { action: "accept", content: { [field]: "Ada" } };
});

function transport() {
  if (link === "http") {
    const [url, token] = target;
    return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
  }
  const [command, ...args] = target;
  return new StdioClientTransport({ command, args, env: process.env });
}

await client.connect(transport());
const seen = { revision: client.getNegotiatedProtocolVersion() };
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
const progress = [];
const text = async (name, args = {}, options = undefined) =>
  (await client.callTool({ name, arguments: args }, options)).content[0].text;
seen.simple = await text("test_simple_text");
seen.region = await text("test_x_mcp_header", { region: "zürich" });
seen.working = await text("test_tool_with_progress", {}, { onprogress: (step) => progress.push(step.progress) });
seen.progress = progress;
seen.asked = await text("test_input_required_result_elicitation");
seen.resource = (await client.readResource({ uri: "test://static-text" })).contents[0].text;
const filled = await client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } });
seen.prompt = filled.messages[0].content.text;
const completed = await client.complete({
  ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
  argument: { name: "arg1", value: "par" },
});
seen.completed = completed.completion.values;
try {
  await client.callTool({ name: "no_such_tool" });
} catch (error) {
  seen.unknown = error.code;
}
const stop = new AbortController();
const running = client.callTool({ name: "slow_compute", arguments: { seconds: 600 } }, { signal: stop.signal });
setTimeout(() => stop.abort("enough"), 50);
seen.cancelled = await running.then(() => false, () => true);
seen.many = (await Promise.all(Array.from({ length: 64 }, (_, n) => text("slow_compute", { seconds: 0.01, label: `c${n}` }))))
  .every((said, n) => said === `Computed c${n} in 0.01 s`);
await client.close();
console.log(JSON.stringify(seen));
