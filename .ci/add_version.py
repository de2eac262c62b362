"""Addition of the pages of one version to those of all: `add_version.py SITE PAGES v1.2.3`."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

_VERSION = re.compile(r"v(\d+)\.(\d+)\.(\d+)")
_ROOT = """<!doctype html>
<meta http-equiv="refresh" content="0; url=stable/">
<a href="stable/">deepphase</a>
"""


def add_version(site: Path, pages: Path, version: str) -> None:
    """Copy the built `site` into `pages`/`version`, and write the list and `stable` again.

    `stable` is the newest version without a suffix, such as that of `v1.0.0rc1`; if there is none,
    this version.
    """
    if not re.fullmatch(r"v[\w.]+", version):
        raise SystemExit(f"{version} is not a version: tag it as v1.2.3")
    target = pages / version
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(site, target)
    found = sorted((path.name for path in pages.glob("v*/")), key=_order, reverse=True)
    stable = next((name for name in found if _VERSION.fullmatch(name)), version)
    shutil.rmtree(pages / "stable", ignore_errors=True)
    shutil.copytree(pages / stable, pages / "stable")
    (pages / "versions.json").write_text(json.dumps(["stable", *found]))
    (pages / "index.html").write_text(_ROOT)
    # Folders with underscores are pages, too.
    (pages / ".nojekyll").touch()


def _order(name: str) -> tuple[list[int], bool, str]:
    numbers = [int(each) for each in re.findall(r"\d+", name)[:3]]
    return numbers, _VERSION.fullmatch(name) is not None, name


if __name__ == "__main__":
    add_version(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
