"""Every promise of clawft as data: rows (id → promise) and the test ids of its sources (id → rows).

One row per line, so that a changed promise is a changed line. `tests.requirements` gives the data its uses.
"""

AREAS: dict[str, tuple[str, ...]] = {
    "Wire & JSON-RPC": ("WIRE",),
    "Client sessions & lifecycle": ("SESS",),
    "Transports": ("LINK",),
    "Server shell": ("SHELL",),
    "Providers & namespaces": ("PROV",),
    "Guards/middleware & policies": ("GUARD",),
    "Discovery & configuration": ("CONF",),
    "Pool, cache, health, trust & approvals, child isolation": ("POOL",),
    "Client manager": ("MGR",),
    "Resources and other pass-through": ("RES",),
    "Built-in tools: files, shell, memory, web": ("FILE", "EXEC", "MEM", "WEB"),
    "Built-in tools: git": ("GIT",),
    "Built-in tools: cargo": ("CARGO",),
    "Built-in tools: OAuth2 and REST": ("OAUTH",),
    "Built-in tools: IDE": ("IDE",),
    "Plugin permissions manifest & KeyValueStore": ("PLUG",),
    "Delegation": ("DELEG",),
    "Agent run & scenario mode": ("AGENT",),
    "Non-functional": ("QUAL",),
}
"""Area → the prefixes of its row ids."""

ROWS: dict[str, str] = {
    # Wire & JSON-RPC
    "WIRE-01": 'A decoded line or body is one of four frozen msgspec structs: `Request{jsonrpc="2.0", id, method, params?}`, `Notification{jsonrpc="2.0", method, params?}`, `Response{jsonrpc, id, result}`, `Failure{jsonrpc, id, error}`. `params` and `result` stay raw bytes until a step needs them.',
    "WIRE-02": "A message without an `id` key is a notification (decided by the key, not its value) and is never answered; an encoded notification has no `id`, and `params` is left out, never `null`, when there are none.",
    "WIRE-03": "`JsonRpcError{code: int, message: str, data?: any}` keeps all three members when it reaches the caller as the exception `JsonRpcFailure`; an answer with neither or both of `result` and `error` is a `ProtocolFailure`.",
    "WIRE-04": "Outgoing ids are integers that grow per link and are never reused while in flight; an incoming id is any string or integer and goes back as exactly the same JSON value.",
    "WIRE-05": "Answers are matched to waiters by id only. An unknown, late or second answer is counted and dropped; it never reaches another waiter, and every request ends in exactly one answer or one error.",
    "WIRE-06": "stdio framing is one JSON message per line, UTF-8, ended by `\\n`, no embedded newline and no headers, in both directions.",
    "WIRE-07": "Reading: end of file raises `LinkClosed` for every waiter; a blank line and a trailing `\\r` are ignored; a line that is not JSON is logged and skipped on the client side and answered with -32700 (`id: null`) on the server side.",
    "WIRE-08": "Every read has a maximum: messages of 1 MiB and more must pass, the bound is configurable (default 16 MiB, proposed), and a longer one fails that request with a clear error and keeps the link alive.",
    "WIRE-09": "Framing and SSE parsing are pure (bytes in, messages out): any split of the byte stream into chunks yields the same messages.",
    "WIRE-10": "SSE reader: several `data:` lines join with a newline, comments are ignored, `event`, `id` and `retry` are kept, CR, LF and CRLF all end a line; there is no end sentinel, a stream ends with the awaited answer or with the connection.",
    "WIRE-11": "Method names live in one table with direction, era and shape: `initialize`, `notifications/initialized`, `ping`, `tools/list`, `tools/call`, `resources/list`, `resources/read`, and all others of protocol §11.",
    "WIRE-12": "Revisions 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 (handshake) and 2026-07-28 (stateless) are a closed set that is never ordered as text; an unknown string is unknown, not newer.",
    "WIRE-13": "Codes used: -32700 parse, -32600 bad envelope, -32601 unknown method, -32602 bad params or unknown tool, -32603 internal, -32002 not initialized (and legacy resource not found), -32020/-32021/-32022 stateless era only. None is invented inside -32768..-32000.",
    "WIRE-14": "`InitializeParams{protocol_version, capabilities, client_info}` and `InitializeResult{protocol_version, capabilities, server_info, instructions?}` with `ClientInfo`/`ServerInfo{name, version, …}`; we name ourselves `clawft` with the package version. camelCase on the wire, snake_case in Python.",
    "WIRE-15": "`ServerCapabilities{tools?: {list_changed=False}, resources?: {subscribe=False, list_changed=False}, prompts?: {list_changed=False}}` plus the further members of protocol §4 and §5; a missing member means unsupported, unknown members are kept.",
    "WIRE-16": '`Tool{name, description?, input_schema, annotations?}` plus title, output schema, icons and `_meta`; `input_schema` is kept as raw JSON, and a missing one counts as `{"type": "object"}`.',
    "WIRE-17": "Tool annotations are `readOnlyHint` (default false), `destructiveHint` (true), `idempotentHint` (false), `openWorldHint` (true), `title`; they are hints from an untrusted party unless the server is trusted.",
    "WIRE-18": "Content blocks: `text{text}`, `image{data, mimeType}`, `audio{data, mimeType}`, `resource_link{uri, name}`, `resource{resource: {uri, mimeType?, text or blob}}`; an unknown type is carried, not dropped.",
    "WIRE-19": "`ToolCallParams{name, arguments={}}`; `CallToolResult{content: list, is_error=False, structured_content?}` with constructors `text(str)` and `error(str)`; `ToolsListResult{tools, next_cursor?}`.",
    "WIRE-20": "`Resource{uri, name, description?, mime_type?}`, `ResourceContent{uri, mime_type?, text?, blob? (base64)}`, `ResourcesListResult{resources}`, `ResourceReadParams{uri}`, `ResourceReadResult{contents}`, with unknown fields kept.",
    "WIRE-21": "A relay changes only ids, names, cursors, progress tokens, protocol `_meta` keys and wrapped resource URIs; unknown fields and blocks, schemas, number spelling and key order pass as they came.",
    "WIRE-22": "JSON arrays (batches) are accepted only inside a 2025-03-26 conversation, answered -32600 elsewhere, and never sent.",
    "WIRE-23": "One exception tree in `errors.py`; each class maps to a JSON-RPC code, an HTTP status and an exit code, and says who is to blame and what to do next. The names of the sources have a place in it: `ToolNotFound`, `InvalidArguments`, `ExecutionFailed`, `PermissionDenied{tool, reason}`, `SpawnFailed`, `ProcessExited`, `JsonRpcFailure{code, message}`, `ProtocolFailure`, `ServerNotFound`, `NotConnected`, `RequestTimeout{ms}`, `InvalidConfig`, `ConfigUnreadable`, `ConfigUnparsable`, `DelegationFailed`, the IDE errors.",
    # Client sessions & lifecycle
    "SESS-01": "`await Session.connect(link)` for a handshake-era server: request `initialize` (newest legacy version we know, our client capabilities, client info), read the result, then send `notifications/initialized`; nothing else is sent before.",
    "SESS-02": "The session keeps `protocol_version`, `capabilities`, `server_info`, `instructions` and offers `supports_tools()`, `supports_resources()`, `supports_prompts()`.",
    "SESS-03": "A result without capabilities or server info gives empty defaults and no error.",
    "SESS-04": "If the server answers a version we do not speak, we disconnect and the status is `failed` with both versions in the reason.",
    "SESS-05": "A transport error, an error answer or a crash during the handshake ends `connect()` with that error; the server becomes `failed` with the reason, its link is closed, other servers go on.",
    "SESS-06": "A stateless-era server is never initialized: optional `server/discover`, then protocol version, client capabilities and client info in the `_meta` of every request.",
    "SESS-07": "Era is found per server by probing with `server/discover` first, falling back to `initialize`, then (HTTP) to HTTP+SSE; 401/403 and network errors are no evidence. The era found is remembered per server configuration and probed again when it fails.",
    "SESS-08": "Lists are asked for only if the server declared the capability (`tools`, `resources`, `prompts`). A server that declares nothing at all is asked once for `tools/list`, and -32601 then means none (proposed).",
    "SESS-09": "`list_tools()` follows `next_cursor` to the end and returns every tool in server order.",
    "SESS-10": "`call_tool(name, arguments)` returns the structured result, arguments default to `{}`.",
    "SESS-11": "`send_raw(method, params)` returns the bare `result` of any method and raises `JsonRpcFailure` for an error answer.",
    "SESS-12": "`notify(method, params)` returns once the message is written and waits for no answer.",
    "SESS-13": "Every request has a deadline (default 30,000 ms, per server and per tool); on expiry the caller gets `RequestTimeout{ms}`, the server is told to cancel, and a late answer is dropped.",
    "SESS-14": "Cancelling the awaiting task cancels the request: `notifications/cancelled` on stdio and legacy HTTP, closing the response stream on stateless HTTP; `initialize` is never cancelled that way.",
    "SESS-15": "One session serves any number of concurrent calls, each with its own id and waiter.",
    "SESS-16": 'Text view of a result for agents: the `text` of all text blocks (and bare strings) joined without separator, other blocks skipped, returned as `{"output": text}`. The relay itself passes the result untouched.',
    "SESS-17": "In the agent view a result with `isError: true` raises `ExecutionFailed(text)`; without any text the message is a generic one that names the tool.",
    "SESS-18": "A result with neither `content` nor `isError` is passed on unchanged in the agent view; as a `CallToolResult` it becomes one text block with its JSON.",
    "SESS-19": "`await session.close()` ends the link in the order of LINK-09, fails what is in flight, and may be called twice. No `shutdown` message is sent.",
    "SESS-20": "`await connect_server(spec)` picks the link from the spec, connects, fills the tool list and returns a ready provider; errors name the step that failed (spawn, handshake, list, call, stop).",
    "SESS-21": "Server requests of the handshake era are served: `ping` and `roots/list` locally, `sampling/createMessage` and `elicitation/create` by the calling agent, refused where the agent lacks the capability.",
    "SESS-22": "Server notifications are acted on: tools, resources and prompts `list_changed`, `resources/updated`, progress, log messages, `cancelled`; unknown ones are ignored.",
    "SESS-23": "A lost legacy HTTP session (404) or restarted child is initialized again, subscriptions and log level are restored, and only calls that are safe by POOL-24 are repeated.",
    # Transports
    "LINK-01": "A link is a Protocol with `async request(message) -> Response or Failure`, `async notify(message)`, `async close()`; the constants `stdio`, `http`, `sse`, `sdk` name the kinds and one scheme table maps a spec to its link.",
    "LINK-02": "A memory link with programmed answers that records requests and notifications serves the tests and is shipped as a test kit.",
    "LINK-03": "stdio starts the command directly with its argument list and pipes for stdin, stdout and stderr; never through a shell.",
    "LINK-04": "Writes are whole lines, serialized and flushed; one reader task dispatches answers to their waiters and hands notifications and server requests on.",
    "LINK-05": "The child's environment is cleared: only `PATH`, `HOME` and the variables listed in its spec exist in it.",
    "LINK-06": "The child runs in the `cwd` of its spec (default: the workspace).",
    "LINK-07": "stderr is drained into a ring buffer, quoted in the error when the child dies, shown by `weft servers status NAME`, and copied to our stderr with `--mcp-debug`.",
    "LINK-08": "If the child ends or closes stdout, every request in flight fails at once with `ProcessExited` (exit status and last stderr lines) and the link is unusable.",
    "LINK-09": "Close: close stdin, wait 2 s, SIGTERM, wait 2 s, SIGKILL to the whole process group; afterwards no process, task or file descriptor is left.",
    "LINK-10": "A command that does not exist or cannot be executed is refused before anything is started (`SpawnFailed`, naming the path tried).",
    "LINK-11": "A child that sends part of a line and stalls holds up only its own requests, each until its own deadline.",
    "LINK-12": "HTTP: each message is a POST of one JSON-RPC message with `Content-Type: application/json` and `Accept: application/json, text/event-stream`; a JSON answer is one response.",
    "LINK-13": "An answer of type `text/event-stream` is read until the response with our id arrives; other messages on it are dispatched on the way.",
    "LINK-14": "`Mcp-Session-Id` is adopted only from a successful initialize answer, sent on every later request, and the session is ended by `DELETE` on close (405 is fine).",
    "LINK-15": "Configured headers (values may be `secret://` references) go on every request to that server's origin, never to another origin and never into a log.",
    "LINK-16": "401 gives `needs-auth`, 403 a permission error, 404 on a session a new handshake, other 4xx/5xx an error with status and a short excerpt of the body.",
    "LINK-17": "Cancelling while an SSE answer is being read closes that stream at once and frees the connection.",
    "LINK-18": "Large HTTP answers pass under the same byte bound as WIRE-08, for JSON and for SSE.",
    "LINK-19": "A notification over HTTP is a POST that accepts any 2xx and ignores the body; an error status is logged and shown in the server's status, not raised into a call.",
    "LINK-20": "A link never retries by itself; it takes an injected HTTP client, reuses connections and has its own connect timeout. Retrying is decided one layer up (POOL-24).",
    "LINK-21": "Stateless-era requests carry `MCP-Protocol-Version`, `Mcp-Method`, `Mcp-Name` and `Mcp-Param-*` computed for that server; incoming headers are never copied upstream.",
    "LINK-22": "Legacy HTTP: the standalone GET stream for unsolicited messages, and resuming with `Last-Event-ID`, `retry` and priming events.",
    "LINK-23": "HTTP+SSE of 2024 as client only: GET stream, first event `endpoint` (same origin), POSTs there; tried only after both newer forms failed.",
    "LINK-24": "Type `sdk`: a server object in the same process is reached through the memory link.",
    "LINK-25": "Type `claudeai-proxy` is recognized in foreign files and reported as unsupported, with the hint to configure the server as `http` with a login; other servers of the file still load (proposed).",
    "LINK-26": "A remote server that answers 401 is logged in to by the OAuth flow of protocol §21 (`weft auth login NAME`); tokens are stored as in OAUTH-05, audience-bound and never passed on.",
    # Server shell
    "SHELL-01": "The server core runs over any reader/writer pair (`await serve(reader, writer)`), so that tests use in-memory streams and the command uses stdin/stdout.",
    "SHELL-02": '`initialize` is answered with the offered version if we serve it, else our newest legacy one, `capabilities` with `tools.listChanged: true` plus what the upstreams add, and `serverInfo{name: "clawft", version}`.',
    "SHELL-03": 'On stdio a request that comes before `initialize` and carries no stateless `_meta` gets -32002 "not initialized"; `ping` is answered; nothing reaches a provider.',
    "SHELL-04": "`notifications/initialized` and unknown notifications are accepted silently.",
    "SHELL-05": "`tools/list` returns the tools of all providers under their exported names, after the list side of the guards, in a deterministic order and with opaque cursors.",
    "SHELL-06": "`tools/call` finds the provider by name, runs the guards and returns its result.",
    "SHELL-07": "An unknown method gets -32601; `tools/call` without a name or with arguments that are no object gets -32602.",
    "SHELL-08": "A tool that fails gives a normal result with `isError: true` and the message as text; bad tool arguments likewise.",
    "SHELL-09": "An unknown tool or namespace gets -32602 towards the agent.",
    "SHELL-10": "A call refused by a guard returns `isError: true` and never reaches the provider.",
    "SHELL-11": "Result limits apply to what leaves the server.",
    "SHELL-12": "Requests run concurrently, one task each; a slow call delays no other, and answers go out as they finish.",
    "SHELL-13": "Broken JSON gets -32700 with `id: null`, a wrong envelope -32600, and the conversation goes on.",
    "SHELL-14": "When stdin closes the server cancels what is in flight, stops all upstreams in order and ends with exit status 0.",
    "SHELL-15": "`weft mcp-server` loads the configuration, builds built-ins, upstreams and guards, serves on stdin/stdout until stdin closes, and writes nothing but protocol messages to stdout.",
    "SHELL-16": "`weft gateway` serves Streamable HTTP on `127.0.0.1:8765/mcp` and `/healthz`, `/readyz`, `/metrics`; it starts the configured upstreams like `weft agent` does.",
    "SHELL-17": "When the set of tools changes, handshake-era agents get `notifications/tools/list_changed` and stateless ones get it on their `subscriptions/listen` stream.",
    "SHELL-18": "The stateless era is served with `server/discover`, per-request `_meta`, `resultType`, `ttlMs`/`cacheScope` and the validation order of protocol §4; the era is decided per request on HTTP and by the first request on stdio.",
    "SHELL-19": "HTTP in: Host and Origin checks on a loopback bind, JSON answers by default and SSE once there is something to stream, unguessable session ids bound to the principal, 202 for notifications, status by error code.",
    "SHELL-20": "With no provider at all, `tools/list` is an empty array and every call is an unknown tool.",
    "SHELL-21": "A shared gateway takes bearer tokens or OAuth logins, filters lists per person, writes who called what, and can run as several replicas over a shared store.",
    "SHELL-22": "The official conformance suite passes, server and client, both requirement sets, on our own endpoints and through the gateway in all four era pairs.",
    # Providers & namespaces
    "PROV-01": "`Provider` Protocol: `namespace: str`, `list_tools() -> Sequence[Tool]` (a synchronous read of a ready snapshot), `async call_tool(name, arguments) -> CallToolResult`.",
    "PROV-02": "Provider errors are `ToolNotFound`, `ExecutionFailed`, `PermissionDenied{tool, reason}`; the caller turns them into the reply of SHELL-08 and SHELL-09.",
    "PROV-03": "A provider over local tools wraps the tool registry: its namespace, one entry per registered tool, and calls that give the same result as calling the tool directly.",
    "PROV-04": "Providers are registered and unregistered at run time; each change publishes a new immutable catalog and the list-changed signal.",
    "PROV-05": "The catalog lists every tool as `{namespace}__{tool}`, the namespace taken per provider.",
    "PROV-06": "A called name is looked up in the catalog's table (never parsed) and goes to its provider with the bare tool name; server names may not contain `__`; equal tool names in different namespaces never mix.",
    "PROV-07": "An unknown namespace is an error that names it.",
    "PROV-08": "Exported form by `--names`: `plain` `github__create_issue` (default), `mcp` `mcp:github__create_issue`, `claude` `mcp__github__create_issue`, `bare` `create_issue`.",
    "PROV-09": "Every form, and `mcp:github:create_issue`, is accepted on a call and reaches the server as the bare name.",
    "PROV-10": "Exported names match `[A-Za-z0-9_-]{1,64}`; longer or odd ones are shortened with a hash suffix that is the same after a restart, and `weft doctor` reports them. The `mcp` form keeps its colon and is for those who ask for it.",
    "PROV-11": "The namespaces `git`, `cargo`, `oauth2`, `rest`, `ide`, `file`, `shell`, `memory`, `web`, `delegate`, `weft` are reserved; a server that claims one is refused with a clear message.",
    "PROV-12": "Built-ins keep the names of the sources as alias on a call and as `bare` name (proposed): `git_status` = `git__status`, `cargo_build` = `cargo__build`, `oauth2_authorize` = `oauth2__authorize`, `rest_request` = `rest__request`, `read_file` = `file__read`, `write_file` = `file__write`, `exec_shell` = `shell__exec`, `web_search` = `web__search`, `delegate_task` = `delegate__task`.",
    "PROV-13": "With `bare` names an upstream tool wins over a built-in of the same name; of two upstreams with one name the later keeps its prefix.",
    "PROV-14": "An upstream's provider has the internal namespace `mcp:<server>` and its `server` attribute is the plain name.",
    "PROV-15": "External tools stand in the catalog under `mcp:<server>__<tool>` internally; the form `mcp:<server>:<tool>` finds the same entry.",
    "PROV-16": "`call_tool` of an upstream provider delegates to its session with the bare name and returns content and error flag as they came; a transport error becomes `ExecutionFailed`.",
    "PROV-17": "`await refresh_tools()` asks the server and swaps the snapshot in one step; before the first refresh the list is empty, and a reader never sees an empty list during one.",
    "PROV-18": "1,000 and more tools over many servers are namespaced without collision and every one routes to its own server.",
    "PROV-19": "A server that returns no tools registers none; an info line says so.",
    "PROV-20": "Server, agent loop and delegation use one and the same dispatch path (catalog and guard pipeline); there is no second way to execute a tool.",
    "PROV-21": "A built-in tool is a typed function marked `@tool`; its JSON Schema comes from its signature, has `type: object`, and is valid JSON Schema 2020-12.",
    "PROV-22": "Other packages add providers (the RVF runtime, a proxy, a delegation provider are the sources' examples) through an entry point `clawft.providers` (proposed), without a transport of their own.",
    "PROV-23": "`weft tools list`, `search`, `show NAME`, `call NAME key=value…` or `--json '{…}'` work on the same catalog and the same guards.",
    # Guards/middleware & policies
    "GUARD-01": "Steps, outermost first: audit, permission, approval, security, result, provider; composed once into one callable per tool.",
    "GUARD-02": "A guard is `async def guard(call, after) -> Reply`; it may answer, refuse or look at the reply, and a guard with a list side also filters `tools/list`.",
    "GUARD-03": "Command policy on tool arguments: `rm -rf /` in its spellings is refused for the shell tool, `ls -la` passes; the refusal names the rule and the way to allow it.",
    "GUARD-04": "URL policy on tool arguments: only allowed schemes; names are resolved and private, loopback and link-local addresses are refused unless allowed, when deciding and again when connecting.",
    "GUARD-05": "Security applies alike to built-in tools, external MCP tools and delegated calls.",
    "GUARD-06": 'Permission: `tools/list` is cut down to the allowed tools (allow and deny globs per agent or token, `--allow`, `--deny`, `tools.allow`, `tools.deny`); an allow list `["read_file", "write_file"]` leaves just these two; entries may use any accepted name form.',
    "GUARD-07": "The same rule holds on a call: a hidden tool is answered as an unknown tool.",
    "GUARD-08": "Result: text above 65,536 bytes (configurable) is cut at a character boundary and followed by a note that begins `[truncated]` and says how much is missing and where the rest is; a limit of 100 bytes leaves 100 bytes and the note.",
    "GUARD-09": "Control and invisible characters in results are made visible; `structuredContent` is never left contradicting its schema.",
    "GUARD-10": "Audit: every call, refused ones too, leaves one JSON line with time, caller, tool, verdict, duration, outcome, sizes and argument digest (values only if configured).",
    "GUARD-11": "Audit lines are hash-chained, written in batches off the hot path and complete on a clean stop; `weft audit tail`, `show ID`, `verify` (finds the first line that was touched).",
    "GUARD-12": "All guards are on by default for `mcp-server`, `gateway`, `agent` and delegation.",
    "GUARD-13": "Policies are pure functions that return allow, deny or ask; the strictest verdict wins; `weft policy explain NAME key=value…` prints the verdict and its rules.",
    "GUARD-14": "Configuration keys: a `security` table with `command_policy` and `url_policy`, and `tools.allow`/`tools.deny` (foreign JSON: `allowed_tools`), at agent level (layout proposed).",
    "GUARD-15": "Risk classes for prompts and defaults: listing and reading resources is low, an external tool is high; a trusted server's `readOnlyHint` may lower it (proposed).",
    # Discovery & configuration
    "CONF-01": '`UpstreamSpec{name, url or command, args=[], env={}, headers={}, cwd=".", enabled=True, timeout_ms=30000, trust="untrusted", required=False, isolation="shared", sandbox="auto", tools={allow=["*"], deny=[], timeout_ms={}}}`.',
    "CONF-02": "`url` forms: `stdio://<command> [args]` (split without a shell), `http://host:port/path`, `https://…`; `command` + `args` say the same as the first. Giving both or neither is an error.",
    "CONF-03": "`trust` is `untrusted` (default) or `trusted`, read without regard to case.",
    "CONF-04": "A spec written to TOML or to JSON and read back is equal, for stdio and for HTTP.",
    "CONF-05": "Layer 1: every `*.toml` in `~/.clawft/mcp_servers/`, one server each; the name defaults to the file name.",
    "CONF-06": "Layer 2: `<workspace>/.clawft/mcp.toml`, tables `[mcp_servers.<name>]`, and `<workspace>/.mcp.json`.",
    "CONF-07": "Layer 3: `~/.clawft/agents/<agent>/config.toml`, tables `[mcp_servers.<name>]`: an entry replaces the earlier one of that name, a new name is added. `--agent NAME` picks the agent.",
    "CONF-08": "`enabled = false` in a later layer removes the server; such an entry needs no other key.",
    "CONF-09": "Layer 4: `--mcp-config`. Later layers win, only enabled servers are returned, and the order is deterministic.",
    "CONF-10": 'Foreign JSON is `{"mcpServers": {name: {command, args, env, cwd, url, headers, type}}}`, also under a `tools` key, and the form with a nested `transport` object of `type` `stdio` or `http`; unknown keys are ignored.',
    "CONF-11": "Missing folders and files are no error, and no servers at all is a valid configuration.",
    "CONF-12": "An unreadable file raises `ConfigUnreadable`, a broken one `ConfigUnparsable` with file and line; at start-up the server concerned shows as `failed` with that reason and the others go on, in strict mode the program ends (proposed).",
    "CONF-13": "Our own files are strict: an unknown key is an error that names the nearest known key, the file and the line.",
    "CONF-14": "Secrets are references `secret://keyring|env|file|command/…`, resolved when a child starts, never written back, logged or shown; `env` must hold no literal secrets (`weft config check` warns, proposed).",
    "CONF-15": "Trust follows the source: the command line counts as the user's own hand (a server from `--mcp-config` is trusted, its tools too, unless its entry says otherwise: tools part proposed); every other layer starts untrusted, and `trusted` is honoured from user layers only, never from a workspace file.",
    "CONF-16": "A server from a workspace file starts only after the user approved that launch (command, args, names of env variables, cwd).",
    "CONF-17": "An untrusted stdio server needs an absolute command path; the error prints the path that was meant, and `weft servers add` and `import` resolve it. A trusted launch may use `PATH`.",
    "CONF-18": '`..`, `;`, `|`, `&`, `$`, backticks and newlines in the command itself are refused with an error that contains "unsafe", whatever the trust; arguments are passed as they are, since no shell reads them.',
    "CONF-19": "A configurable list of folders from which commands may be started; the documentation names the usual paths of common servers.",
    "CONF-20": "`required = true` ends the program if the server does not start.",
    "CONF-21": "A changed file is applied at once: `plan(running, wanted)` gives start, stop and restart lists; what does not differ never notices.",
    "CONF-22": "`weft config show [--origin]`, `path`, `check`; every value remembers its file.",
    "CONF-23": "`CLAWFT_HOME` moves `~/.clawft`; `--workspace DIR` sets the workspace. Locations: `mcp_servers/`, `agents/<agent>/config.toml`, `agents/<agent>/tool_state/<plugin>/`, `tokens/<provider>.json`.",
    # Pool, cache, health, trust & approvals, child isolation
    "POOL-01": "`await pool.get(name, spec)` opens a session on the first call and returns the same healthy one afterwards; simultaneous first calls share one attempt.",
    "POOL-02": "A pooled entry keeps session, spec, `last_healthy` (monotonic time) and `failed_checks=0`; an unhealthy or lost one is replaced on the next `get`.",
    "POOL-03": "At most `max_connections` (default 20) are open: an idle one gives way, and if none is idle the call fails with an error that names the limit.",
    "POOL-04": "`remove(name)` closes and forgets one session, `shutdown()` all.",
    "POOL-05": "Connecting has its own time limit, so that a silent server cannot hold a slot.",
    "POOL-06": "Tool lists are cached per server: within the TTL (default 300 s, configurable) no request goes out; after it the next read fetches again.",
    "POOL-07": "`invalidate(name)` drops one entry, `invalidate_all()` every one.",
    "POOL-08": "`notifications/tools/list_changed` (or its listen event) drops the entry at once and the new list is announced to agents.",
    "POOL-09": "The cache is kept on disk: `tools/list` is answered from it before any child is up, and list-changed follows if the truth differs.",
    "POOL-10": "Health: each open session is checked at an interval (default 30 s, proposed) by `ping` or `server/discover` with its own timeout; starting the monitor returns a handle that stops it.",
    "POOL-11": "A miss raises `failed_checks`; after three in a row the session leaves the pool, a warning is logged and the server is restarted.",
    "POOL-12": "A successful check resets `failed_checks` to 0 and updates `last_healthy`.",
    "POOL-13": "Restarts use exponential back-off with jitter, at most 5 in 60 s, then `failed` with the reason until the user or a config change says otherwise.",
    "POOL-14": "States: `pending`, `connected`, `needs-auth`, `degraded`, `failed`, `disabled`; allowed moves are one table.",
    "POOL-15": "All servers start at once; none blocks another or the answer to the agent.",
    "POOL-16": "External tools are untrusted unless their server is trusted, and the tag is visible in listings and audit.",
    "POOL-17": "The first call of each tool of an untrusted server needs the person's approval; tools of a trusted server do not.",
    "POOL-18": "The question goes out by elicitation where the agent can (both eras); otherwise the call is refused with the command that grants it.",
    "POOL-19": "An approval pins the exact definition (name, title, description, schemas, annotations, icons, server instructions) and, for a server, its launch; a change asks again.",
    "POOL-20": "`weft approvals list`, `grant`, `revoke`, `diff`; approvals survive restarts in a 0600 file.",
    "POOL-21": "Each child has its own process group and ends with us, even after SIGKILL of our process.",
    "POOL-22": "`sandbox` is `auto`, `off` or a table `{read, write, network}` that limits what a child may touch.",
    "POOL-23": '`isolation = "per-session"` gives each agent conversation its own upstream session; `shared` (default) shares one.',
    "POOL-24": "A call lost with its connection fails within its deadline with a clear error; it is repeated only if the tool is read-only or idempotent and had not been answered.",
    "POOL-25": "Progress extends a deadline up to a hard limit; `tools.timeout_ms` sets it per tool.",
    "POOL-26": "Connections survive our own restart in effect: tool list, era and approvals are stored, and servers reconnect on resume.",
    # Client manager
    "MGR-01": "`connect(name, spec)` opens the server and puts its tools into the catalog, after the handshake and not before.",
    "MGR-02": "`disconnect(name)` takes the tools out, closes the link and clears info, capabilities, tools and resources.",
    "MGR-03": "`reconnect(name)` is disconnect and connect with the same spec; the tools are back afterwards.",
    "MGR-04": "`toggle(name, enabled)`: off removes the tools at once, stops the server and sets `disabled`; on starts it and brings the tools back.",
    "MGR-05": "`set_servers(wanted)` applies the difference: starts new, stops missing, restarts changed, leaves equal ones alone.",
    "MGR-06": "It returns `SetServersResult{added: [name], removed: [name], errors: {name: reason}}` plus `restarted: [name]` (added by the plan); one failing server does not stop the others.",
    "MGR-07": '`status()` is a snapshot of all servers, `server_status(name)` of one: `ServerStatus{name, status, server_info?, error="", tools, scope}`, where `scope` is the layer it came from.',
    "MGR-08": "An upstream record holds name, spec, status, server info, capabilities, tools, resources, enabled flag and link.",
    "MGR-09": "`call_tool(server, tool, arguments)` and `list_resources(server)` go to that server; an unknown one raises `ServerNotFound`, one that is not connected `NotConnected`.",
    "MGR-10": "`has_tool(name)` and `call_tool(name, arguments)` without a server use the catalog; an unknown tool raises `ToolNotFound`.",
    "MGR-11": "Starting all servers yields one outcome per name; tools of those that came up are listed, failures are recorded.",
    "MGR-12": "A spec without a command and without a URL is refused with `InvalidConfig` before anything starts.",
    "MGR-13": "All operations are safe when called concurrently, on the same server too.",
    "MGR-14": "`close()` stops every server, in parallel, within the times of LINK-09.",
    "MGR-15": "An unreachable server, a missing binary or a missing key never stops the program (unless strict or required); it goes on with less.",
    "MGR-16": '`McpClient` Protocol for agents: `list_resources(server)`, `read_resource(server, uri)`, `call_tool(server, tool, arguments)`, all with structured results; a stub implementation answers "no MCP servers configured".',
    "MGR-17": "End to end over a real child: connect, tools listed, call and result, disconnect, tools gone.",
    "MGR-18": "The same with published servers (filesystem, everything, git, time, fetch) in the interop tests, not by hand.",
    "MGR-19": "`weft servers list`, `status [NAME]`, `add`, `remove`, `enable`, `disable`, `reconnect`, `test`, `import` (editors' configs).",
    # Resources and other pass-through
    "RES-01": "Resources of every connected server that declares them are listed (`resources/list`, all pages) and read (`resources/read`).",
    "RES-02": "`list_mcp_resources(server?: str) -> [{server, uri, name, description?, mimeType?}]` is a tool of namespace `weft`; no server means all.",
    "RES-03": "`read_mcp_resource(server: str, uri: str) -> {uri, mimeType?, text or blob}` is a tool of namespace `weft`; binary stays base64.",
    "RES-04": "Structured views for agents: `ToolCallResult{content: [ContentBlock{type, text?, mime_type?, data?, uri?}], is_error}` and `ResourceContent{uri, mime_type?, text?, blob?}`; none of them is a bare string.",
    "RES-05": "A resource URI stays unchanged while it is unique; on collision it is wrapped reversibly and consistently in reads, contents, links, templates, subscriptions and updates.",
    "RES-06": "Resource templates, `resources/subscribe` and `unsubscribe`, `resources/updated`, in both eras' forms.",
    "RES-07": "Prompts: `prompts/list`, `prompts/get`, namespaced like tools; `weft prompts list`, `get NAME`.",
    "RES-08": "Sampling: a server's request for a completion reaches the agent (or the configured delegate) and its answer goes back.",
    "RES-09": "Roots: answered from the workspace and the agent's own roots; changes are announced.",
    "RES-10": "Elicitation, form and URL, as server request or as `input_required`, between any pair of eras.",
    "RES-11": "Completion, log levels and log messages, progress (own token upstream, mapped back, growing), cancellation, pagination (own signed cursors).",
    "RES-12": "Tasks of both kinds, extensions and `ui://` resources pass; trace context continues as a child span.",
    "RES-13": "Results are converted down for older agents by the table of protocol §22.4, once per cached list.",
    "RES-14": "`weft resources list`, `read URI`.",
    # Built-in tools: files, shell, memory, web
    "FILE-01": "`read_file(path: str, offset: int = 0, limit: int or None = None) -> text`; `path` is the only required one. A missing file gives `isError` with text that names it.",
    "FILE-02": "`write_file(path: str, content: str, create_dirs: bool = false) -> {path, bytes}`; the write is atomic.",
    "FILE-03": "Paths follow the rules of IDE-12 (workspace only, symlinks resolved, null bytes refused); for a new file the nearest existing parent is what gets resolved.",
    "EXEC-01": '`exec_shell(command: str, cwd: str = ".", timeout_s: int = 120) -> {exit_code, stdout, stderr}`; on timeout the whole process group is killed and the partial output returned.',
    "EXEC-02": "Every command goes through the command policy of GUARD-03; the environment is cleared as for upstream children, and output is bounded.",
    "MEM-01": "The source's `memory` becomes `get(key: str) -> str or null`, `set(key: str, value: str, ttl_s?: int)`, `delete(key: str) -> bool`, `list(prefix?: str) -> [str]`, `search(query: str, limit: int = 10) -> [{key, value}]` of namespace `memory`, kept in the agent's key-value store (PLUG-05).",
    "WEB-01": "`web_search(query: str, limit: int = 10) -> [{title, url, snippet}]` through a configured backend; without one the tool is not listed and `weft doctor` says why.",
    "WEB-02": "All web access passes the URL policy of GUARD-04 and has size and time bounds; `--no-builtin` leaves out every built-in.",
    # Built-in tools: git
    "GIT-01": "Seven tools, one per operation: clone, commit, branch, diff, blame, log, status; each with its own schema, registered together as one family.",
    "GIT-02": "`git_clone(url: str, target_path: str) -> CloneResult{path: str, head_commit: str or None}`; `head_commit` is None for an empty repository.",
    "GIT-03": "`git_commit(repo_path: str, message: str, author_name?: str, author_email?: str) -> CommitResult{oid: 40 hex, message}`; author falls back to `GIT_AUTHOR_NAME`/`GIT_AUTHOR_EMAIL`, then to the repository's configuration, else an error (fallback proposed).",
    "GIT-04": "Commit stages everything first (new, changed and deleted files, ignored ones not) and commits on the current branch; the first commit has no parent.",
    "GIT-05": "`git_branch(repo_path: str, pattern?: str) -> [str]`: local and remote branch names, `pattern` is a substring.",
    "GIT-06": "`git_diff(repo_path: str) -> [DiffEntry{old_file?, new_file?, status, additions: int, deletions: int}]`: HEAD against working tree and index; `status` is a word such as `Modified`, `Added`, `Deleted`, `Renamed`; the counts are real.",
    "GIT-07": "`git_blame(repo_path: str, file_path: str) -> [BlameLine{line_number from 1, commit_id, author, content}]`: one entry per line with its text.",
    "GIT-08": "`git_log(repo_path: str, max_count: int = 20) -> [LogEntry{oid, author, message, timestamp: int}]`, newest first; missing author reads `unknown` (default count proposed).",
    "GIT-09": "`git_status(repo_path: str) -> [StatusEntry{path, status}]`, untracked files included; `status` words are fixed: untracked, added, modified, deleted, renamed, typechange, conflicted, several joined (words proposed).",
    "GIT-10": "A missing or mistyped parameter is `ExecutionFailed` naming it (`missing 'repo_path'`); a folder that is no repository, or a repository without commits, gives a clear error or an empty list, never a crash.",
    "GIT-11": "Blocking git work runs off the event loop.",
    "GIT-12": "No shell; paths stay inside the workspace; clone reaches only `github.com`, `gitlab.com`, `bitbucket.org`, local paths inside the workspace and hosts the user adds; option-like and command-running URLs are refused (hosts and URL forms proposed).",
    "GIT-13": "The family is the extra `clawft[git]`; without it the tools are absent and an attempt names the extra.",
    # Built-in tools: cargo
    "CARGO-01": "Five tools: build, test, clippy, check, publish.",
    "CARGO-02": '`cargo_build(working_dir: str, profile: "debug" or "release" = "debug", package?: str, workspace: bool = false, extra_args: [str] = []) -> CargoOutput`; the other four take the same parameters (`CargoConfig`). Only `working_dir` is required.',
    "CARGO-03": "`CargoOutput{success: bool, exit_code: int or None, stdout, stderr, messages: [object] = []}`; a failed build is a normal result with `success: false`.",
    "CARGO-04": "Arguments are a list, never a string: `cargo`, subcommand, `--release` for the release profile, `--workspace`, `-p PACKAGE`, then the extra ones; a flag a subcommand does not take is left out.",
    "CARGO-05": "Each argument containing one of `; & | $ backtick ( ) { } < > !`, CR or LF is refused with an error that quotes it; `my-crate` passes. A package that begins with `-` and extra flags outside an allow list are refused too (proposed).",
    "CARGO-06": "build, clippy and check run with `--message-format=json`; every stdout line that is JSON goes into `messages`, others are skipped. test and publish run without it.",
    "CARGO-07": "Each run has a configurable limit (default 300 s); on expiry the process group is killed and the result says so.",
    "CARGO-08": 'Invalid parameters are `ExecutionFailed("invalid params: …")`; a cargo that cannot be started is `ExecutionFailed("failed to execute cargo …")`.',
    "CARGO-09": "A real project builds with `success: true` (test skipped where cargo is missing).",
    "CARGO-10": "Environment of the run: `PATH`, `HOME`, `CARGO_HOME`, `RUSTUP_HOME`, `RUSTFLAGS`; `working_dir` inside the workspace.",
    # Built-in tools: OAuth2 and REST
    "OAUTH-01": "`OAuth2Config{provider_name, client_id, client_secret, auth_url, token_url, redirect_uri?, scopes=[]}`; `client_secret` (literal or `secret://` reference) is never encoded, logged or shown; what later steps need is kept as a reference, a literal going into the secret store (proposed).",
    "OAUTH-02": '`TokenSet{access_token, token_type ("Bearer"), refresh_token?, expires_at? (Unix seconds), scopes=[], provider_name}`.',
    "OAUTH-03": "`is_expired()` is true from 60 s before `expires_at` on, and false when there is none.",
    "OAUTH-04": "`AuthorizeResult{authorize_url, state, pkce_verifier?}`; the verifier is kept on our side and left out of the tool's reply (proposed).",
    "OAUTH-05": "Tokens are JSON files `~/.clawft/tokens/<provider>.json`, file 0600 and folder 0700 from the moment they exist, written atomically; on Windows access is limited to the user.",
    "OAUTH-06": "`store_token`, `load_token(provider) -> TokenSet or None`, `delete_token` (no error if absent).",
    "OAUTH-07": "A provider name with `/`, `\\`, `..`, a null byte or anything outside `[A-Za-z0-9._-]` is refused before a path is built.",
    "OAUTH-08": "Presets `google` (`https://accounts.google.com/o/oauth2/v2/auth`, `https://oauth2.googleapis.com/token`), `microsoft` (`https://login.microsoftonline.com/common/oauth2/v2.0/authorize` and `/token`), `generic` (none); the provider name is the preset's name.",
    "OAUTH-09": "Authorization code with PKCE S256: the URL carries client id, redirect, scopes, challenge and a fresh random `state`; two flows never share a state.",
    "OAUTH-10": "Exchanging the code sends the verifier and yields a `TokenSet` with `expires_at` = now + `expires_in`.",
    "OAUTH-11": "Refreshing keeps the old refresh token unless the server sends a new one, and stores the result before anyone uses it; parallel refreshes of one provider run once (proposed).",
    "OAUTH-12": 'Client credentials: a token without refresh token for the configured scopes; reached by `oauth2_authorize(flow="client_credentials")` (parameter proposed, the source has the flow but no tool).',
    "OAUTH-13": '`oauth2_authorize(client_id: str, client_secret: str, scopes: [str], provider: "google" or "microsoft" or "generic" = "generic", redirect_uri?: str, auth_url?: str, token_url?: str) -> AuthorizeResult`; the first three are required.',
    "OAUTH-14": "With `generic`, a missing `auth_url` or `token_url` is an error that names it; malformed URLs are errors too.",
    "OAUTH-15": "`oauth2_callback(state: str, code: str) -> {provider, token_type, expires_at?, scopes}` (parameters proposed): exchanges the code and stores the token; the token itself is not returned.",
    "OAUTH-16": "The callback accepts only a state we issued, not expired and not used before; anything else is refused.",
    "OAUTH-17": "The verifier is stored in the key-value store under `oauth2_pkce_<state>` for 10 minutes and deleted on use, together with the configuration the exchange needs, its secret as a reference (latter proposed).",
    "OAUTH-18": "`oauth2_refresh(provider: str) -> {provider, expires_at?, scopes}` (parameters proposed) refreshes by hand.",
    "OAUTH-19": "`rest_request(provider: str, method: str, url: str, body?: any, headers?: {str: str}) -> JSON body or null` (names partly proposed): bearer token from the store, method case-insensitive, JSON body; a status outside 2xx is an error with status and body.",
    "OAUTH-20": "An expired token is refreshed before the request; no stored token, or expired without refresh token, is an error that says how to log in.",
    "OAUTH-21": "`rest_request` passes the URL policy, sends the token only to hosts allowed for that provider and drops it on a redirect elsewhere (allow list proposed).",
    "OAUTH-22": "`weft auth login`, `status`, `refresh`, `logout`; login listens on a loopback redirect, so that no code is pasted (proposed).",
    # Built-in tools: IDE
    "IDE-01": "`Position{line, character}` (zero-based, UTF-16 units), `Range{start, end}`, `TextEdit{range, new_text}` (empty range inserts), `Diagnostic{range, severity, message, source?}`, `SymbolInfo{name, kind, file_path, range}`, `HoverInfo{contents, range?}`; all survive encode and decode.",
    "IDE-02": "`DiagnosticSeverity` is Error 1, Warning 2, Information 3, Hint 4, written as numbers.",
    "IDE-03": "`Diagnostic` gets an optional `file_path`, because a query for all files could not be read otherwise (proposed).",
    "IDE-04": "`IdeConnection` Protocol, all async: `open_file(path, position?)`, `apply_edit(path, edit)`, `get_diagnostics(path?) -> [Diagnostic]`, `search_symbols(query, limit) -> [SymbolInfo]`, `hover(path, position) -> HoverInfo or None`; usable by several agents at once.",
    "IDE-05": "`IdeError` kinds: `FileNotFound(path)`, `NotConnected`, `OperationFailed(reason)`, `Timeout`, each with a message of its own.",
    "IDE-06": "The provider has namespace `ide` and exactly five tools; an unknown name raises `ToolNotFound`.",
    "IDE-07": '`open_file(path: str, line?: int, character?: int) -> text "Opened {path}"`; a line without character means character 0, a character without line means no position.',
    "IDE-08": "`edit(path: str, start_line: int, start_character: int, end_line: int, end_character: int, new_text: str) -> text`, all required.",
    "IDE-09": "`diagnostics(path?: str) -> JSON list of Diagnostic`; no path means all files.",
    "IDE-10": "`symbols(query: str, limit: int = 20) -> JSON list of SymbolInfo`.",
    "IDE-11": "`hover(path: str, line: int, character: int) -> JSON HoverInfo or null`.",
    "IDE-12": 'Before a path reaches the editor it is resolved (relative to the workspace, symlinks followed, it must exist) and must lie inside the resolved workspace root, else `PermissionDenied{tool: "ide", reason}`; `../../../etc/passwd`, a null byte and an absolute path outside are refused.',
    "IDE-13": "A missing or mistyped argument (`missing 'path'`, negative numbers) and every `IdeError`, \"not connected\" included, come back as a result with `isError: true`.",
    "IDE-14": "Each IDE operation has a limit (default 5 s).",
    "IDE-15": "When an editor connects the provider is registered, when it leaves it is unregistered, and list-changed is sent both times; several editors may be connected (proposed).",
    "IDE-16": "A whole MCP conversation lists the IDE tools and routes a call to a mock editor; the mock is shipped for tests.",
    "IDE-17": "Reverse channel: the editor extension runs a loopback HTTP endpoint and we POST JSON-RPC requests to it, apart from the MCP channel; a per-start token guards it (token proposed).",
    "IDE-18": "The two other channels of the source (a separate stdio stream; one shared stream with tagged ids) and further editors such as Neovim fit behind `IdeConnection` as one file each.",
    "IDE-19": "A VS Code extension in `editors/vscode` (plain JavaScript, no build step) connects as MCP client and serves the five operations.",
    # Plugin permissions manifest & KeyValueStore
    "PLUG-01": 'Every tool family has a manifest: `id`, `name`, `version`, `capabilities: ["tool"]`, `permissions{filesystem: [path], network: [host], env_vars: [name], shell: bool}`.',
    "PLUG-02": 'git: `com.clawft.plugin-git`, "Git Operations", 0.1.0; filesystem `$WORKSPACE`; network github.com, gitlab.com, bitbucket.org; env `GIT_AUTHOR_NAME`, `GIT_AUTHOR_EMAIL`, `GIT_COMMITTER_NAME`, `GIT_COMMITTER_EMAIL`; no shell.',
    "PLUG-03": 'cargo: `com.clawft.plugin-cargo`, "Cargo Build Integration", 0.1.0; filesystem `$WORKSPACE`, `$CARGO_HOME`; network crates.io, index.crates.io; env `CARGO_HOME`, `RUSTUP_HOME`, `RUSTFLAGS`; shell true, which here means it may start processes. oauth2: `com.clawft.plugin-oauth2`, "OAuth2 Helper", 0.1.0; filesystem `~/.clawft/tokens/`; network `*`; no env; no shell.',
    "PLUG-04": "The manifest is enforced at run time: a path, host, variable or process outside it is refused with the permission that is missing; `$WORKSPACE`, `$CARGO_HOME` and `~` are expanded.",
    "PLUG-05": "`KeyValueStore` Protocol, async: `get(key) -> str or None`, `set(key, value, ttl=None)`, `delete(key) -> bool`, `list_keys(prefix=None) -> [str]`, `compare_and_set(key, old, new) -> bool`. (TTL and compare-and-set from design)",
    "PLUG-06": "Its files lie in `~/.clawft/agents/<agent>/tool_state/<plugin>/`, 0600, atomic, locked; odd keys and names cannot leave the folder. A shared store can take its place.",
    "PLUG-07": "git, cargo and MCP keep nothing in it; oauth2 keeps `oauth2_pkce_<state>`.",
    "PLUG-08": "A tool sees `ToolContext` (key-value store, workspace, agent, caller) and is called as `execute(params, ctx)`; name, description and parameter schema are its other members. Families depend on this base only, never on the gateway.",
    "PLUG-09": "Each family is optional (extras `git`, `oauth`, `ide`, `claude`, `all`), imported on first use.",
    # Delegation
    "DELEG-01": '`DelegationConfig{claude_enabled=False, claude_model="claude-sonnet-4-20250514", max_turns=10, max_tokens=4096, claude_flow_enabled=False, claude_flow_server?: UpstreamSpec, rules=[], excluded_tools=[]}`; `{}` gives exactly these.',
    "DELEG-02": "`DelegationTarget` is `local`, `claude`, `flow`, `auto`; `claude_flow`, `claude-flow` and `ClaudeFlow` are read as `flow`.",
    "DELEG-03": "`DelegationRule{pattern: str, target, tools=[]}`; `tools` limits what the delegate is given (meaning proposed).",
    "DELEG-04": "The section is `[delegation]` in the agent's `config.toml` and `delegation` in foreign JSON beside `tools.mcpServers` (place proposed); a workspace file cannot switch delegation on. Missing section: everything off.",
    "DELEG-05": "`openai_to_anthropic([{type, function: {name, description, parameters}}]) -> [{name, description, input_schema}]`; an entry without `function` is skipped.",
    "DELEG-06": '`tool_result(id, value) -> {type: "tool_result", tool_use_id, content}`, for a failure with `is_error: true` and the message.',
    "DELEG-07": "`filter_tools(tools, include, exclude)`: an empty include means all; exclude wins.",
    "DELEG-08": "`decide(task, config, claude_ok, flow_ok)` is pure: the first rule whose pattern is found anywhere in the task wins; no rule means local; an empty pattern matches everything.",
    "DELEG-09": "A rule that names an unavailable target falls back to local.",
    "DELEG-10": "Target `auto` by complexity c: c < 0.3 local; else c > 0.7 and flow available: flow; else Claude if available; else local.",
    "DELEG-11": "An invalid pattern is skipped with a warning; patterns run over a bounded part of the task, so that none can hang (bound proposed: the source's engine was linear-time).",
    "DELEG-12": 'Complexity in 0..1 grows with key words (orchestrate, research, analyze, compare and their forms) and length: "hello" < 0.3, orchestrate + research > 0.5, 150 plain words about 0.2.',
    "DELEG-13": "Claude loop: POST `https://api.anthropic.com/v1/messages` (base configurable) with `x-api-key`, `anthropic-version: 2023-06-01` and body `model`, `max_tokens`, `tools`, `messages`; the key comes from `ANTHROPIC_API_KEY` or a `secret://` reference (proposed).",
    "DELEG-14": "Each `tool_use` block is executed through our own dispatch and guards; the assistant content and the results go back as the next two messages.",
    "DELEG-15": "The loop ends with the text of the last answer when it asks for no tool or stops with `end_turn`; after `max_turns` rounds it fails with `DelegationFailed`.",
    "DELEG-16": "An HTTP error (401 for example) is `DelegationFailed` with status and no key in it.",
    "DELEG-17": "`excluded_tools` (any accepted name form) and hidden tools are not sent; with no tools left the request carries an empty list and Claude answers in text.",
    "DELEG-18": "The tool list is taken from the live catalog at each delegation, without `delegate_task` itself (proposed).",
    "DELEG-19": "Flow: the task goes as a tool call to the claude-flow MCP server, started from `claude_flow_server` (for example `npx @claude-flow/cli@latest mcp start`) like any upstream.",
    "DELEG-20": '`delegate_task(task: str, target: "auto" or "claude" or "flow" or "local" = "auto", tools?: [str]) -> {target, output}`; its schema is valid and `task` is required (default and `tools` proposed).',
    "DELEG-21": "Without `task` it fails with `InvalidArguments`; `claude` and `flow` go straight there; `auto` asks the engine; a decision for local says that the task stays with the caller (proposed).",
    "DELEG-22": "An explicit target that is not available is an error, not a silent fallback.",
    "DELEG-23": "A missing API key, a missing claude-flow binary or an unreachable server switches that target off with a warning; start-up and the agent go on.",
    "DELEG-24": "Delegation lives in an extra; without it everything else imports and all other tests pass. The tool is offered by a provider of namespace `delegate` only when a target is configured.",
    # Agent run & scenario mode
    "AGENT-01": "`ToolExecutor` Protocol, async: `execute(ToolCallSpec{tool, input}, tool_use_id, ctx) -> ToolExecutionResult` (success, error or tool not found) and `name` (`mcp` for the upstream one).",
    "AGENT-02": "Execution modes: `disabled` (every call answered as disabled), `mock` (scripted answers), `live` (real calls).",
    "AGENT-03": 'Live mode tries upstream tools first and built-ins second; a name in neither gives "tool not found".',
    "AGENT-04": "A failed call becomes an error result with the upstream's text and never ends the run; a crashed server does not either.",
    "AGENT-05": "`--mcp-config FILE-OR-JSON`, repeatable: a path or a JSON text with `mcpServers`; later ones win. Accepted by mcp-server, gateway, agent, tools, servers.",
    "AGENT-06": "`--strict-mcp-config`: a server that does not start ends the program with exit 1 and its name and reason on stderr; without it the run goes on.",
    "AGENT-07": "`--mcp-debug` writes to stderr what each server does: start, handshake, tools found, failures.",
    "AGENT-08": "`weft agent -p TEXT`, `--print TEXT` or `-m TEXT` runs one task and prints the answer; `--print -p TEXT` works as well. `--target auto|local|claude|flow` picks who does it.",
    "AGENT-09": "`--scenario FILE` (TOML) replaces the model by a scripted one, offline: execution mode, turns, tool calls, expected and mocked results (layout proposed).",
    "AGENT-10": "Tool calls and their results are shown in the output in a stable form; `--json` gives one object per event (proposed).",
    "AGENT-11": "Servers start before the first turn and are stopped on every way out, errors and Ctrl-C included.",
    "AGENT-12": "The agent's system prompt speaks of MCP servers (names, instructions) only if some are connected.",
    "AGENT-13": "The echo server fixture (one tool `echo` that returns its call parameters as JSON text) ships with the tests; ours ignores notifications, and a second one that dies on them is a hostile case.",
    "AGENT-14": "Common flags `--agent`, `--workspace`, `--names`, `--allow`, `--deny`, `--no-builtin`; exit codes 0, 1 failed, 2 usage, 130 interrupted; `--json` on listings, `NO_COLOR`, completion, `--version`, `weft doctor`.",
    # Non-functional
    "QUAL-01": "Handshake with a local stdio server takes under 100 ms; the server's own start-up time is not counted (proposed reading).",
    "QUAL-02": "Keys, tokens and secrets never appear in logs, `repr`, errors, audit or status; request headers are never logged.",
    "QUAL-03": "An upstream that crashes, floods, lies or hangs harms no other upstream and not the gateway.",
    "QUAL-04": "The core has no native-only or optional dependency: `wire`, `model`, `policy`, `catalog` import and pass their tests without process, network or clock (the nearest Python form of the unaffected WASM build).",
    "QUAL-05": "Budgets of design §8 hold in one interleaved benchmark run: throughput, latency, 1 MB results, `tools/list` of 1,000 tools, cold start, 100 servers, 45 MiB idle.",
    "QUAL-06": "Formatting, lint with warnings as errors, strict types and import contracts are clean, with and without extras.",
    "QUAL-07": "All tests pass with and without extras; each test carries the source id it covers; one command (`make check`) runs what CI runs.",
    "QUAL-08": "Tests use no external network; real peers run on loopback or stdio, and concurrency is covered by stress tests (the sources used a race detector).",
    "QUAL-09": "No failure path is left unchecked: no bare `except`, no `assert` as control flow, no ignored task; every task has a parent that waits for it.",
    "QUAL-10": "Files stay small (under 500 lines, usually 100 to 250); types may move to their own file.",
    "QUAL-11": "Layers as in design §9, checked by an import linter; imports go down only.",
    "QUAL-12": "Everything has a bound: bytes, seconds, items, restarts; the defaults are listed in one place of the documentation.",
    "QUAL-13": "Nothing leaks: processes, tasks, descriptors, temporary files, after tests and after each command.",
    "QUAL-14": "Documentation: the provider architecture in an overview, providers in the tool-call guide, custom providers in the reference, a how-to for contributors, and runnable examples.",
    "QUAL-15": "Interop: official Python and TypeScript SDKs as clients and servers, published servers and the inspector, every era and transport; `claude mcp serve` and claude-flow where installed.",
    "QUAL-16": "Start-up is cheap: a command imports only what it uses, and stdio serving is ready before upstreams are.",
}

TESTS: dict[str, tuple[str, ...]] = {
    # source 0, tests
    "F8-T01": ("IDE-06",),
    "F8-T02": ("IDE-06",),
    "F8-T03": ("IDE-07",),
    "F8-T04": ("IDE-08",),
    "F8-T05": ("IDE-03", "IDE-09"),
    "F8-T06": ("IDE-10",),
    "F8-T07": ("IDE-11",),
    "F8-T08": ("PROV-02", "IDE-06"),
    "F8-T09": ("IDE-12",),
    "F8-T10": ("IDE-12",),
    "F8-T11": ("IDE-12",),
    "F8-T12": ("PROV-04", "PROV-05", "IDE-15"),
    "F8-T13": ("SHELL-05", "SHELL-06", "IDE-16"),
    "F8-T14": ("IDE-05", "IDE-13"),
    "F8-T15": ("IDE-01",),
    "F8-T16": ("IDE-02",),
    "F9b-T01": ("CONF-05",),
    "F9b-T02": ("CONF-06",),
    "F9b-T03": ("CONF-07",),
    "F9b-T04": ("CONF-08",),
    "F9b-T05": ("CONF-07",),
    "F9b-T06": ("CONF-09",),
    "F9b-T07": ("CONF-01", "CONF-04"),
    "F9b-T08": ("CONF-03", "POOL-16"),
    "F9b-T09": ("POOL-01",),
    "F9b-T10": ("POOL-01", "POOL-02"),
    "F9b-T11": ("POOL-03",),
    "F9b-T12": ("POOL-04",),
    "F9b-T13": ("POOL-06",),
    "F9b-T14": ("POOL-06",),
    "F9b-T15": ("POOL-07",),
    "F9b-T16": ("POOL-07",),
    "F9b-T17": ("POOL-11",),
    "F9b-T18": ("POOL-12",),
    "F9b-T19": ("PROV-14",),
    "F9b-T20": ("PROV-16",),
    "F9b-T21": ("PROV-16",),
    "F9b-T22": ("PROV-15",),
    "F9b-T23": ("LINK-05",),
    "F9b-T24": ("LINK-05",),
    "F9b-T25": ("CONF-17",),
    "F9b-T26": ("PROV-18",),
    # source 1, tests
    "test_git_clone_creates_repo": ("GIT-02",),
    "test_git_commit_creates_oid": ("GIT-03", "GIT-04"),
    "test_git_branch_lists_default": ("GIT-05",),
    "test_git_diff_detects_changes": ("GIT-06",),
    "test_git_blame_returns_hunks": ("GIT-07",),
    "test_git_log_returns_commits": ("GIT-08",),
    "test_git_status_shows_untracked": ("GIT-09",),
    "test_git_status_tool_execute": ("GIT-09",),
    "test_git_tool_missing_repo_path": ("GIT-10",),
    "test_validate_arg_rejects_semicolons": ("CARGO-05",),
    "test_validate_arg_rejects_pipes": ("CARGO-05",),
    "test_validate_arg_accepts_clean": ("CARGO-05",),
    "test_cargo_build_tool_schema": ("CARGO-02",),
    "test_cargo_output_serde_roundtrip": ("CARGO-03",),
    "test_cargo_build_integration": ("CARGO-09",),
    "test_token_set_not_expired": ("OAUTH-03",),
    "test_token_set_expired": ("OAUTH-03",),
    "test_token_set_no_expiry": ("OAUTH-03",),
    "test_store_load_token_roundtrip": ("OAUTH-02", "OAUTH-06"),
    "test_token_file_permissions_unix": ("OAUTH-05",),
    "test_delete_token": ("OAUTH-06",),
    "test_preset_urls_google": ("OAUTH-08",),
    "test_preset_urls_microsoft": ("OAUTH-08",),
    "test_start_auth_code_flow": ("OAUTH-04", "OAUTH-09"),
    "test_csrf_state_is_random": ("OAUTH-09",),
    "test_build_config_from_params_google": ("OAUTH-13",),
    "test_build_config_from_params_generic_missing_url": ("OAUTH-14",),
    "test_oauth2_authorize_tool_schema": ("OAUTH-13",),
    "test_provider_name_sanitized": ("OAUTH-07",),
    "test_mcp_tool_provider_namespace": ("PROV-14",),
    "test_mcp_tool_provider_list_tools_namespaced": ("PROV-15",),
    "test_mcp_tool_provider_call_tool_strips_namespace": ("PROV-09",),
    "test_mcp_tool_provider_call_tool_without_namespace": ("PROV-09",),
    "test_mcp_tool_provider_refresh_tools": ("PROV-17",),
    "test_mcp_server_config_serde_stdio": ("CONF-04", "CONF-10"),
    "test_mcp_server_config_serde_http": ("CONF-04", "CONF-10"),
    "test_connect_mcp_server_rejects_unsafe_command": ("CONF-18",),
    "test_mcp_tool_provider_empty_cache": ("PROV-17",),
    "test_mcp_tool_provider_is_error_handling": ("PROV-16",),
    # source 3, tests
    "T-1.1": ("WIRE-06",),
    "T-1.2": ("WIRE-06",),
    "T-1.3": ("WIRE-07",),
    "T-2.1": ("WIRE-02",),
    "T-2.2": ("WIRE-02",),
    "T-2.3": ("LINK-02",),
    "T-2.4": ("LINK-19",),
    "T-3.1": ("SESS-11",),
    "T-3.2": ("SESS-11",),
    "T-3.3": ("SESS-12",),
    "T-4.1": ("SESS-01",),
    "T-4.2": ("SESS-02",),
    "T-4.3": ("SESS-02",),
    "T-4.4": ("SESS-03",),
    "T-4.5": ("SESS-05",),
    "T-4.6": ("SESS-09",),
    "T-4.7": ("SESS-10",),
    "T-5.1": ("SESS-16",),
    "T-5.2": ("SESS-17",),
    "T-5.3": ("SESS-18",),
    "T-5.4": ("SESS-16",),
    "T-5.5": ("SESS-16",),
    "T-6.1": ("MGR-01",),
    "T-7.1": ("PROV-03",),
    "T-7.2": ("PROV-03",),
    "T-7.3": ("PROV-03",),
    "T-7.4": ("PROV-02", "PROV-03"),
    "T-7.5": ("PROV-05",),
    "T-7.6": ("PROV-06",),
    "T-7.7": ("PROV-07",),
    "T-7.8": ("GUARD-03", "EXEC-02"),
    "T-7.9": ("GUARD-03", "EXEC-02"),
    "T-7.10": ("GUARD-06",),
    "T-7.11": ("GUARD-08",),
    "T-7.12": ("GUARD-10",),
    "T-7.13": ("SHELL-01", "SHELL-02"),
    "T-7.14": ("SHELL-03",),
    "T-7.15": ("SHELL-05",),
    "T-7.16": ("SHELL-06",),
    "T-7.17": ("SHELL-07",),
    "T-7.18": ("SHELL-08",),
    "T-7.19": ("SHELL-05", "GUARD-02", "GUARD-06"),
    "T-7.20": ("SHELL-10", "GUARD-02"),
    "T-7.21": ("SHELL-11", "GUARD-08"),
    "T-8.1": ("DELEG-01",),
    "T-8.2": ("DELEG-02",),
    "T-8.3": ("DELEG-03",),
    "T-8.4": ("DELEG-04",),
    "T-8.5": ("DELEG-04",),
    "T-9.1": ("DELEG-05",),
    "T-9.2": ("DELEG-05",),
    "T-9.3": ("DELEG-05",),
    "T-9.4": ("DELEG-06",),
    "T-9.5": ("DELEG-06",),
    "T-9.6": ("DELEG-07",),
    "T-9.7": ("DELEG-07",),
    "T-9.8": ("DELEG-07",),
    "T-10.1": ("DELEG-08",),
    "T-10.2": ("DELEG-08",),
    "T-10.3": ("DELEG-10", "DELEG-12"),
    "T-10.4": ("DELEG-10",),
    "T-10.5": ("DELEG-09",),
    "T-10.6": ("DELEG-09",),
    "T-10.7": ("DELEG-08",),
    "T-10.8": ("DELEG-11",),
    "T-10.9": ("DELEG-12",),
    "T-10.10": ("DELEG-12",),
    "T-11.1": ("DELEG-13", "DELEG-15"),
    "T-11.2": ("DELEG-14",),
    "T-11.3": ("DELEG-15",),
    "T-11.4": ("DELEG-16",),
    "T-11.5": ("DELEG-17",),
    "T-12.1": ("DELEG-20",),
    "T-12.2": ("DELEG-20",),
    "T-12.3": ("DELEG-21",),
    "T-12.4": ("DELEG-21",),
    "T-12.5": ("DELEG-19", "DELEG-21"),
    "T-12.6": ("DELEG-21",),
    "T-12.7": ("DELEG-22",),
    # source 3, acceptance criteria
    "AC-1": ("PLUG-09", "DELEG-24", "QUAL-06"),
    "AC-2": ("PLUG-09", "DELEG-24", "QUAL-06"),
    "AC-3": ("QUAL-06",),
    "AC-4": ("DELEG-24", "QUAL-07"),
    "AC-5": ("DELEG-24", "QUAL-07"),
    "AC-6": ("QUAL-06",),
    "AC-7": ("QUAL-04",),
    "AC-8": ("DELEG-19", "QUAL-15"),
    "AC-9": ("SHELL-15",),
    "AC-10": ("CONF-10", "AGENT-05"),
    "AC-11": ("DELEG-04",),
    "AC-12": ("WIRE-06",),
    "AC-13": ("PROV-01", "PROV-03"),
    "AC-14": ("PROV-06",),
    "AC-15": ("GUARD-03", "GUARD-04"),
    "AC-16": ("GUARD-06",),
    "AC-17": ("GUARD-08",),
    "AC-18": ("SHELL-03",),
    # source 3, functional, non-functional and critical items
    "FR-001": ("SESS-01",),
    "FR-002": ("WIRE-06",),
    "FR-003": ("SESS-12", "LINK-01"),
    "FR-004": ("SESS-16",),
    "FR-005": ("SHELL-15", "FILE-01"),
    "FR-006": ("DELEG-13", "DELEG-14"),
    "FR-007": ("DELEG-08",),
    "FR-008": ("MGR-15", "DELEG-23"),
    "NFR-001": ("QUAL-01",),
    "NFR-002": ("QUAL-02",),
    "NFR-003": ("GUARD-05", "DELEG-14"),
    "NFR-004": ("AGENT-04", "QUAL-03"),
    "NFR-005": ("PLUG-09", "DELEG-24"),
    "NFR-006": ("QUAL-04",),
    "NFR-007": ("GUARD-08",),
    "CRIT-01": ("GUARD-03", "GUARD-06", "GUARD-12"),
    "CRIT-02": ("PROV-20",),
    # source 4, named test
    "test_mcp_end_to_end": ("MGR-17", "AGENT-13"),
    # source 0, acceptance F8
    "F8-A01": ("IDE-06",),  # provider with namespace `ide`
    "F8-A02": ("IDE-06",),  # five tools
    "F8-A03": ("PROV-21",),  # schemas are valid JSON Schema
    "F8-A04": ("IDE-12",),  # path checks
    "F8-A05": ("IDE-15",),  # registered and listed
    "F8-A06": ("IDE-04",),  # connection usable by several agents at once
    "F8-A07": ("IDE-16",),  # mock connection exists
    "F8-A08": ("QUAL-07",),  # all F8 tests pass
    "F8-A09": ("QUAL-10",),  # file stays small
    # source 0, acceptance F9b
    "F9b-A01": ("CONF-05", "CONF-06", "CONF-07"),  # three config sources
    "F9b-A02": ("CONF-07", "CONF-08"),  # agent overrides and excludes
    "F9b-A03": ("POOL-01", "POOL-03"),  # pool reuse and limit
    "F9b-A04": ("POOL-06",),  # cache with configurable TTL
    "F9b-A05": ("POOL-08",),  # cache dropped on list change
    "F9b-A06": ("POOL-11",),  # health monitor removes dead sessions
    "F9b-A07": ("PROV-01",),  # upstream provider implements Provider
    "F9b-A08": ("PROV-08",),  # external namespace
    "F9b-A09": ("LINK-05",),  # child environment cleared
    "F9b-A10": ("CONF-17",),  # untrusted needs absolute command
    "F9b-A11": ("CONF-07",),  # per-agent `[mcp_servers.*]` tables
    "F9b-A12": ("QUAL-07",),  # all F9b tests pass
    "F9b-A13": ("QUAL-09",),  # no unchecked failure paths
    # source 0, security criteria
    "SEC-A01": ("LINK-05",),  # children see no secrets of the parent
    "SEC-A02": ("POOL-16",),  # untrusted by default
    "SEC-A03": ("POOL-17", "POOL-18"),  # approval on first use
    "SEC-A04": ("LINK-03", "CONF-17"),  # command checked, no shell
    "SEC-A05": ("IDE-12",),  # IDE paths checked
    "SEC-A06": ("GUARD-05",),  # security guard covers external calls
    # source 1, acceptance F1
    "F1-A01": ("GIT-13", "PLUG-09"),  # installs and imports cleanly
    "F1-A02": ("GIT-01",),  # seven operations
    "F1-A03": ("GIT-01",),  # one tool per operation
    "F1-A04": ("PROV-21", "GIT-01"),  # schemas MCP-compatible
    "F1-A05": ("GIT-11",),  # blocking work off the loop
    "F1-A06": ("PLUG-01", "PLUG-02"),  # manifest declares permissions
    "F1-A07": ("QUAL-07",),  # tests pass
    "F1-A08": ("QUAL-06",),  # lint clean
    # source 1, acceptance F2
    "F2-A01": ("PLUG-09",),  # installs and imports cleanly
    "F2-A02": ("CARGO-01",),  # five operations
    "F2-A03": ("CARGO-05",),  # arguments checked
    "F2-A04": ("CARGO-06",),  # JSON messages parsed
    "F2-A05": ("CARGO-04",),  # release, workspace and package flags
    "F2-A06": ("QUAL-07",),  # tests pass
    "F2-A07": ("QUAL-06",),  # lint clean
    # source 1, acceptance F6
    "F6-A01": ("PLUG-09",),  # installs and imports cleanly
    "F6-A02": ("OAUTH-09", "OAUTH-10", "OAUTH-15"),  # authorization code + PKCE end to end
    "F6-A03": ("OAUTH-12",),  # client credentials end to end
    "F6-A04": ("OAUTH-05",),  # token files 0600
    "F6-A05": ("OAUTH-18", "OAUTH-19", "OAUTH-20"),  # refresh before expiry
    "F6-A06": ("OAUTH-08",),  # preset URLs
    "F6-A07": ("OAUTH-16",),  # state checked on callback
    "F6-A08": ("OAUTH-17", "PLUG-05", "PLUG-07"),  # verifier in the key-value store
    "F6-A09": ("OAUTH-11",),  # rotated refresh token stored at once
    "F6-A10": ("OAUTH-01",),  # client secret never shown
    "F6-A11": ("OAUTH-07",),  # provider name checked
    "F6-A12": ("QUAL-07",),  # tests pass
    "F6-A13": ("QUAL-06",),  # lint clean
    # source 1, acceptance F9a
    "F9a-A01": ("PROV-16",),  # provider over one upstream
    "F9a-A02": ("PROV-08",),  # external names
    "F9a-A03": ("SESS-20",),  # factory for stdio and HTTP
    "F9a-A04": ("LINK-05",),  # minimal child environment
    "F9a-A05": ("CONF-18",),  # command path checked
    "F9a-A06": ("PROV-17",),  # cache filled by refresh
    "F9a-A07": ("PROV-16",),  # `isError` mapped
    "F9a-A08": ("CONF-04",),  # config can be written and read
    "F9a-A09": ("QUAL-07",),  # older MCP tests still pass
    "F9a-A10": ("QUAL-07",),  # tests pass
    "F9a-A11": ("QUAL-06",),  # lint clean
    # source 2, Phase 1 tests
    "S2-P1-01": ("WIRE-01", "WIRE-20"),  # encode and decode requests and responses
    "S2-P1-02": ("WIRE-03",),  # error answers
    "S2-P1-03": ("WIRE-04", "WIRE-05"),  # id correlation
    "S2-P1-04": ("WIRE-02",),  # no params
    "S2-P1-05": ("WIRE-15", "SESS-02"),  # initialize result with each capability mix
    "S2-P1-06": ("WIRE-16", "SESS-09"),  # tool schema parsing
    "S2-P1-07": ("WIRE-18",),  # content block kinds
    # source 2, Phase 2 tests (stdio)
    "S2-P2-01": ("LINK-03",),  # start and stop
    "S2-P2-02": ("LINK-04",),  # send and receive
    "S2-P2-03": ("WIRE-05", "SESS-15", "LINK-04", "QUAL-08"),  # concurrent sends
    "S2-P2-04": ("SESS-13", "LINK-11"),  # timeout
    "S2-P2-05": ("LINK-08",),  # crash, early EOF
    "S2-P2-06": ("LINK-09",),  # close ends the process
    "S2-P2-07": ("LINK-05",),  # environment passed
    "S2-P2-08": ("WIRE-08",),  # large message
    "S2-P2-09": ("LINK-09", "POOL-21", "MGR-14", "AGENT-11", "QUAL-13"),  # no leaked process
    # source 2, Phase 3 tests (HTTP)
    "S2-P3-01": ("LINK-12",),  # JSON answer
    "S2-P3-02": ("WIRE-10", "LINK-13"),  # SSE answer
    "S2-P3-03": ("LINK-14",),  # session id
    "S2-P3-04": ("LINK-15",),  # auth header
    "S2-P3-05": ("LINK-16",),  # 401 and 500
    "S2-P3-06": ("LINK-17",),  # cancel while reading SSE
    "S2-P3-07": ("LINK-18",),  # large response
    # source 2, Phase 4 tests (connection, client)
    "S2-P4-01": ("SESS-01", "LINK-02"),  # handshake over a mock link
    "S2-P4-02": ("SESS-08",),  # no tools capability: no tools/list
    "S2-P4-03": ("SESS-08",),  # no resources capability: no resources/list
    "S2-P4-04": ("SESS-10",),  # tool call delegated
    "S2-P4-05": ("RES-01",),  # resource operations
    "S2-P4-06": ("SESS-19", "MGR-02"),  # disconnect cleans up
    "S2-P4-07": ("SESS-05",),  # initialize error gives `failed`
    "S2-P4-08": ("MGR-01",),  # connect registers tools
    "S2-P4-09": ("MGR-02",),  # disconnect unregisters
    "S2-P4-10": ("MGR-03",),  # reconnect registers again
    "S2-P4-11": ("MGR-04",),  # toggle off and on
    "S2-P4-12": ("MGR-05", "MGR-06"),  # set_servers difference (add 2, remove 1, keep 1)
    "S2-P4-13": ("MGR-09",),  # call_tool routed
    "S2-P4-14": ("MGR-09", "RES-01", "RES-02"),  # list_resources routed
    "S2-P4-15": ("MGR-07", "MGR-09"),  # unknown server
    "S2-P4-16": ("MGR-13", "QUAL-08"),  # concurrent use
    # source 2, Phase 5 tests
    "S2-P5-01": ("SESS-16", "RES-04"),  # structured result becomes text and error flag
    "S2-P5-02": ("RES-03", "RES-04"),  # resource read is structured
    "S2-P5-03": ("MGR-16",),  # stub client
    # source 2, Phase 6 tests (integration)
    "S2-P6-01": ("MGR-01", "MGR-17"),  # connect to a stdio server, tools appear
    "S2-P6-02": ("MGR-17",),  # call through the registry and back
    "S2-P6-03": ("MGR-02", "MGR-17"),  # disconnect removes tools
    "S2-P6-04": ("MGR-05", "MGR-06"),  # set_servers with several servers
    "S2-P6-05": ("MGR-18",),  # a real published server (manual in the source)
    # source 3, edge cases
    "S3-E01": ("CONF-11",),  # no servers configured
    "S3-E02": ("PROV-19",),  # empty tools array
    "S3-E03": ("SESS-05",),  # crash during the handshake
    "S3-E04": ("SESS-04",),  # unknown protocol version
    "S3-E05": ("SESS-16",),  # nested content blocks
    "S3-E06": ("SESS-17",),  # isError without content
    "S3-E07": ("WIRE-06",),  # Content-Length (not applicable)
    "S3-E08": ("SHELL-09", "SHELL-20", "PROV-07"),  # no providers
    "S3-E09": ("SHELL-10",),  # guard refuses
    "S3-E10": ("SHELL-17", "PROV-04"),  # provider added at run time
    "S3-E11": ("PROV-06",),  # same tool name in several servers
    "S3-E12": ("DELEG-17",),  # delegation with no tools
    "S3-E13": ("DELEG-08",),  # rule with empty pattern
    "S3-E14": ("DELEG-04",),  # no delegation section
    # source 4, transport tests
    "S4-TR-01": ("WIRE-01",),  # JSON-RPC encode and decode
    "S4-TR-02": ("SESS-13",),  # timeout
    "S4-TR-03": ("WIRE-03",),  # error answer parsed
    # source 4, protocol tests
    "S4-PR-01": ("WIRE-14",),  # messages match the specification
    "S4-PR-02": ("WIRE-16", "WIRE-19"),  # sample server answers parsed
    "S4-PR-03": ("WIRE-18",),  # content blocks
    # source 4, client tests
    "S4-CL-01": ("SESS-01", "SESS-19"),  # initialize, list, call, shutdown
    "S4-CL-02": ("WIRE-23", "SESS-20"),  # failure at each step
    # source 4, server and manager tests
    "S4-SV-01": ("MGR-08", "MGR-11"),  # discovery fills the tool list
    "S4-SV-02": ("POOL-15", "MGR-11"),  # several servers
    "S4-SV-03": ("MGR-09", "MGR-10"),  # routing
    # source 4, executor tests
    "S4-EX-01": ("MGR-10", "AGENT-01", "AGENT-03"),  # routing to the right server
    "S4-EX-02": ("PROV-13", "AGENT-03"),  # fallback to built-in
    "S4-EX-03": ("AGENT-01", "AGENT-04"),  # error results
    # source 4, command-line tests
    "S4-CLI-01": (
        "AGENT-02",
        "AGENT-05",
        "AGENT-08",
        "AGENT-09",
        "AGENT-13",
    ),  # config given as JSON, printed run, scenario
    "S4-CLI-02": ("AGENT-06",),  # strict mode with a failing server
    "S4-CLI-03": ("AGENT-07",),  # debug output
    "S4-CLI-04": ("AGENT-10",),  # tool call output
}
