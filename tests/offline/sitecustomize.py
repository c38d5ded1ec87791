"""No network in tests: any Python that finds this file first refuses to leave the machine.

Python imports it at its start where `PYTHONPATH` has its folder, as `conftest.py` sees to: the
processes that tests start are guarded as well. The hook hears of sockets whatever library opens
them, and cannot be taken out again.
"""

import ipaddress
import socket
import sys

REFUSED: list[str] = []  # a library may swallow the error, the list stays
EVENTS = {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo",
          "socket.gethostbyname"}  # fmt: skip


class NetworkError(RuntimeError):
    """Something wants to leave the machine."""


def guard(event: str, args: tuple) -> None:
    if event in EVENTS:
        address = args[0] if event.startswith("socket.get") else args[1]
        if event == "socket.connect" and args[0].type & socket.SOCK_DGRAM:
            return  # sends nothing: how Dask asks the system for its own address
        host = address[0] if isinstance(address, tuple) else address
        if isinstance(host, bytes):
            host = host.decode(errors="replace")
        if not is_local(host):
            REFUSED.append(f"{event} {host}")
            raise NetworkError(f"tests do not use the network, but {event} wants {host!r}.")


def is_local(host: object) -> bool:
    """This machine: loopback, its own name, a Unix socket, or nothing at all."""
    if not host or not isinstance(host, str) or host.startswith(("/", "\0")):
        return True
    if host in ("localhost", socket.gethostname(), "0.0.0.0", "::"):
        return True
    try:
        return ipaddress.ip_address(host.split("%")[0]).is_loopback
    except ValueError:
        return False


sys.addaudithook(guard)
