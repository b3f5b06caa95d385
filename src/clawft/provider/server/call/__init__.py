"""Tool calls on their way to a server and back.

`server_calls` takes a call in: as a `plain_call` that needs no asyncio task, or by the `slow_path`. `task_calls` are
those that the server runs as tasks, `task_requests` what is sent about them, and `tasks` serves agents that follow them
by themselves. `news` is what the server reports meanwhile, `refusal` what went wrong.
"""
