"""External servers and their lives: wanted, started, met, listed, watched, restarted, given up.

| what | where |
|---|---|
| all of them | `pool`: makes what runs the same as what is wanted (`plan`) |
| one of them | `upstream`; `spec` is what we want of it, `state` what may happen to it |
| how it is reached | `ways`, in the cell of `cells` |
| one conversation with it | `session` |
| what it has | `offer` |
| what callers want to hear from it | `interest` |
| its bounds | `gate`, `slots`, `backoff`, `health` |

Calls do not pass through here: `provider/server` takes a session and relays them.
"""
