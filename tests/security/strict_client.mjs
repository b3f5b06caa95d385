// The official TypeScript SDK as a client of weft: lists everything, calls an honest tool, and prints what it saw.
// argv: the folder of the npm peers, `1` or `2` for the SDK, the mode (legacy, or a pinned revision), then the command.
import { pathToFileURL } from "node:url";

const [packages, sdk, mode, command, ...args] = process.argv.slice(2);
const load = async (file) => import(pathToFileURL(`${packages}/@modelcontextprotocol/${file}`).href);
const [index, stdio] =
  sdk === "1" ? ["sdk/dist/esm/client/index.js", "sdk/dist/esm/client/stdio.js"] : ["client/dist/index.mjs", "client/dist/stdio.mjs"];
const { Client } = await load(index);
const { StdioClientTransport } = await load(stdio);

const versionNegotiation = { mode: mode === "legacy" ? mode : { pin: mode } };
const client = new Client({ name: "strict", version: "1" }, { capabilities: {}, versionNegotiation });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));

async function all(list, member) {
  const items = [];
  for (let cursor = undefined; ; ) {
    const page = await client[list](cursor === undefined ? {} : { cursor });
    items.push(...page[member]);
    cursor = page.nextCursor;
    if (cursor === undefined) return items;
  }
}

const names = async () => (await all("listTools", "tools")).map((tool) => tool.name);
for (let until = Date.now() + 30000; Date.now() < until && !(await names()).includes("mutant__say"); )
  await new Promise((again) => setTimeout(again, 100));
const seen = { tools: await names() };
seen.resources = (await all("listResources", "resources")).length;
seen.templates = (await all("listResourceTemplates", "resourceTemplates")).length;
seen.prompts = (await all("listPrompts", "prompts")).length;
seen.said = (await client.callTool({ name: "honest__echo", arguments: { text: "x" } })).content[0].text;
await client.close();
console.log(JSON.stringify(seen));
