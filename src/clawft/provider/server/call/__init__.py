"""Tool calls on their way to a server and back.

`server_calls` takes a call in: as a `plain_call` that needs no task, or by the `slow_path`. `tasks` is an answer that
comes later, `news` how it is getting on, `refusal` what went wrong.
"""
