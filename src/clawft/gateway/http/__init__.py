"""The gateway over HTTP: who may enter, sessions of the handshake era, single requests of the stateless one.

| what | where |
|---|---|
| every request | `app`: which page, which era; a `visit` is one that was let in |
| who may enter | `access`; `people` who bring a token; `turnstile` for how much one may take; `accept` for answers |
| the handshake era | `session_door`, with its `sessions` |
| the stateless era | `stateless_door` |
| the way back | `answer`, which becomes one of the `streams` where there is more |
| the pages beside | `status` |

To add a page: a row in `status.PAGES`, and what it says.
"""
