"""`deepphase app`."""

from __future__ import annotations

import os
import signal
import socket
from contextlib import suppress
from pathlib import Path

from deepphase.apps.dashboard.parts.folder import FOLDER_VARIABLE
from deepphase.apps.hosts import HOST_NAMES_VARIABLE
from deepphase.apps.hosts import host_names as read_host_names
from deepphase.apps.terminal import next_step, note
from deepphase.errors import FormatError, ParameterError

_HOST, _PORT, _PORTS_TRIED = "127.0.0.1", 8501, 50
# Settings of Streamlit: no telemetry, and no connections from other machines.
_SETTINGS = {
    "server.address": _HOST,
    "server.headless": True,
    "server.fileWatcherType": "none",
    "server.runOnSave": False,
    "server.maxUploadSize": 64,
    "server.enableStaticServing": False,
    "browser.gatherUsageStats": False,
    "client.toolbarMode": "viewer",
    # Tracebacks are printed in the terminal, not on the page.
    "client.showErrorDetails": "none",
    "logger.level": "warning",
}


def command(folder: Path | None = None, port: int | None = None) -> None:
    """Open the dashboard in the browser: clips, phases, the manifold, matching and control.

    It shows the stores, models, databases and controllers of a folder, or its motion files;
    without a folder, synthetic motion and small models that come with the program. It accepts
    connections from this machine only, and asks no other machine for anything. Ctrl-C ends it.
    The environment variable DEEPPHASE_APP_HOST_NAMES has further names under which a browser may
    reach it, separated by commas, as through a tunnel: NAME, or NAME:PORT for one port only.

    Parameters
    ----------
    folder
        Folder to show.
    port
        Port to listen on; the first free one from 8501 if not given.
    """
    from deepphase.apps.dashboard.parts.theme import THEME

    if folder is not None and not folder.is_dir():
        raise FormatError(
            "not a folder" if os.path.exists(folder) else "no such folder",
            hint="give a folder with stores, models or motion files, or leave it out for the demo",
            path=folder,
        )
    names = read_host_names(os.environ.get(HOST_NAMES_VARIABLE, ""))
    port = _free_port(port)
    os.environ[HOST_NAMES_VARIABLE] = ",".join(names)
    os.environ[FOLDER_VARIABLE] = "" if folder is None else str(folder.absolute())
    _serve({**_SETTINGS, **THEME, "server.port": port}, port)


def _free_port(requested: int | None) -> int:
    if requested is not None and not 1 <= requested <= 65_535:
        raise ParameterError(f"--port must lie in 1 to 65535, not {requested}")
    tried = [requested] if requested is not None else range(_PORT, _PORT + _PORTS_TRIED)
    for port in tried:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            # Set as by the server: a port that was just released counts as free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((_HOST, port))
            except (OSError, OverflowError):
                continue
            return port
    raise ParameterError(
        f"port {requested} is in use" if requested is not None else f"no free port from {_PORT}",
        hint="choose another: --port N",
    )


def _serve(settings: dict[str, object], port: int) -> None:
    from streamlit.web import bootstrap

    from deepphase.apps.dashboard.entry import warm_up

    note("starting the dashboard")
    script = Path(__file__).parent.parent / "dashboard" / "script" / "run.py"
    # The options of Streamlit's command line, which have underscores instead of dots.
    options = {name.replace(".", "_"): value for name, value in settings.items()}
    bootstrap.load_config_options(flag_options=options)
    # Imports and the first phases take seconds, so they are done before the address is printed.
    warm_up()
    note(f"open http://{_HOST}:{port}  (Ctrl-C ends it)")
    # Ctrl-C is the ordinary end of the server. SIGTERM ends it the same way, so that the files of
    # its sessions are removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        bootstrap.run_asgi_app(
            str(script), "deepphase.apps.dashboard.script.server:app", [], options
        )
    note("the dashboard has ended")
    next_step("inspect", "FOLDER")
