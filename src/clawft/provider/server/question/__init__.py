"""Questions of servers during a call, in both eras, and the answers to them.

| what | where |
|---|---|
| a request that may ask back | `server_questions` |
| servers of the handshake era | `handshake_questions` |
| of these, calls that stay open for an answer | `open_requests`; each `open_call` waits among the `parked_calls` |
| servers of the stateless era | `rounds` |
| what the next request needs | `carried_state` |
| a question as the agent sees it | `questions`; `urls` for an address that a person must visit |
"""
