"""HTTP as a client: links to servers, and the one place that fetches what others name.

| what | where |
|---|---|
| the two links | `link` for Streamable HTTP, with its `http_session` and `notice_stream`; `sse` for servers of 2024 |
| what they share | `client`; `exchange` is one request, `answer` what came back, `events` a stream, `gzip_coding` |
| what came in, as messages | `messages` for the first; `receive_state` is what both note of them |
| connections | `connector`, `keep_alive` for how long, `dns` for addresses, `connect_failure` for why there is none |
| what a tool fetches | `fetch` |
"""
