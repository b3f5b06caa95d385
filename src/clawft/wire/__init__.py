"""The protocol as bytes, for every revision, without any I/O: what comes in is read, what goes out is spelled.

| what | where |
|---|---|
| one message | `framing` finds it, `jsonrpc` reads and writes it (the usual call: `calls`), `sse` for event streams |
| which answer is whose | `correlate`; `cancel` for those that nobody wants any more |
| large messages | `parts`, `inplace`, `strings` |
| what a revision knows | `revisions`, `methods`, `codes` |
| how an era reads and finishes | `handshake`, `stateless` with its `headers`; `meta` and its `trace` in both |
| the other way between eras | `narrow`, `forms`, `tasks`, `answers` |
| what strangers may send | `shapes`, `blocks`, `resources_and_prompts`, `questions`, `schemas`: as the protocol says |
| URIs in it | `resource_links` |
| what people and models read | `visible`, by `unseen` and `hidden_characters`; `secrets` |
| text of others among ours | `quoted_lines` |
| what every client can parse | `readable` |

To add a revision: a row in `revisions.REVISIONS`; what it cannot know is left out in `narrow`.
"""
