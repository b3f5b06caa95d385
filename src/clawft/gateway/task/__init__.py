"""Calls that outlive their request (MCP tasks), in the form of each protocol version.

`tasks` are those we run; `followed_tasks` adds those that servers keep, found again by `handles`; `task_news` reports
their changes. `older_tasks` is the form of 2025-11-25.
"""
