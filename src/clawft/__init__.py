"""clawft: the tool fabric between AI agents and everything they may touch."""
