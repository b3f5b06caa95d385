"""From a caller's message to its answer: `core` has what is offered and the one way every call takes.

| what | where |
|---|---|
| a caller on a pipe | `pipe`: lines in, messages out; `batch` for several in one |
| callers over HTTP | `http` |
| the handshake era | `conversation`: one caller, from initialize to the end |
| the stateless era | `exchange`: one request that says everything itself; `listening` for one that stays |
| methods that both know | `dispatch`: the table `CALLS`, the table `LISTS` |
| requests in flight | `running_requests`, `backpressure` where they are too many; `fast_calls` run without a task |
| how each ends | `reply` |
| the way back while a call runs | `talk`; `questions`, `open_questions`, `spent_states` for what a tool asks |
| tools, prompts, resources | `offer`; `pending` waits for those that are still coming |
| calls that outlive their request | `task` |
| what callers hear beside | `events`, `seen_lists`, `watched_resources`, `log_levels` |
| their roots | `agent_roots` asks for them |
| what is worked out once | `object_memo` |

To add a method: a row in `wire/methods.py`, then in `dispatch`, or in the table of the era that alone knows it.
"""
