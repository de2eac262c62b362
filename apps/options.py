"""What commands share: groups of options, lists in texts, goals and ground of runs."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from deepphase.apps.terminal import note
from deepphase.config import config_path
from deepphase.corpus.motion_files import settings_in
from deepphase.errors import ParameterError
from deepphase.motion.roles import load_description
from deepphase.packages import extra_packages

if TYPE_CHECKING:
    from deepphase.steering.gamepad import Gamepad
    from deepphase.steering.path import GroundPath
    from deepphase.terrain.heightmap import Heightmap

    Goal = GroundPath | Gamepad

# Made ground reaches 40 m around the origin, as far as half a minute of walking.
_MADE_M, _MADE_SPACING_M = 80.0, 0.05


class OptionGroup:
    """Base class of dataclasses that give a command one option per field, with its help text."""


# Kind of config -> its class, imported when one is read.
_CONFIG_CLASSES = {
    "phase": "deepphase.phase.config:PhaseConfig",
    "controller": "deepphase.controllers.config:ControllerConfig",
    "matching": "deepphase.features.layout:FeatureLayout",
    "dance": "deepphase.controllers.dance.config:DanceConfig",
    "editor": "deepphase.edit.config:EditorConfig",
    "rig": "deepphase.rigs.config:RigConfig",
}


@dataclass(frozen=True)
class ConfigOption:
    """Default of a command's parameter `config`, which is given the config itself."""

    kind: str  # Folder of the shipped configs
    default: str  # Name of the config that is used where none is named
    has_keys: bool = True  # Whether it has sections with keys, which --set changes

    def load(self, name: str, values: Mapping[str, Any]) -> Any:
        """The config of that name or file, with values such as {"training.seed": 1}."""
        load = pkgutil.resolve_name(_CONFIG_CLASSES[self.kind]).load
        config = load(name)
        try:
            return load(name, **values) if values else config
        except ParameterError as error:
            # The file is not at fault, which the error would name.
            hint = f"{error.hint}; " if error.hint else ""
            raise ParameterError(
                f"--set is refused: {error.fact}", hint=f"{hint}--print-config lists the keys"
            ) from None


@dataclass(frozen=True)
class FileOptions(OptionGroup):
    """Reading motion files.

    Parameters
    ----------
    unit
        Unit of length of the files: m, cm, mm, inch, foot, or metres as a number. Inferred if
        not given.
    up
        Up axis of the files: x, y, z, -x, -y or -z. Inferred if not given.
    file_fps
        Frame rate of the files in frames per second, where the stored rate is missing or wrong.
    radians
        Angles in BVH files are radians, where the format has degrees.
    skeleton_description
        YAML file that assigns joints or points to body parts; see configs/skeletons/example.yaml.
        A store keeps it for the commands that read the store.
    """

    unit: str | None = None
    up: str | None = None
    file_fps: float | None = None
    radians: bool = False
    skeleton_description: str | None = None

    @property
    def reader(self) -> dict[str, Any]:
        """The options that are set, as keyword arguments of `deepphase.formats.load.load`."""
        values = {"unit": self.unit, "up": self.up, "fps": self.file_fps, "radians": self.radians}
        # Not `in`: a rate of 0 is refused by the reader.
        return {name: own for name, own in values.items() if own is not None and own is not False}

    @property
    def description(self) -> dict[str, Any] | None:
        """The skeleton description, read from its file; None if no file is given."""
        file = self.skeleton_description
        return None if file is None else load_description(config_path("skeletons", file))


def folder_reader(path: Path) -> dict[str, Any]:
    """The settings of a file's folder, as keyword arguments of `deepphase.formats.load.load`."""
    return settings_in(path.parent).reader(path.name)


@dataclass(frozen=True)
class TrainingOptions(OptionGroup):
    """Running the training.

    Options of Lightning's Trainer are written as in --set trainer.accelerator=gpu.

    Parameters
    ----------
    resume
        Continue an interrupted training of this output file.
    """

    resume: bool = False
    trainer: Mapping[str, Any] = field(default_factory=dict, metadata={"option": False})

    def trainer_options(self, output: Path) -> dict[str, Any]:
        """Keyword arguments of Lightning's Trainer."""
        options = {"accelerator": "auto", "devices": "auto", "precision": "32-true", "logger": True}
        options |= self.trainer
        name = options["logger"]
        if name in ("tensorboard", "wandb"):
            options["logger"] = _logger(name, output)
        elif not isinstance(name, bool):
            hint = "give tensorboard or wandb, or leave it out"
            raise ParameterError(f"there is no logger {name!r}", hint=hint)
        return options


def _logger(name: str, output: Path) -> Any:
    """The logger beside the CSV, which every training writes."""
    with extra_packages(f"{name} logs"):
        importlib.import_module(name)
    from pytorch_lightning.loggers import TensorBoardLogger, WandbLogger

    if name == "wandb":
        return WandbLogger(name=output.stem, project="deepphase", save_dir=output.parent)
    return TensorBoardLogger(output.parent, name=f"{output.name}.logs")


@dataclass(frozen=True)
class SteeringOptions(OptionGroup):
    """Steering.

    Parameters
    ----------
    path
        Path to follow: a CSV file (t, x, z and, optionally, facing and labels), or wave, square
        or circle; several, separated by commas, give several runs. If neither a path nor a gamepad
        recording is given: wave.
    gamepad
        Gamepad recording to follow: a CSV file (t, move_x, move_z and, optionally, look_x, look_z
        and buttons).
    seconds
        Length of the motion in seconds. If not given, the length of the path file or recording; 20
        for wave, square and circle.
    speed
        Speed in m/s along the path, or at full deflection of the gamepad. If not given, a path file
        is followed by its times, and otherwise the median travelling speed of the data is taken.
        Paths slow down at corners that bodies cannot turn and wait for characters that lag; runs
        say how late they end.
    characters
        Number of characters, side by side.
    seed
        Random seed for the start poses of characters 2 to N and for stochastic networks.
    terrain
        Ground: hills, stairs or rocks, or a file with heights (.npz, .npy or a greyscale image)
        around the origin; of .npz alone the spacing is stated, and others have points every 5 cm.
        Controllers that were trained with heights walk on it. The motion of
        others is made on a flat floor and laid on the ground.
    """

    path: str | None = None
    gamepad: Path | None = None
    seconds: float | None = None
    speed: float | None = None
    characters: int = 1
    seed: int = 0
    terrain: str | None = None
    root_motion: Literal["auto", "root", "hips", "in_place"] = "auto"


def parse_names(text: str | None) -> list[str]:
    """The names of a list such as "Hips, Head"; none of None."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def parse_labels(text: str | None) -> dict[str, list[str]]:
    """Values of each label, parsed from text such as "style=old+happy,action=walk"."""
    labels = {}
    for part in text.split(",") if text else ():
        name, equals, values = part.partition("=")
        if not equals or not name.strip() or not values.strip():
            hint = "write labels as in style=old+happy,action=walk"
            raise ParameterError(f"{part.strip()!r} is not of the form label=value", hint=hint)
        labels[name.strip()] = [value.strip() for value in values.split("+")]
    return labels


def parse_stretches(text: str | None) -> list[tuple[int, int]]:
    """First and last frames of a list such as "40-65,90"; none of None."""
    stretches = []
    for part in text.split(",") if text else ():
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            fact = f"--frames {text}: {part.strip()!r} is not a stretch of frames"
            raise ParameterError(fact, hint="give stretches separated by commas, as in 40-65,90")
        stretches.append((int(first), int(last or first)))
    return stretches


_SIZES = {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


def parse_size(text: str) -> int:
    """Bytes of a size such as "2GB" or "500 MB"; ParameterError if it is not a size."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?) ?(kb|mb|gb|tb)", text.strip(), re.IGNORECASE)
    if parts is None:
        raise ParameterError(f"{text!r} is not a size", hint="write it as 2GB or 500MB")
    return int(float(parts[1]) * _SIZES[parts[2].lower()])


def read_goals(path: str | None, gamepad: Path | None = None) -> dict[str, Goal | None]:
    """Name -> the goal of a command line; None for paths that are generated, wave by default."""
    from deepphase.steering.gamepad import read_gamepad
    from deepphase.steering.path import MADE_PATHS, read_path

    if gamepad is not None:
        if path is not None:
            raise ParameterError(
                "--path and --gamepad cannot be used together", hint="give one of them"
            )
        return {str(gamepad): read_gamepad(gamepad)}
    goals: dict[str, Goal | None] = {}
    for name in (path or "wave").split(","):
        goal = None
        if name not in MADE_PATHS:
            _check_file("path", name, MADE_PATHS)
            goal = read_path(name)
        title = name if goal is None else goal.name
        if title in goals:
            raise ParameterError(
                f"there are two paths called {title!r}", hint="rename one of the files"
            )
        goals[title] = goal
    return goals


def complete_goals(
    goals: Mapping[str, Goal | None],
    travelling_speed: float,
    *,
    seconds: float | None = None,
    speed: float | None = None,
) -> list[Goal]:
    """Goals of `read_goals` with the generated paths, at the desired or the `travelling_speed`."""
    from deepphase.steering.path import GroundPath, made_path

    complete: list[Goal] = []
    for name, goal in goals.items():
        if goal is None:
            if not (speed or travelling_speed) > 0:
                raise ParameterError(
                    "no motion of the data travels, so that its speed cannot be taken",
                    hint="give --speed",
                )
            goal = made_path(name, speed or travelling_speed, seconds or 20.0)
        elif isinstance(goal, GroundPath) and speed is not None:
            goal = goal.at_speed(speed)
        complete.append(goal)
    return complete


def chosen_ground(name: str | None) -> str | Heightmap | None:
    """The kind of generated ground, the ground of a file, whose notes are printed, or None."""
    from deepphase.terrain.ground_file import read_ground
    from deepphase.terrain.heightmap import MADE_GROUNDS

    if name is None or name in MADE_GROUNDS:
        return name
    _check_file("ground", name, MADE_GROUNDS)
    ground = read_ground(name)
    for text in ground.notes:
        note(f"{ground.name}: {text}")
    return ground


def run_ground(name: str | None, *, seed: int = 0) -> Heightmap | None:
    """The ground of `chosen_ground`, generated if it is a kind; None for a flat floor."""
    from deepphase.terrain.heightmap import made_ground

    chosen = chosen_ground(name)
    if not isinstance(chosen, str):
        return chosen
    return made_ground(chosen, seed=seed, size_m=_MADE_M, spacing_m=_MADE_SPACING_M)


def _check_file(what: str, name: str, kinds: Iterable[str]) -> None:
    """Raise ParameterError for a name that is neither a kind nor looks like a file."""
    if not (Path(name).suffix or Path(name).exists()):
        raise ParameterError(
            f"there is no {what} {name!r}", hint=f"give a file, or {', '.join(kinds)}"
        )
