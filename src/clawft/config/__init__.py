"""Reads the configuration, from files and options, into settings and servers.

| what | where |
|---|---|
| settings | `keys` names every `key` (`delegation` its own), `load` reads and merges, `settings` is the outcome |
| where things are | `places` |
| servers | `servers` merges the `layers` that `toml_servers` and `json_servers` read |
| one of them | `entry` reads it, `entry_rules` judge it |
| while we run | `watch` looks for changes; `follow` applies those of servers, `edited_settings` tells of the others |
| approval of servers | `launch_approval`, with what is pinned in `scripts` and `named_scripts` |
| other programs' files | `jsonc`, `mcp_config`; `other_programs` says where servers stand and how they are spelled |
| import | `imports` finds servers, `cleared_entry` takes their secrets out |
| files that we write | `server_text` |
| what is not shown | `secrecy` |

To add a key: a row in `keys.KEYS` and the field of `Settings` it fills.
"""
