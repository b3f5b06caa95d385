"""One conversation with a server: how it is opened, what the server says of itself, requests and answers.

`opening` finds the way, `introduction` the era, `session` is the conversation. `capabilities` is what we say of
ourselves, `peer` what it says of itself, `questions` what it asks; `paging` reads its lists, `mirrored_arguments`
travel as headers too.
"""
