"""A server of one era over one transport, in plain Python without our package, that shows what reached it."""
