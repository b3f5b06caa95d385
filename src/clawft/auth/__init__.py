"""Logins: ours to servers and services, and those of people who come to us with a token.

| who logs in | where |
|---|---|
| we, to a server | `server_login`: from its refusal (`challenge`), by `discovery`, `register` and `flow`, to a token |
| a person, to a service | `interactive_logins`: by browser (`flow`, `redirect_listener`), by a code (`device`) |
| how many may wait for a person | `login_slots` |
| a person, to us | `bearer` proves who they are; `token_exchange` gets tokens in their name, for their `proofs` |
| nobody, to a server that wants people | `no_credentials` |

| what they need | where |
|---|---|
| who we are to a provider, and where it is | `config`, `presets` |
| whose an address is, and where a token may go | `site`, `token_hosts` |
| a word to it | `web`; `endpoint` for tokens, `pkce` for the secrets of one request, `revoke` for the end |
| what is kept | `tokens`, in the `vault`: plain, or under `encryption`, and from one to the other by `login_storage` |
| renewal | `renewal`, which starts `renewal_process`; `background_renewal` while a token is still valid |

To add a service that everybody uses: a row in `presets.PRESETS`.
"""
