"""One conversation with a server: how it is opened, what the server says of itself, requests and answers."""
