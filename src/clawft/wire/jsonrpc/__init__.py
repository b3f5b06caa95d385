"""JSON-RPC: bytes to messages and back.

| what | where |
|---|---|
| the four messages, and what an id is | `messages` |
| one message, read | `reading`; `duplicates` finds a key that occurs twice |
| several in one array | `batches` |
| what a message that cannot be read was meant as | `likely`; `unreadable`: whoever waits for it |
| a list that cannot be read as a whole, without what keeps it from that | `salvage` |
| one message, written | `writing` |
"""
