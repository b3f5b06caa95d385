"""HTTP/1.1 as we serve it: bytes of a connection to requests of an application, and its answers back.

| what | where |
|---|---|
| the server and its connections | `server`; `roster` says who comes in or gives way, and who waits on the `porch` |
| one connection | `protocol`; `stamps` tell what is late, `socket_ends` are its addresses |
| what comes | `reader` finds requests, `head` reads what they begin with; `sent_ahead` waits for its turn, in `turns` |
| whether we read it | `intake` |
| what goes | `exchange` is one request and its answer, `answer` its bytes; `backlog` what was not taken yet |
| an application of another make | `asgi` |
"""
