"""The wishes of callers to hear from a server, and how each era is told of them.

`interest` is what they want; `subscriber` keeps the server told: by `subscriptions` in the handshake era, by one
`listen` in the stateless one.
"""
