"""What all links share: room for large messages, turns, time for what nobody asked.

| what | where |
|---|---|
| room in memory | `load` for messages in our hands, `attic` and `unread` for what waits to be taken |
| who waits for it | `waiting_room` for requests, `turns` for messages of servers |
| calls at one server, commands on this machine | `gate` |
| work on it | `workshop` beside the loop, `fair_threads` for seconds |
| what nobody waits for | `noise` |
| how memory is given back | `heap` |

To add something that is kept until somebody takes it: `ATTIC.count`.
"""
