"""Logins: ours to servers and services, and those of people who come to us with a token.

| who logs in | where |
|---|---|
| we, to a server | `server_login`: from its refusal (`challenge`), by `discovery`, `register` and `flow`, to a token |
| a person, to a service | `desk`: through a browser (`flow`, `receiver`), by a code (`device`), or as a program |
| a person, to us | `bearer` proves who they are; `token_exchange` gets tokens in their name |

`vault` keeps logins, `renew` renews them. Every word to an authorization server goes through `web`. To add a service
that everybody uses: a row in `presets.PRESETS`.
"""
