"""Our server, the official SDK's server and the floor under both: the same tool, the same load, one interleaved run."""
