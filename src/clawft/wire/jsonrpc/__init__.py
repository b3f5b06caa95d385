"""JSON-RPC: bytes to messages and back.

| what | where |
|---|---|
| the four messages, and what an id is | `messages` |
| one message, read | `reading`; `duplicates` finds a key that occurs twice |
| several in one array | `batches` |
| what a message that cannot be read was meant as | `likely` |
| one message, written | `writing` |
"""
