"""Options of every command: help texts, groups, configs and completion."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
import yaml

from deepphase.apps.cli import command_named
from deepphase.apps.command_line import read_command_line
from deepphase.apps.options import OptionGroup
from deepphase.controllers.config import ControllerConfig
from deepphase.errors import ParameterError
from deepphase.phase.config import PhaseConfig


def _train_phase(*words: str):
    return read_command_line("train phase", command_named("train phase"), ["x", "-o", "y", *words])


def test_keys_of_the_config_are_set():
    words = ["--config", "paper", "--set", "network.channels=3", "--set=training.seed=2"]
    config = _train_phase(*words).arguments["config"]
    assert (config.network.channels, config.training.seed) == (3, 2)


@pytest.mark.parametrize(
    ("words", "fact"),
    [
        (["--set", "seed=1"], r"the form SECTION\.KEY=VALUE"),
        (["--set"], "--set: expected one argument"),
        (["--set", "training.seed=x"], "--set is refused: .*training.seed must be int, not 'x'"),
        (["--set", "training.seeds=1"], "--set is refused: .*unknown key 'seeds' in training"),
        (["--training.seed", "1"], r"unrecognized arguments: --training\.seed"),
    ],
)
def test_wrong_changes_of_the_config_are_named(words, fact):
    with pytest.raises(ParameterError, match=fact) as caught:
        _train_phase(*words)
    assert caught.value.path is None


@dataclass(frozen=True)
class Feet(OptionGroup):
    """Feet on the floor.

    Parameters
    ----------
    foot_ik
        Hold feet during contacts.
    """

    foot_ik: bool = True


@dataclass(frozen=True)
class MoreFeet(Feet):
    """Feet and hands.

    Parameters
    ----------
    hands
        Number of hands.
    """

    hands: int = 2


def command(
    clip: Path,
    output: Path,
    onnx: bool = True,
    csv: bool = False,
    blend: Literal["soft", "hard"] = "soft",
    size: tuple[float, float] | None = None,
    feet: MoreFeet = MoreFeet(),
) -> None:
    """Do something.

    Parameters
    ----------
    clip
        A clip.
    output
        A file.
    onnx
        Write ONNX.
    csv
        Write CSV.
    blend
        Blending.
    size
        Width and depth.
    """


def _read(*words: str):
    return read_command_line("control", command, ["a.bvh", "-o", "b", *words])


def test_parameters_are_options_and_switches_keep_their_default():
    assert _read().arguments == {
        "clip": Path("a.bvh"),
        "output": Path("b"),
        "onnx": True,
        "csv": False,
        "blend": "soft",
        "size": None,
        "feet": MoreFeet(),
    }
    read = _read(
        "--no-onnx", "--csv", "--no_foot_ik", "--hands", "3", "--size", "1", "-2"
    ).arguments
    assert (read["onnx"], read["csv"], read["size"]) == (False, True, [1.0, -2.0])
    assert read["feet"] == MoreFeet(foot_ik=False, hands=3)


@pytest.mark.parametrize(
    ("name", "configs", "option"),
    [
        ("train phase", PhaseConfig, ["--set=training.windows=1000"]),
        ("train controller", ControllerConfig, ["--config", "vinn", "--set=network.redraw=frame"]),
    ],
)
def test_a_printed_config_is_read_again(name, configs, option, tmp_path):
    function, words = command_named(name), ["store", "-o", "model"]
    call = read_command_line(name, function, [*option, "--print-config"])
    file = tmp_path / "mine.yaml"
    file.write_text(call.config)
    again = read_command_line(name, function, [*words, "--config", str(file)])
    direct = read_command_line(name, function, [*words, *option])
    assert again.arguments == direct.arguments
    assert (
        configs.load(file).as_mapping()
        == configs.from_mapping(yaml.safe_load(call.config)).as_mapping()
    )
