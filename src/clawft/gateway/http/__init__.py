"""The gateway over HTTP: who may enter, sessions of the handshake era, single requests of the stateless one.

| what | where |
|---|---|
| every request | `app`: which page, which era; `authorized_request` is one whose caller is known |
| who may enter | `access`; `people` who bring a token; `rate_limits` for how much they may send; `accept` for answers |
| the handshake era | `session_endpoint`, with its `sessions` |
| the stateless era | `stateless_endpoint` |
| the way back | `answer`, which becomes one of the `streams` where there is more |
| the pages beside | `status` |

To add a page: a row in `status.PAGES`, and what it says.
"""
