"""HTTP/1.1 as we serve it: bytes of a connection to requests of an application, and its answers back.

| what | where |
|---|---|
| the server and its connections | `server`; `roster` admits them, or lets them be `waiting_connections` |
| which of them is closed for another | `eviction` |
| one connection | `protocol`; `timestamps` tell what is late, `socket_ends` are its addresses |
| what comes | `reader` finds requests, `head` reads what they begin with; `pipelined` ones wait, and run in `turns` |
| whether we read it | `read_pauses` |
| what goes | `exchange` is one request and its answer, `answer` its bytes; `backlog` what was not taken yet |
| an application of another make | `asgi` |
"""
