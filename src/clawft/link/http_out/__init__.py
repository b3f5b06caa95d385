"""HTTP as a client: links to servers, and the one place that fetches what others name.

| what | where |
|---|---|
| the two links | `link` for Streamable HTTP, with its `notice_stream`; `sse` for servers of 2024 |
| what they share | `client`; `exchange` is one request, `answer` what came back, `events` a stream, `packed` either |
| what came, as messages | `messages` for the first; `heard` is what both know of how a server speaks |
| connections | `connector`, with `idle` for how long; `names` for addresses, `connect_failure` for why there is none |
| what a tool fetches | `fetch` |
"""
