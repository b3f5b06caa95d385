"""A whole task, handed to somebody: who gets it, how it is run with our tools, and what bounds it has.

| what | where |
|---|---|
| who takes a task, and has it done | `delegator`; `tool` for agents |
| who gets one | `rules`, with patterns that cannot hang (`pattern`) |
| who could | `claude`, `openai`, `flow`, `local`, `scripted_model` |
| one run | `loop`: `turns`, the `prompt`, a `budget`, `events`, a `transcript` |
| the calls of a model | `executor`, of the tools in `toolbox` |
| a model's API | `sdk`, `http_client`, `event_stream`, `retry`, the `key` |
| a script as an API | `scenario`, `endpoint`, `messages_api`, `chat_api` |

To add a model: a class like `claude.Claude`, its target in `policy.delegation`, and a case in `Delegator._model`.
"""
