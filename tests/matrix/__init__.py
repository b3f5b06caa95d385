"""Any agent to any server: one automatic test for each kind of message, pair of eras and transport."""
