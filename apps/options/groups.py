"""Option groups shared by several commands: reading files, running a training, steering."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from deepphase.config import config_path
from deepphase.errors import ParameterError
from deepphase.extras import extra_packages


class OptionGroup:
    """Base class of option groups: dataclasses that give a command one option per field.

    The first line of the docstring is the heading in the help, and the "Parameters" section gives
    the help texts.
    """


@dataclass(frozen=True)
class ConfigOption:
    """Default of a command's parameter `config`: the option --config.

    The command is given the config itself, with the changes of --set.

    Parameters
    ----------
    place
        Module and class of the config, as in "deepphase.phase.config:PhaseConfig"; imported when
        a config is read, since the modules of some import torch.
    default
        Name of the config that is used where none is named.
    has_keys
        Whether it has sections with keys, which --set changes.
    """

    place: str
    default: str
    has_keys: bool = True

    @property
    def kind(self) -> Any:
        """Class of the config, with `load` and `as_mapping`."""
        module, _, name = self.place.partition(":")
        return getattr(importlib.import_module(module), name)


@dataclass(frozen=True)
class ClipOptions(OptionGroup):
    """Reading motion files.

    Parameters
    ----------
    unit
        Unit of length of the files: m, cm, mm, inch, foot, or metres as a number. Inferred if
        not given.
    up
        Up axis of the files: x, y, z, -x, -y or -z. Inferred if not given.

    Other Parameters
    ----------------
    file_fps
        Frame rate of the files in frames per second, where the stored rate is missing or wrong.
    """

    unit: str | None = None
    up: str | None = None
    file_fps: float | None = None

    @property
    def reader(self) -> dict[str, Any]:
        """The options that are set, as keyword arguments of `deepphase.formats.load.load`."""
        values = {"unit": self.unit, "up": self.up, "fps": self.file_fps}
        return {name: value for name, value in values.items() if value is not None}

    def reader_of(self, path: Path) -> dict[str, Any]:
        """Those for one file: the options that are set, else the settings of its folder."""
        from deepphase.corpus.folder_settings import settings_in

        return {**settings_in(path.parent).reader, **self.reader}


@dataclass(frozen=True)
class FileOptions(ClipOptions):
    """Reading motion files.

    Parameters
    ----------
    skeleton_description
        YAML file that assigns joints or points to body parts; see configs/skeletons/example.yaml.
    """

    skeleton_description: str | None = None

    @property
    def description(self) -> dict[str, Any] | None:
        """The skeleton description, read from its file; None if no file is given."""
        from deepphase.motion.skeleton_description import load_description

        if self.skeleton_description is None:
            return None
        return load_description(config_path("skeletons", self.skeleton_description))

    @property
    def preparation(self) -> dict[str, Any]:
        """Keyword arguments of :func:`deepphase.corpus.prepare.prepare`."""
        return {
            "unit": self.unit,
            "up": self.up,
            "file_fps": self.file_fps,
            "description": self.description,
        }


@dataclass(frozen=True)
class StoreOptions(FileOptions):
    """Reading stores and motion files.

    Parameters
    ----------
    skeleton
        Name of the skeleton group to use, if the files hold several skeletons; that of the model
        if it is not given and there is one.
    """

    skeleton: str | None = None

    @property
    def corpus(self) -> dict[str, Any]:
        """Keyword arguments of :func:`deepphase.corpus.prepare.corpus_of`."""
        return {"skeleton": self.skeleton, **self.preparation}

    @property
    def clips(self) -> dict[str, Any]:
        """Keyword arguments of :func:`deepphase.corpus.clips.clips_in`."""
        return {"skeleton": self.skeleton, "description": self.description, **self.reader}


@dataclass(frozen=True)
class TrainingOptions(OptionGroup):
    """Running the training.

    Parameters
    ----------
    resume
        Continue an interrupted training of this output file.
    restart
        Discard an interrupted training of this output file and start from the beginning.
    accelerator
        Lightning's accelerator: auto, cpu, gpu, cuda, mps or tpu.
    devices
        Number of devices to train on, on each node, a list of their indices such as 0,2, or auto.
        Under torchrun and SLURM, auto is the number of processes on each node.

    Other Parameters
    ----------------
    num_nodes
        Number of nodes (machines); that of torchrun or SLURM if not given, otherwise 1.
    precision
        Lightning's precision, such as 32-true, 16-mixed or bf16-mixed, which is slower than
        32-true on many processors.
    strategy
        Lightning's strategy for several devices, such as auto, ddp or fsdp.
    logger
        Logger of loss, explained variance, learning rate and throughput. csv writes
        OUTPUT.metrics.csv, or OUTPUT.PART.metrics.csv where a network is added to a model;
        tensorboard and wandb (Weights & Biases) log in addition to it.
    """

    resume: bool = False
    restart: bool = False
    accelerator: str = "auto"
    devices: str = "auto"
    num_nodes: int | None = None
    precision: str = "32-true"
    strategy: str = "auto"
    logger: Literal["csv", "tensorboard", "wandb"] = "csv"

    def trainer(self, output: Path) -> dict[str, Any]:
        """Keyword arguments of Lightning's Trainer; a number of devices is given as an int.

        Parameters
        ----------
        output
            Output file of the training; logs are written beside it.

        Raises
        ------
        ParameterError
            If the logger's package is not installed.
        """
        whole = self.devices.lstrip("-").isdigit()
        return {
            "accelerator": self.accelerator,
            "devices": int(self.devices) if whole else self.devices,
            "num_nodes": self.num_nodes,
            "precision": self.precision,
            "strategy": self.strategy,
            "logger": self._logger(output),
        }

    def _logger(self, output: Path) -> Any:
        """The logger beside the CSV, which every training writes."""
        if self.logger == "csv":
            return True
        with extra_packages(f"{self.logger} logs"):
            importlib.import_module(self.logger)
        from pytorch_lightning.loggers import TensorBoardLogger, WandbLogger

        if self.logger == "wandb":
            return WandbLogger(name=output.stem, project="deepphase", save_dir=output.parent)
        return TensorBoardLogger(output.parent, name=f"{output.name}.logs")


@dataclass(frozen=True)
class LaidGroundOptions(OptionGroup):
    """Ground that the motion is laid on.

    Parameters
    ----------
    terrain
        Ground: noise, hills, steps, stairs, ramps, boxes, platforms, beam, pits or rocks, or a file
        with heights (.npz, .npy or a greyscale image) around the origin.

    Other Parameters
    ----------------
    terrain_spacing
        Metres between the points of a file with heights; 0.05 if not given, and .npz has its own.
    terrain_scale
        Metres per unit of a file with heights: 1 for arrays and, from black to white, 2 for images,
        if not given.
    """

    terrain: str | None = None
    terrain_spacing: float | None = None
    terrain_scale: float | None = None


@dataclass(frozen=True)
class SteeringOptions(LaidGroundOptions):
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
    characters
        Number of characters, side by side.
    seed
        Random seed for the start poses of characters 2 to N and for stochastic networks.
    terrain
        Ground: noise, hills, steps, stairs, ramps, boxes, platforms, beam, pits or rocks, or a file
        with heights (.npz, .npy or a greyscale image) around the origin. Controllers that were
        trained with heights walk on it. The motion of others is made on a flat floor and laid on
        the ground.

    Other Parameters
    ----------------
    size
        Size in metres of wave (crest to crest), square (side) or circle (diameter). If not given,
        it is chosen to suit the speed.
    root_motion
        Joint of the written files that carries the travel: root (a joint above the hips, on the
        ground, which is added where there is none), hips, or in_place for none. auto is the topmost
        joint of the skeleton.
    """

    path: str | None = None
    gamepad: Path | None = None
    seconds: float | None = None
    speed: float | None = None
    size: float | None = None
    characters: int = 1
    seed: int = 0
    root_motion: Literal["auto", "root", "hips", "in_place"] = "auto"

    @property
    def made_path(self) -> dict[str, Any]:
        """Keyword arguments of `apps.runs.goals.complete_goals`."""
        return {"seconds": self.seconds, "speed": self.speed, "size": self.size}

    @property
    def run(self) -> dict[str, Any]:
        """Keyword arguments of `apps.runs.run.run_goal`."""
        return {"seconds": self.seconds, "speed": self.speed, "characters": self.characters}


@dataclass(frozen=True)
class LiveGroundOptions(LaidGroundOptions):
    """Ground of the page.

    Parameters
    ----------
    terrain
        Ground that the page begins on: noise, hills, steps, stairs, ramps, boxes, platforms, beam,
        pits or rocks, or a file with heights (.npz, .npy or a greyscale image) around the origin.
        The page offers the kinds of ground in any case.
    """


def refuse_for_songs(group: OptionGroup, **options: Any) -> None:
    """Refuse options that apply to motion files only, where the files are songs.

    Parameters
    ----------
    group
        Options of motion files.
    options
        Further options of motion files, by name.

    Raises
    ------
    ParameterError
        If one of them is set.
    """
    values = {each.name: getattr(group, each.name) for each in fields(group)}  # type: ignore[arg-type]
    for name, value in {**values, **options}.items():
        if value not in (None, False):
            raise ParameterError(
                f"--{name.replace('_', '-')} applies to motion files, and these are songs",
                hint="leave it out",
            )


def parse_labels(text: str) -> dict[str, list[str]]:
    """Values of each label, parsed from text such as "style=old+happy,action=walk".

    Raises
    ------
    ParameterError
        If a part of the text is not of the form label=value.
    """
    labels = {}
    for part in text.split(","):
        name, equals, values = part.partition("=")
        if not equals or not name.strip() or not values.strip():
            raise ParameterError(
                f"{part.strip()!r} is not of the form label=value",
                hint="write labels as in style=old+happy,action=walk",
            )
        labels[name.strip()] = [value.strip() for value in values.split("+")]
    return labels


def parse_stretches(text: str | None) -> list[tuple[int, int]]:
    """First and last frames of a list such as "40-65,90"; none of None.

    Raises
    ------
    ParameterError
        If a part of the text is not a stretch.
    """
    stretches = []
    for part in [] if text is None else text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ParameterError(
                f"--frames {text}: {part.strip()!r} is not a stretch of frames",
                hint="give stretches separated by commas, as in 40-65,90",
            )
        stretches.append((int(first), int(last or first)))
    return stretches


_SIZES = {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?(kb|mb|gb|tb)", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Bytes of a size such as "2GB" or "500 MB".

    Raises
    ------
    ParameterError
        If it is not a size.
    """
    parts = _SIZE.fullmatch(text.strip())
    if parts is None:
        raise ParameterError(f"{text!r} is not a size", hint="write it as 2GB or 500MB")
    return int(float(parts[1]) * _SIZES[parts[2].lower()])
