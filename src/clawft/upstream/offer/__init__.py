"""The offer of a server: read item by item, kept between starts, known before it is up.

| what | where |
|---|---|
| all it offers | `lists`, of one `server_offer` |
| read from the server | `list_reading`; `definition` for a tool, `hops` for what came through other gateways |
| kept between starts | `cache` |
| how much all may take | `room` |
"""
