"""Wires the configuration into a running gateway; nothing else knows all parts.

| what | where |
|---|---|
| everything, put together | `application` |
| the process and its signals | `loop` |
| serving, and who may come in | `serving`, `access`; `own_secrets` |
| tools of our own | `families`, `own_tools` |
| servers | `upstreams`, with `logins` to them; `missing_servers` tells agents of those that are not there |
| how servers are, told to whoever asks | `server_rows`, through the `status_socket` |
| editors | `editors` |

To add a guard: a row in `App._guards`. To tell a family its settings: a row in `_MAKERS` of `families`.
"""

from clawft.app.application import App
from clawft.app.loop import run, stop_signal
from clawft.app.own_secrets import gateway_token, token_file

__all__ = ["App", "gateway_token", "run", "stop_signal", "token_file"]
