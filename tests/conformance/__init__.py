"""The official conformance suite against our own endpoint: the fixture it calls, and the runner that counts."""
