"""Restricts what child processes can touch, by the means this machine has. No root, no daemon, no container.

| what | where |
|---|---|
| what a child may touch | `bounds`, with `home_places` and where its `program` lies; `settled_rules` for this disk |
| what of a workspace nobody but a person writes | `autorun_files`; what of it lies further down: `autorun_search` |
| what holds it | `probe` finds the means, `means` remembers them: `bwrap` or `landlock`, `seccomp`, `split_folder` |
| a command to start | `cell` puts both together, with its `pipes` and a `temporary` folder |
| secrets that lie outside of its home folder | `account_secrets` |
| whether its walls stand where they were meant to | `walls` |
| a network of a few hosts | `egress_proxy`, whose socket is opened inside by `proxy_socket` |
| what it was approved with, and whether that was touched | `pinned_file` |
| its end | `group`, `removal` |
| what a run needed | `observed_run`, and the `proposal` made of it |

`landlock` and `proxy_socket` run inside, as programs of their own, and import nothing of ours. To add a means: a level
of `probe.Means` and its way to start in `cell.Cell`.
"""
