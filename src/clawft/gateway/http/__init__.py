"""The gateway over HTTP: who may enter, sessions of the handshake era, single requests of the stateless one."""
