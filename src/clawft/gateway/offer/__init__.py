"""The tools, resources and prompts of all providers, as each caller may see them.

| what | where |
|---|---|
| each kind | `tools`, `resources`, `prompts`; what they have in common is the `basis` |
| what tools are found by | `indexes` |
| who offers it | `roster`, of each `registered_provider`; `personal` for what single people have |
| lists as bytes | `listing`, page by page from one `bookmark` to the next |
| the guards around a call to a provider | `guarded_chains` |
| URIs that several have | `shared_uris` |
"""
