"""Everything that is offered now, under the names agents see: looked up, and never changed. Pure.

| what | where |
|---|---|
| the table of all tools | `snapshot`, made by `building` |
| their names | `names` |
| how much of it is listed | `surface`; `search`, by `words`, finds the rest |
| resources that several owners have | `holdings`, spelled by `uris` |
"""
