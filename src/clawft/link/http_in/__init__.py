"""HTTP/1.1 as we serve it: bytes of a connection to requests of an application, and its answers back."""
