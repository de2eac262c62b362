"""Audit hook for the processes of a started dashboard: attempts to reach other machines are
recorded in the file that `LOOPBACK_LOG` names, and refused."""

import os
import sys

_OWN = ("127.0.0.1", "::1", "localhost", "", None)


def _refuse(event: str, arguments: tuple) -> None:
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        host = arguments[0][0] if isinstance(arguments[0], tuple) else arguments[0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if host not in _OWN:
        with open(os.environ["LOOPBACK_LOG"], "a", encoding="utf-8") as log:
            log.write(f"{event} {host}\n")
        raise OSError(f"{host} is another machine")


sys.addaudithook(_refuse)
