"""Language servers in place of an editor. To add one: a row in `server_table.SERVERS`.

`backend` answers as an editor would; `running_servers` starts servers, `server` is one of them, `rpc` the pipe to it,
with its `messages`, of which `introduction` is the first, and `cell` what holds it. `documents` are its texts,
`file_diagnostics` what it said of them, and `settling` decides whether that describes them as they are. `watch` finds
the files that others change.
"""
