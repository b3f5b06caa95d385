"""External servers and their lives: wanted, started, met, listed, watched, restarted, given up.

| what | where |
|---|---|
| all of them | `pool`: makes what runs the same as what is wanted (`plan`); `pending_servers` are waited for |
| one of them | `upstream`, as others see it; `spec` is what we want of it (`spec_rules`: and may) |
| its life | `life`: connect, serve, lose, back off; `state`: how it is, and all that may happen to it |
| callers who wait for it | `waiting_callers` |
| one for each conversation | `private_sessions` |
| how it is reached | `links`, in the cell of `cells`; `nesting` for one that is ourselves |
| one conversation with it | `session` |
| what it has | `offer` |
| what callers want to hear from it | `interest` |
| its calls | `flights`; they do not pass through here: `provider/server` takes a session and relays them |
| its bounds | `slots`, `backoff`; its calls share by `link.share.gate` |
| whether it is still there | `health` |
| after it was lost | `verdict`: what becomes of it |
| how it is, as it is told | `status`; `reasons` says why it is not there |
| what it needs of the house, and tells it | `surroundings`, `news` |

To add a way to a server: a row in `links.links_to`. To add something that may happen to one: a move in `state.MOVES`.
"""
