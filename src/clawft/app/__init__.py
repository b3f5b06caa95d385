"""The one place that wires configuration into a running gateway.

`house` puts everything together; the other modules are its rooms: the process and its signals (`loop`), serving
(`serving`, `access`), secrets of our own (`own_secrets`), tools (`families`, `own_tools`), logins to servers (`logins`)
and editors (`editors`). To add a guard: a row in `App._guards`. To tell a family its settings: a row in `_MAKERS` of
`families`.
"""

from clawft.app.house import App
from clawft.app.loop import run, stop_signal
from clawft.app.own_secrets import gateway_token, token_file
from clawft.app.serving import LOOPBACK

__all__ = ["LOOPBACK", "App", "gateway_token", "run", "stop_signal", "token_file"]
