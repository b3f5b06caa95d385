"""Bytes to and from others: pipes, HTTP in both directions, children. Messages are `wire`'s business.

| what | where |
|---|---|
| every way to a server | `base` says what it offers; `stream` for a child's pipes, `http_out` for HTTP |
| our own stdin and stdout | `stdio_in`, on the lines of `lines` |
| HTTP as a server | `http_in`; `arrival` is one request that has come in |
| children | `process` |
| what many share | `share`: room, turns and time, so that nobody takes all of it |

To add a way to a server: a class with the methods of `base.Link`, and a row in `upstream/ways.py`.
"""
