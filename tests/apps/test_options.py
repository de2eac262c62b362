"""Options of every command: help texts, groups, configs and completion."""

from __future__ import annotations

import inspect
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

import pytest
import yaml

from deepphase.apps.cli import COMMANDS, JOBS, command_named, main
from deepphase.apps.options.command_line import (
    Option,
    common_options,
    config_keys,
    options_of,
    read_command_line,
)
from deepphase.apps.options.completion import completion_script
from deepphase.apps.options.groups import ConfigOption, FileOptions, OptionGroup
from deepphase.apps.terminal import Outcome
from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.dance.config import DanceConfig
from deepphase.controllers.networks.registry import NETWORKS
from deepphase.edit.config import EditorConfig
from deepphase.errors import ParameterError
from deepphase.matching.learned.config import LearnedConfig
from deepphase.phase.config import PhaseConfig
from deepphase.phase.extractor import BASELINES
from deepphase.rigs.config import RigConfig

BANNED = re.compile(
    r"\b(told|wish\w*|anew|heard|nobody|whoever|haste|sureness|nearness|of late)\b", re.IGNORECASE
)


def _options(name: str) -> list[Option]:
    return _all_options(command_named(name))


def _all_options(command: Callable[..., Any]) -> list[Option]:
    parameter = inspect.signature(command).parameters.get("config")
    given = None if parameter is None else parameter.default
    keys = config_keys(given.kind.load(given.default)) if given else ()
    return [*options_of(command), *keys, *common_options(command)]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_help_text_of_its_own(name):
    texts = [option.help for option in _options(name)]
    for option in _options(name):
        assert re.match(r"[A-Z0-9].*[.]$", option.help), option
        assert not BANNED.search(option.help), option
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_names_options_with_hyphens(name):
    names = [option.name for option in _options(name)]
    assert len(set(names)) == len(names)
    for option in _options(name):
        for flag in option.flags:
            assert "_" not in flag or "." in flag
    assert not BANNED.search(COMMANDS[name][1])


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_fits_60_lines(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([*name.split(), "--help"])
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) <= 60
    with pytest.raises(SystemExit):
        main([*name.split(), "--help-all"])
    everything = capsys.readouterr().out
    for option in _options(name):
        words = [option.name] if option.positional or option.is_key else option.flags
        for word in words:
            assert re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", everything), option
            assert option.rare or re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", shown), option


def test_every_command_is_of_one_job(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for name in COMMANDS:
        assert len(re.findall(rf"^  {name}  ", shown, re.MULTILINE)) == 1, name
    assert sum(map(len, JOBS.values())) == len(COMMANDS)


def test_keys_of_the_config_are_set(capsys):
    words = ["--config", "paper", "--set", "network.channels=3", "--set=training.seed=2"]
    config = _train_phase(*words).arguments["config"]
    assert (config.network.channels, config.training.seed) == (3, 2)
    for wrong in (["--set", "seed=1"], ["--set", "training.seed"]):
        with pytest.raises(ParameterError, match=r"the form SECTION\.KEY=VALUE"):
            _train_phase(*wrong)
    with pytest.raises(ParameterError, match="--set: expected one argument"):
        _train_phase("--set")


def _train_phase(*words: str):
    return read_command_line("train phase", command_named("train phase"), ["x", "-o", "y", *words])


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ("training.seed=x", "training.seed must be int, not 'x'"),
        ("training.seed=2001-13-45", "training.seed must be int, not '2001-13-45'"),
        ("training.seeds=1", "unknown key 'seeds' in training"),
        ("trainings.seed=1", "unknown key 'trainings' in the config"),
        ("network.channels=-1", "channels must lie in 0"),
    ],
)
def test_a_wrong_change_of_the_config_is_said_of_set(change, fact):
    with pytest.raises(ParameterError, match=f"--set is refused: .*{fact}") as caught:
        _train_phase("--set", change)
    assert caught.value.path is None


@pytest.mark.parametrize("words", [["--training.windows", "5"], ["--training.windows=5"]])
def test_keys_are_no_flags(words):
    with pytest.raises(ParameterError, match=r"no option --training\.windows") as caught:
        _train_phase(*words)
    assert "--set training.windows=5" in caught.value.hint


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_explains_its_sizes(name):
    given = ConfigOption("deepphase.controllers.config:ControllerConfig", name)

    def command(config: Any = given) -> None: ...

    options = [each for each in _all_options(command) if each.name.startswith("network.")]
    assert options
    for option in options:
        assert re.match(r"[A-Z].*[.]$", option.help), option
        assert not BANNED.search(option.help), option


def test_choices_of_options_are_those_of_the_library():
    method = get_type_hints(command_named("fit phases"))["method"]
    assert set(get_args(method)) == set(BASELINES)


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
    gamepad: Path | None = None,
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
    gamepad
        Recorded gamepad.
    """


def _read(*words: str, name: str = "control"):
    return read_command_line(name, command, ["a.bvh", "-o", "b", *words])


def test_a_switch_keeps_its_default():
    assert _read().arguments == {
        "clip": Path("a.bvh"),
        "output": Path("b"),
        "onnx": True,
        "csv": False,
        "blend": "soft",
        "gamepad": None,
        "feet": MoreFeet(),
    }
    read = _read("--no-onnx", "--csv", "--no_foot_ik", "--hands", "3").arguments
    assert (read["onnx"], read["csv"]) == (False, True)
    assert read["feet"] == MoreFeet(foot_ik=False, hands=3)
    with pytest.raises(ParameterError, match="unrecognized arguments: --onnx"):
        _read("--onnx")


def test_groups_stand_under_a_heading_with_choices(capsys):
    with pytest.raises(SystemExit):
        _read("--help")
    shown = capsys.readouterr().out
    assert "--blend {soft,hard}" in shown
    own, _, grouped = shown.partition("Feet and hands:")
    assert "--no-foot-ik" in grouped
    assert "--hands" in grouped
    assert "--no-onnx" in own
    assert shown.startswith("usage: deepphase control clip -o OUTPUT [options]\n")


def test_a_wrong_choice_names_the_choices():
    with pytest.raises(ParameterError, match="--blend: expected one of 'soft', 'hard', not x"):
        _read("--blend", "x")
    with pytest.raises(ParameterError, match="--hands: expected a whole number, not x"):
        _read("--hands", "x")


@pytest.mark.parametrize(
    ("name", "configs", "option"),
    [
        ("train phase", PhaseConfig, ["--set=training.windows=1000"]),
        ("train controller", ControllerConfig, ["--config", "vinn", "--set=network.redraw=frame"]),
        ("train dance", DanceConfig, ["--set=network.experts=3"]),
        ("train editor", EditorConfig, ["--set=network.width=64"]),
        ("train matching", LearnedConfig, ["--set=network.width=64"]),
        ("train rig", RigConfig, ["--set=network.hidden=64"]),
    ],
)
def test_a_printed_config_is_read_again(name, configs, option, tmp_path):
    command, words = command_named(name), ["store", "-o", "model"]
    call = read_command_line(name, command, [*option, "--print-config"])
    file = tmp_path / "mine.yaml"
    file.write_text(call.config)
    again = read_command_line(name, command, [*words, "--config", str(file)])
    direct = read_command_line(name, command, [*words, *option])
    assert again.arguments == direct.arguments
    # It is a config as the library reads it.
    assert (
        configs.load(file).as_mapping()
        == configs.from_mapping(yaml.safe_load(call.config)).as_mapping()
    )


def test_file_options_name_the_keywords_of_the_library():
    options = FileOptions(unit="cm", file_fps=30.0)
    assert options.reader == {"unit": "cm", "fps": 30.0}
    assert FileOptions().reader == {}
    assert options.preparation == {
        "unit": "cm",
        "up": None,
        "file_fps": 30.0,
        "description": None,
    }


def test_a_document_is_json_without_nan():
    document = {"a": float("nan"), "b": [1.5, float("inf")], "c": ({"d": None},)}
    assert yaml.safe_load(Outcome(document).text()) == {
        "a": None,
        "b": [1.5, None],
        "c": [{"d": None}],
    }


_FUNCTIONS = {name: (command_named(name), text) for name, (_, text) in COMMANDS.items()}


@pytest.fixture(scope="module")
def bash_completion(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "deepphase.bash"
    path.write_text(completion_script("bash", _FUNCTIONS))
    return path


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["deepphase", "insp"], {"inspect"}),
        (
            ["deepphase", "train", ""],
            {"phase", "controller", "dance", "editor", "matching", "path", "rig"},
        ),
        (["deepphase", "train", "phase", "--file"], {"--file-fps"}),
    ],
)
def test_bash_completes(bash_completion, words, expected):
    listed = " ".join(f"'{word}'" for word in words)
    script = (
        f"source {bash_completion}; COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; "
        '_shtab_deepphase; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert set(done.stdout.split()) == expected, done.stderr


def test_zsh_has_every_command_and_other_shells_none():
    script = completion_script("zsh", _FUNCTIONS)
    assert script.startswith("#compdef deepphase")
    for name in COMMANDS:
        assert name.split()[-1] in script
    with pytest.raises(ParameterError, match="'fish'"):
        completion_script("fish", _FUNCTIONS)
