"""Calls that outlive their request, in the form of each era.

`tasks` are those we run; `followed_tasks` are these and those that servers keep, found again by `handles`; `task_news`
tells of them. `older_tasks` is the way of 2025-11-25.
"""
