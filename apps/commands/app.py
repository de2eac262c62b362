"""`deepphase app`."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

from deepphase.apps.hosts import HOST, free_port
from deepphase.apps.terminal import next_step, note

# Settings of Streamlit: no telemetry, and no connections from other machines.
_SETTINGS = {
    "server.address": HOST,
    "server.headless": True,
    "server.fileWatcherType": "none",
    "server.runOnSave": False,
    "server.maxUploadSize": 256,
    "server.enableStaticServing": False,
    "server.enableXsrfProtection": True,
    "server.enableCORS": True,
    "browser.gatherUsageStats": False,
    "client.toolbarMode": "viewer",
    # A browser drops what it has not drawn for so many runs, though one that it has just asked for
    # may refer to it: with two runs, quick clicks from clip to clip stopped the page.
    "global.maxCachedMessageAge": 32,
    # Tracebacks are printed in the terminal, not on the page.
    "client.showErrorDetails": "none",
    "logger.level": "warning",
}


def command(folder: Path | None = None, port: int | None = None) -> None:
    """Open the dashboard in the browser: clips, phases, the manifold, matching and control.

    It shows the stores, models, databases and controllers of a folder, or its motion files;
    without a folder, samples of the shipped person, dancer and dog, which it makes once. It accepts
    connections from this machine only, and asks no other machine for anything. Ctrl-C ends it.

    Parameters
    ----------
    folder
        Folder to show.
    port
        Port to listen on; the first free one from 8501 if not given.
    """
    # Wrong paths are refused before Streamlit is imported.
    from deepphase.apps.dashboard.parts.folder import FOLDER_VARIABLE
    from deepphase.apps.dashboard.parts.widgets import THEME

    free_port(port, 8501)
    samples = None
    if folder is None:
        from deepphase.apps.samples import sample_folder

        note("the shipped person walks")
        folder = samples = sample_folder()
    os.environ[FOLDER_VARIABLE] = "" if folder is None else str(folder.absolute())
    _serve({**_SETTINGS, **THEME}, port, samples)


def _serve(settings: dict[str, object], port: int | None, samples: Path | None) -> None:
    from streamlit.web import bootstrap

    from deepphase.apps.dashboard.entry import warm_up
    from deepphase.apps.samples import fill_samples

    note("starting the dashboard")
    script = Path(__file__).parent.parent / "dashboard" / "script" / "run.py"
    # Streamlit reads settings in the working folder, which may be anybody's.
    os.chdir(script.parent)
    # The options of Streamlit's command line, which have underscores instead of dots.
    options = {name.replace(".", "_"): value for name, value in settings.items()}
    bootstrap.load_config_options(flag_options=options)
    # Imports and the first phases take seconds, so they are done before the address is printed.
    warm_up()
    # Another dashboard, whose address this would be, may have begun meanwhile.
    options["server_port"] = port = free_port(port, 8501)
    bootstrap.load_config_options(flag_options=options)
    note(f"open http://{HOST}:{port}  (Ctrl-C ends it)")
    if samples is not None:
        # It ends with the server; the next one goes on.
        get_context("spawn").Process(target=fill_samples, args=(samples,), daemon=True).start()
    # Ctrl-C is the ordinary end of the server. SIGTERM ends it the same way, so that the files of
    # its sessions are removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    hangup = getattr(signal, "SIGHUP", signal.SIGTERM)
    if signal.getsignal(hangup) not in (signal.SIG_IGN, signal.default_int_handler):
        # Uvicorn waits for the other two.
        signal.signal(hangup, lambda *_: signal.raise_signal(signal.SIGTERM))
    with suppress(KeyboardInterrupt):
        bootstrap.run_asgi_app(
            str(script), "deepphase.apps.dashboard.script.server:app", [], options
        )
    note("the dashboard has ended")
    next_step("inspect", "FOLDER")
