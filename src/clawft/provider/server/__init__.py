"""The tools, resources and prompts of external servers, relayed as bytes, with the questions servers ask meanwhile.

| what | where |
|---|---|
| servers that come and go | `server_providers`; each is a `server_provider`, or a `personal_server` for people |
| what all requests to one of them share | `relayed_server`; an `attempt` to have one answered |
| calls | `call`, in the bytes of `relay` |
| questions on the way | `question` |
| what else a server says meanwhile | `log_messages`, `progress_following`, read by `notices` |
| what it has beside its tools | `server_reads`, with `resource_lists`, `kept_reads` and `completion` |
| logins to it | `logins`, `login_offers` |
| servers for programs and agents | `connect_server`, `client`, the `view` of a result |
"""
