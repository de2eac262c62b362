"""`deepphase live`."""

from __future__ import annotations

import errno
import signal
import webbrowser
from contextlib import suppress
from pathlib import Path

from deepphase.apps.options import chosen_ground
from deepphase.apps.terminal import next_step, note, note_shipped, warn
from deepphase.shipped import SHIPPED


def command(
    source: Path | None = None,
    port: int | None = None,
    browser: bool = True,
    body: Path | None = None,
    terrain: str | None = None,
) -> None:
    """Open a page in the browser in which a character is steered by hand.

    Keys, mouse, gamepad or touch steer it, at the controller's 60 frames per second; the page shows
    phases, manifold and weights, and saves what was driven as BVH, glb and WebM. It accepts
    connections from this machine only. Ctrl-C ends it.

    Parameters
    ----------
    source
        Controller or matcher, or a folder of them, from which the page lets you choose. If
        not given, a shipped person walks and runs, and a dog is offered.
    port
        Port to listen on; the first free one from 8601 if not given.
    browser
        Print the address only, and leave the browser closed.
    """
    from deepphase.apps.hosts import HOST, free_port
    from deepphase.apps.live.server import LiveServer
    from deepphase.apps.live.sources import live_sources

    sources = live_sources(source)
    chosen = chosen_ground(terrain)
    first = next(iter(sources.values()))
    folder = source or Path()
    folder = folder if folder.is_dir() else folder.parent
    server = None
    while server is None:
        try:
            server = LiveServer(free_port(port, 8601), sources, body, chosen, folder)
        except OSError as error:
            # Another server may have begun meanwhile.
            if error.errno != errno.EADDRINUSE:
                raise
    address = f"http://{HOST}:{server.server_address[1]}"
    # Ctrl-C is the ordinary end of the server, and SIGTERM ends it the same way.
    # In the background of a script, SIGINT is ignored unless it is asked for.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    with server, suppress(KeyboardInterrupt):
        # Read before the address is printed, so that errors are printed here.
        server.page("/")
        if source is None:
            note_shipped(SHIPPED["person"], "a character ")
        note(f"open {address}  (Ctrl-C ends it)")
        if browser and not webbrowser.open(address):
            warn("no browser was found: open the address yourself")
        server.serve_forever(poll_interval=0.2)
    note("the page has ended")
    next_step("export", first, "--web", "-o", f"{first.stem}.html")
