"""Runs inside a cell without a network: opens the proxy's socket on its loopback, hands it out, becomes the command.

    python -I -S proxy_socket.py DESCRIPTOR PORT COMMAND ARGS…

A socket belongs to the network it was made in, whoever holds it. So nobody has to stay inside to serve it: weft takes
connections from the outside, and looks where each one wants to go. Imports nothing of ours, and `_socket` because what
stands above it in Python takes as long to load as Python itself.
"""

import _socket
import os
import sys

BACKLOG = 64


def main(words: list[str]) -> None:
    descriptor, port, *command = words
    try:
        outside, door = _socket.socket(fileno=int(descriptor)), _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        door.bind(("127.0.0.1", int(port)))
        door.listen(BACKLOG)
        handed = door.fileno().to_bytes(4, sys.byteorder)  # `array` takes 2 ms to load
        outside.sendmsg([b"door"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, handed)])
        outside.close()
        door.close()
        os.execv(command[0], command)  # noqa: S606 - becoming the command is what a launcher does
    except OSError as failed:
        sys.exit(f"sandbox: {command[0]} could not be started: {failed}")


if __name__ == "__main__":
    main(sys.argv[1:])
