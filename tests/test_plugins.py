"""Plug-ins: an installed package adds a format, an autoencoder, a network and a page."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from deepphase.checkout import PACKAGE
from deepphase.formats.load import load, save
from tests.corpus.made_clips import made_clip

MODULE = """
import torch
from dataclasses import dataclass
from deepphase.apps.dashboard.pages import PageEntry
from deepphase.controllers.networks.network import ControllerNetwork, ControllerNetworkConfig
from deepphase.controllers.networks.registry import NetworkKind
from deepphase.formats.bvh.reader import load_bvh
from deepphase.formats.load import MotionFormat
from deepphase.phase.networks.sine_fit_autoencoder import SineFitAutoencoder

FORMAT = MotionFormat("BVH by another name", load_bvh, "deepphase.formats.bvh.writer:save_bvh")
PAGE = PageEntry("Mine", ":material/star:", "plugged.page")

class Tanh(SineFitAutoencoder):
    pass

@dataclass(frozen=True)
class LinearConfig(ControllerNetworkConfig):
    pass

class Linear(ControllerNetwork):
    pass

LINEAR = NetworkKind(Linear, LinearConfig, "none")
"""
ENTRY_POINTS = """
[deepphase.formats]
.mine = plugged:FORMAT
[deepphase.autoencoders]
tanh = plugged:Tanh
[deepphase.networks]
linear = plugged:LINEAR
[deepphase.pages]
mine = plugged:PAGE
"""


@pytest.fixture
def installed(tmp_path):
    """A function that installs a package in a folder of its own, and one that runs Python there."""

    def install(name: str, entry_points: str, module: str = MODULE) -> None:
        (tmp_path / "plugged.py").write_text(module)
        info = tmp_path / f"{name.replace('-', '_')}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
        (info / "entry_points.txt").write_text(entry_points)

    def run(code: str) -> subprocess.CompletedProcess:
        path = os.pathsep.join([str(tmp_path), str(PACKAGE.parent)])
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": path},
        )

    return install, run


def test_names_of_plug_ins_are_known_without_an_import(installed):
    install, run = installed
    install("motion-extra", ENTRY_POINTS)
    done = run("""
        import sys
        from deepphase.formats.load import MOTION_FORMATS
        from deepphase.phase.config import PhaseConfig, presets
        assert list(MOTION_FORMATS)[-1] == ".mine" and ".mine" in MOTION_FORMATS
        assert presets()[-1] == "tanh"
        assert PhaseConfig.load("default", **{"network.preset": "tanh"})
        assert "plugged" not in sys.modules
        """)
    assert done.returncode == 0, done.stderr


def test_plug_ins_are_used_as_our_own(installed, tmp_path):
    install, run = installed
    install("motion-extra", ENTRY_POINTS)
    made = made_clip(1, 90)
    save(made, tmp_path / "walk.bvh")
    os.rename(tmp_path / "walk.bvh", tmp_path / "walk.mine")
    done = run("""
        import deepphase as dp
        from deepphase.apps.dashboard.pages import PAGES
        from deepphase.controllers.networks.registry import network_kind
        from deepphase.phase.config import NetworkConfig
        from deepphase.phase.networks.presets import make_autoencoder
        clip = dp.load("walk.mine")
        dp.save(clip, "again.mine")
        assert dp.corpus_of("walk.mine").names == ("walk",)
        assert type(make_autoencoder(6, 60.0, NetworkConfig(preset="tanh"))).__name__ == "Tanh"
        assert network_kind("linear").gate == "none"
        assert list(PAGES)[-1] == "mine" and PAGES["mine"].name == "Mine"
        """)
    assert done.returncode == 0, done.stderr
    os.rename(tmp_path / "again.mine", tmp_path / "again.bvh")
    assert load(tmp_path / "again.bvh").skeleton.names == made.skeleton.names


QUITS = "import sys\nsys.exit(3)\n"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("quits:FORMAT", "SystemExit(3)"),
        ("plugged:MISSING", "no attribute 'MISSING'"),
        ("not_there:FORMAT", "No module named 'not_there'"),
        ("plugged:PAGE", "it is a PageEntry, not a MotionFormat"),
    ],
)
def test_errors_name_the_distribution(installed, value, reason, tmp_path):
    install, run = installed
    (tmp_path / "quits.py").write_text(QUITS)
    install("motion-extra", f"[deepphase.formats]\n.mine = {value}\n")
    done = run("import deepphase as dp; dp.load('walk.mine')")
    last = done.stderr[done.stderr.index("errors.ParameterError: ") :]
    assert f"plug-in '.mine' of motion-extra 1.5 (deepphase.formats: {value})" in last
    assert reason in last
    assert "uninstall motion-extra" in last


def test_two_packages_with_one_name_are_refused(installed):
    install, run = installed
    for name in ("motion-extra", "motion-more"):
        install(name, "[deepphase.formats]\n.mine = plugged:FORMAT\n")
    done = run("import deepphase as dp; dp.load('walk.mine')")
    assert "'.mine' is a plug-in of motion-" in done.stderr
    assert "uninstall all but one of them" in done.stderr


def test_doctor_lists_plug_ins_and_what_is_wrong(installed):
    install, run = installed
    broken = "[deepphase.formats]\n.bvh = plugged:FORMAT\n[deepphase.networks]\nn = plugged:NONE\n"
    install("motion-extra", ENTRY_POINTS)
    install("motion-more", broken)
    done = run(
        "import sys; from deepphase.apps.cli import main; sys.exit(main(['doctor', '--json']))"
    )
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert {"name": "tanh", "package": "motion-extra 1.5", "group": "deepphase.autoencoders"} in (
        document["plug_ins"]
    )
    shadowed, missing = document["problems"]
    assert "'.bvh' of motion-more 1.5" in shadowed
    assert "'n' of motion-more 1.5" in missing
