"""The build family: runs builders, reads their lines as they come, and parses what they report.

| what | where |
|---|---|
| the family, and what it may touch | `tools`, `family` |
| what a workspace declares | `tasks`; `task` runs one |
| one run | `run`: at its `run_place`, as a `child`, with its `log` |
| what is read | `runner` says who reads what: `junit`, `jest`, `plain`; a `report` comes of it |
| what is given back | `output`, as much as there is `report_limit` for, made to `shortening` |

To add a builder: a row in `runner.RUNNERS`, and a parser beside `plain`.
"""
