"""Our server and our gateway, those of others, and the floor under all: the same tool and load, one interleaved run."""
