"""`deepphase doctor`."""

from __future__ import annotations

import os
import platform
import shutil
from importlib import metadata

from deepphase.apps.terminal import next_step, note, table
from deepphase.packages import PACKAGE

_REQUIRED = ("torch", "pytorch-lightning", "numpy", "scipy", "plotly", "rich")
# Package -> the extra that installs it.
_OPTIONAL = {"faiss-cpu": "match", "librosa": "dance", "streamlit": "app", "kaleido": "app"}
# Releases that were withdrawn from PyPI.
_WITHDRAWN = {"pytorch-lightning": ("2.6.2", "2.6.3")}
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def command() -> int:
    """Check the installation: versions, devices, missing packages, and its folder.

    Ends with exit status 1 if there is a problem.
    """
    packages = {name: _version(name) for name in ("deepphase", *_REQUIRED, *_OPTIONAL)}
    versions = {"deepphase": packages.pop("deepphase"), "python": platform.python_version()}
    versions |= packages
    missing = [name for name, version in versions.items() if version == "missing"]
    problems = [f"{name} is missing: pip install {name}" for name in missing if name in _REQUIRED]
    for name, withdrawn in _WITHDRAWN.items():
        if versions[name] in withdrawn:
            problems.append(f"{name} {versions[name]} was withdrawn: pip install -U {name}")
    devices, browser = _devices(), chromium()

    table(("package", "version"), list(versions.items()))
    for name in (name for name in missing if name in _OPTIONAL):
        note(f"{name} is not installed: pip install 'deepphase[{_OPTIONAL[name]}]' brings it")
    note("")
    table(("device", "what"), devices)
    note("")
    note(f"deepphase is imported from {PACKAGE}")
    note(f"browser for PNG files: {browser or 'no Chromium or Chrome found: no PNG is written'}")
    for problem in problems:
        note(f"problem: {problem}")
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    note(count if problems else "no problems")
    next_step(*(["doctor"] if problems else ["demo"]))
    return 1 if problems else 0


def chromium() -> str | None:
    """Path of the browser that draws PNG files; None if none is found."""
    return os.environ.get("BROWSER_PATH") or next(filter(None, map(shutil.which, _BROWSERS)), None)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "missing"


def _devices() -> list[tuple[str, str]]:
    import torch

    rows = [("cpu", f"{os.cpu_count()} cores, {torch.get_num_threads()} threads in torch")]
    for index in range(torch.cuda.device_count()):
        memory = torch.cuda.get_device_properties(index).total_memory / 2**30
        rows.append((f"cuda:{index}", f"{torch.cuda.get_device_name(index)}, {memory:.0f} GiB"))
    if torch.backends.mps.is_available():
        rows.append(("mps", "Apple GPU"))
    return rows if len(rows) > 1 else [*rows, ("gpu", "none: training runs on the CPU")]
