"""The wheel: what it installs, and that it runs beside wheels with modules of any name."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from deepphase.packages import PACKAGE

ROOT = Path(__file__).parent.parent
BESIDE = ("apps", "configs", "controllers", "matching")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A folder with the unpacked wheel."""
    pytest.importorskip("hatchling")
    built, site = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)]
    subprocess.run(build, check=True, capture_output=True, cwd=ROOT)
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        wheel.extractall(site)
    return site


@pytest.mark.slow
def test_one_name_is_installed(site):
    names = {path.name for path in site.iterdir()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"deepphase"}
    assert len(names) == 2


@pytest.mark.slow
def test_every_file_is_in_the_wheel(site):
    folders = {name: PACKAGE.parent / name for name in BESIDE} | {".": PACKAGE}
    for name, folder in folders.items():
        listed = subprocess.run(["git", "ls-files"], cwd=folder, capture_output=True, text=True)
        for file in listed.stdout.splitlines():
            installed = site / "deepphase" / name / file
            assert installed.read_bytes() == (folder / file).read_bytes(), file


@pytest.mark.slow
def test_it_runs_beside_modules_of_the_same_names(site):
    for name in (*BESIDE, "tests"):
        (site / f"{name}.py").write_text(f"raise AssertionError('{name} of another wheel')")
    code = "import sys; from deepphase.apps.cli import main; sys.exit(main(['doctor']))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        cwd=site,
        env=os.environ | {"PYTHONPATH": str(site)},
    )
    assert done.returncode == 0, done.stderr
    assert f"deepphase is imported from {site / 'deepphase'}" in done.stdout
