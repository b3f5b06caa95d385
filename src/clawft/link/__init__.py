"""Bytes to and from others: pipes, HTTP in both directions, children. Messages are `wire`'s business.

| what | where |
|---|---|
| every way to a server | `base` says what it offers; `stream` for pipes, `http_out` for HTTP, `memory` for tests |
| where the ids of one begin | `first_id` |
| how long an answer may take; what a server did wrong | `deadline`; `faults` |
| lines on pipes | `line_reader`, `line_writer`, with `direct_write` for single ones; `pipe_ends` |
| our own stdin and stdout | `stdio_in` |
| HTTP as a server | `http_in`; `http_request` is one request that has come in, `asgi` its side of ASGI |
| who sent a request | `client_networks`; `loop_detection` for our own that come back |
| children | `process` |
| what many share | `share`: room, turns and time, so that nobody takes all of it |
| the process itself | `open_files`, `own_thread` |

To add a way to a server: a class with the methods of `base.Link`, and a row in `upstream/links.py`.
"""
