"""`deepphase doctor`."""

from __future__ import annotations

import os
import platform
import shutil
from importlib import metadata

from deepphase.apps.terminal import Outcome, next_step, note, table
from deepphase.checkout import PACKAGE
from deepphase.plugins import package_of, plug_ins

_REQUIRED = (
    "torch",
    "pytorch-lightning",
    "numpy",
    "scipy",
    "plotly",
    "rich",
)
# Package -> the extra that installs it.
_OPTIONAL = {"faiss-cpu": "match", "librosa": "dance", "streamlit": "app", "kaleido": "app"}
# Releases that were withdrawn from PyPI.
_WITHDRAWN = {"pytorch-lightning": ("2.6.2", "2.6.3")}


def command() -> Outcome:
    """Check the installation: versions, devices, missing packages, plug-ins, and its folder.

    Ends with exit status 1 if there is a problem.
    """
    problems: list[str] = []
    rows = [("deepphase", _version("deepphase")), ("python", platform.python_version())]
    folder = str(PACKAGE)
    for name in _REQUIRED:
        version = _version(name)
        rows.append((name, version))
        if version == "missing":
            problems.append(f"{name} is missing: pip install {name}")
        if version in _WITHDRAWN.get(name, ()):
            problems.append(f"{name} {version} was withdrawn: pip install -U {name}")
    rows += [(name, _version(name)) for name in _OPTIONAL]
    table(("package", "version"), rows)
    for name, extra in _OPTIONAL.items():
        if _version(name) == "missing":
            note(f"{name} is not installed: pip install 'deepphase[{extra}]' brings it")
    devices = _devices()
    note("")
    table(("device", "what"), devices)
    note("")
    note(f"deepphase is imported from {folder}")
    browser = chromium()
    note(f"browser for PNG files: {browser or 'no Chromium or Chrome found: no PNG is written'}")
    plugged, unusable = _plug_ins()
    problems += unusable
    if plugged:
        note("")
        table(("plug-in", "of", "adds to"), plugged)
    for problem in problems:
        note(f"problem: {problem}")
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    note(count if problems else "no problems")
    next_step(*(["doctor"] if problems else ["demo"]))
    return Outcome(
        {
            "versions": dict(rows),
            "folder": folder,
            "devices": [{"device": name, "description": text} for name, text in devices],
            "browser": browser,
            "plug_ins": [
                {"name": name, "package": package, "group": group}
                for name, package, group in plugged
            ],
            "problems": problems,
        },
        status=1 if problems else 0,
    )


def chromium() -> str | None:
    """Path of the browser that draws PNG files; None if none is found."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    return os.environ.get("BROWSER_PATH") or next(filter(None, map(shutil.which, names)), None)


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
    if len(rows) == 1:
        rows.append(("gpu", "none: training runs on the CPU"))
    return rows


def _plug_ins() -> tuple[list[tuple[str, str, str]], list[str]]:
    """Name, package and group of every plug-in, and what is wrong with them."""
    from deepphase.apps.dashboard.pages import PAGES
    from deepphase.controllers.networks.registry import NETWORKS
    from deepphase.formats.load import MOTION_FORMATS
    from deepphase.phase.networks.presets import PRESETS

    rows, problems = [], list[str]()
    for registry in (MOTION_FORMATS, PRESETS, NETWORKS, PAGES):
        rows += [(each.name, package_of(each), registry.group) for each in plug_ins(registry.group)]
        problems += registry.problems()
    return rows, problems
