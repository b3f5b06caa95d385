"""Runs inside a cell without a network: opens a door to its own loopback, hands it out, then becomes the command.

    python -I -S opening.py DESCRIPTOR PORT COMMAND ARGS…

A socket belongs to the network it was made in, whoever holds it. So nobody has to stay inside to serve it: weft takes
connections from the outside, and looks where each one wants to go. Imports nothing of ours.
"""

import os
import socket
import sys


def main(words: list[str]) -> None:
    descriptor, port, *command = words
    try:
        with socket.socket(fileno=int(descriptor)) as outside, socket.create_server(("127.0.0.1", int(port))) as door:
            socket.send_fds(outside, [b"door"], [door.fileno()])
        os.execv(command[0], command)  # noqa: S606 - becoming the command is what a launcher does
    except OSError as failed:
        sys.exit(f"sandbox: {command[0]} could not be started: {failed}")


if __name__ == "__main__":
    main(sys.argv[1:])
