"""The shared part of all links: memory for large messages, turns, time for messages that nobody asked for.

| what | where |
|---|---|
| memory | `byte_limits` for messages in our hands, `unread_output` for what is not read, `memory_budget` for all |
| who waits for it | `admission` for requests, `turns` for messages of servers |
| calls at one server, commands on this machine | `gate` |
| work off the loop | `large_messages` in one worker thread, `fair_threads` for jobs of seconds |
| time for what nobody asked for | `read_throttle` |
| how memory is given back | `heap` |

To add something that is kept until somebody takes it: `MEMORY_BUDGET.add_cache`, or `add_required` where it cannot be
dropped.
"""
