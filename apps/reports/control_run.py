"""What a controller is asked to do, and the runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from apps.reports.wishes import Wish
from controllers.character_frame import CharacterSettings
from controllers.controller import Controller
from controllers.obstacles import Obstacles
from controllers.rollout import Rollout, rollout
from controllers.rollout_measures import RolloutMeasures, rollout_measures
from controllers.run_start import start_on_path, start_under_stick
from controllers.starts import Starts
from deepphase.corpus.clips import clips_in
from deepphase.errors import ParameterError
from deepphase.motion.resample import resample
from deepphase.phase.extractor import load_extractor
from deepphase.progress import Progress
from deepphase.steering.followers import StickSettings
from deepphase.steering.path import Path as GroundPath

Array = np.ndarray
Form = Literal["cubic", "linear", "constant"]

# (position bias, direction bias): how much the wish counts against the prediction.
BLENDS = {"natural": (0.5, 2.0), "balanced": (2.0, 5.0), "responsive": (5.0, 10.0)}


@dataclass(frozen=True)
class ControlRequest:
    """What is to be run.

    Parameters
    ----------
    seconds, speed, characters, seed
        As `deepphase control` has them.
    labels
        Label -> value.
    settings
        How characters run.
    obstacles
        What they do not pass.
    starts
        The moment to begin with; None for one of the controller's own.
    """

    seconds: float | None = None
    speed: float | None = None
    characters: int = 1
    seed: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    settings: CharacterSettings = field(default_factory=CharacterSettings)
    obstacles: Obstacles | None = None
    starts: Starts | None = None


@dataclass(frozen=True, eq=False)
class ControlRun:
    """A run with what it followed and what it is worth.

    Parameters
    ----------
    name
        Of the path or stick.
    run
        Its frames.
    path
        None under a stick.
    origins
        (characters, 2) metres: where each one's copy of the path lies.
    measures
        None where no character lived long enough.
    """

    name: str
    run: Rollout
    path: GroundPath | None
    origins: Array
    measures: RolloutMeasures | None


def control_run(
    controller: Controller, request: ControlRequest, wish: Wish, progress: Progress | None = None
) -> ControlRun:
    """Let characters run towards one wish, and measure that.

    Raises
    ------
    ParameterError
        Where a label is unknown, or a character begins inside an obstacle.
    """
    seconds = request.seconds or wish.duration
    count, path = request.characters, None
    origins = np.zeros((count, 2))
    if isinstance(wish, GroundPath):
        path = wish
        character, follower = start_on_path(
            controller,
            path,
            characters=count,
            starts=request.starts,
            labels=request.labels,
            settings=request.settings,
            obstacles=request.obstacles,
            seed=request.seed,
        )
        origins = follower.origins
        run = rollout(character, follower, seconds, progress)
    else:
        top = request.speed or controller.data.get("travelling_speed")
        character, led = start_under_stick(
            controller,
            wish,
            characters=count,
            starts=request.starts,
            labels=request.labels,
            settings=request.settings,
            stick_settings=StickSettings(top_speed=top or StickSettings().top_speed),
            obstacles=request.obstacles,
            seed=request.seed,
        )
        run = rollout(character, led, seconds, progress)
    measures = None
    try:
        measures = rollout_measures(run, controller, path=path, origins=origins)
    except ParameterError:
        if run.alive[:, : round(run.fps)].all():
            raise
    return ControlRun(wish.name, run, path, origins, measures)


def blend_told(text: str) -> tuple[float, float]:
    """The biases of a name, or of two numbers as in "0.5,2"."""
    if text in BLENDS:
        return BLENDS[text]
    try:
        position, direction = (float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(
            f"no blend {text!r}", hint=f"{', '.join(BLENDS)}, or two numbers as in 0.5,2"
        ) from None
    return position, direction


def label_told(text: str | None, controller: Controller) -> dict[str, str]:
    """The label of "style=old", checked against the controller's."""
    if not text:
        return {}
    name, _, value = (part.strip() for part in text.partition("="))
    own, known = controller.schema.config.label, controller.schema.label_values
    if not value:
        raise ParameterError(f"{text!r} is no label=value", hint="write it as in style=happy")
    if name != own:
        raise ParameterError(
            f"no label {name!r}",
            hint=f"the controller is steered by {own!r}" if own else "the controller knows none",
        )
    if value not in known:
        raise ParameterError(
            f"{name} {value!r}: the controller does not know it", hint=f"known: {', '.join(known)}"
        )
    return {name: value}


def start_of_file(
    controller: Controller,
    file: Path,
    frame: int,
    model: Path | None,
    labels: Mapping[str, str],
) -> Starts:
    """A frame of a motion file, at the controller's rate.

    Raises
    ------
    ParameterError, SkeletonError
        Where there is no such frame, the body is another one, or the phase model is not the one
        that the controller was trained with.
    """
    phases = None if model is None else load_extractor(model)
    controller.check_phases(phases)
    entries = clips_in([file])
    if len(entries) != 1:
        raise ParameterError(f"{len(entries)} clips, where one is needed", path=file)
    clip = entries[0].load()
    if clip.fps != controller.fps:
        clip = resample(clip, controller.fps)
    clip = replace(clip, labels=dict(clip.labels) | dict(labels))
    return Starts.of_clip(clip, np.array([frame]), controller.schema, phases)


def in_form(controller: Controller, form: Form) -> Controller:
    """A controller whose PFNN computes its weights so; "cubic" is exact.

    Raises ParameterError where it is another network.
    """
    if form == "cubic":
        return controller
    return controller.precomputed(form)
