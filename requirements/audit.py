"""Audit of the lists in this folder for known vulnerabilities, by pip-audit: `make audit`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
LISTS = ("build", "torch", "all")


def audit() -> int:
    """Print the vulnerabilities of all listed releases.

    Returns
    -------
    Exit status: 0 if every release was audited and none has an advisory, otherwise 1.
    """
    lists = [word for name in LISTS for word in ("--requirement", str(FOLDER / f"{name}.txt"))]
    command = ["pip-audit", "--disable-pip", "--require-hashes", "--progress-spinner", "off"]
    done = subprocess.run([*command, "--format", "json", *lists], capture_output=True)
    try:
        releases = json.loads(done.stdout)["dependencies"]
    except ValueError:
        reason = done.stderr.decode().strip().splitlines() or ["no output"]
        print(f"make audit: the advisories cannot be read: {reason[-1]}", file=sys.stderr)
        return 1
    skipped = [each["name"] for each in releases if "skip_reason" in each]
    found = [
        (each["name"], each["version"], advisory["id"], ", ".join(advisory["fix_versions"]))
        for each in releases
        for advisory in each.get("vulns", ())
    ]
    for name, version, advisory, fixed in found:
        print(f"{name} {version}: {advisory}, fixed in {fixed or 'no release yet'}")
    if skipped:
        print(
            f"make audit: {len(skipped)} of {len(releases)} releases have no advisories here, as "
            f"{skipped[0]}; it needs a connection to the Python Package Index itself, whose JSON "
            "pages hold them",
            file=sys.stderr,
        )
        return 1
    print(f"{len(releases)} releases, {len(found)} known vulnerabilities")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(audit())
