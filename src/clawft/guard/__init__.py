"""Guards: steps around every call, each of which may answer the call, refuse it, or look at the reply.

| what | where |
|---|---|
| how they are composed | `pipeline`; what they do besides guarding calls: `side_duties` |
| who may see and call what | `permission` |
| what the person has to approve first | `approval` |
| what could do harm after untrusted text was read | `exposure` |
| commands and addresses in arguments | `security`; `security_question` asks a person, `security_explained` tells one |
| what comes back | `result`, with `shortening`; `redaction` |
| what is written down | `audit`, as `audit_lines` |
| what editors hold unsaved, and hear of what is written | `editors` |
| a question of a guard's own | `asking` |

To add one: a class here, and a row in `App._guards`, outermost first.
"""
