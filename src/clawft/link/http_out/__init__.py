"""HTTP as a client: links to servers, and the one place that fetches what others name.

| what | where |
|---|---|
| the two links | `link` for Streamable HTTP, with its `http_session` and `notice_stream`; `sse` for servers of 2024 |
| what they share | `client`; `exchange` is one request, `answer` what came back, `events` a stream, `packed` either |
| what came in, as messages | `messages` for the first; `receive_state` is what both note of them |
| connections | `connector`, with `idle` for how long; `names` for addresses, `connect_failure` for why there is none |
| what a tool fetches | `fetch` |
"""
