"""Options of `deepphase control`: blend, label, ball, start and form of the network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from deepphase.controllers.ball.ball_events import parse_ball_events
from deepphase.controllers.ball.running_balls import BallSettings
from deepphase.controllers.data.initial_states import InitialStates
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.frame import BLENDS
from deepphase.corpus.clips import clips_in
from deepphase.errors import ParameterError
from deepphase.motion.resample import resample
from deepphase.phase.extractor import load_model


def parse_blend(text: str) -> tuple[float, float]:
    """The biases (positions, directions) of a name, or of two numbers as in "0.5,2"."""
    if text in BLENDS:
        return BLENDS[text]
    try:
        position, direction = (float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(
            f"there is no blend {text!r}",
            hint=f"give {', '.join(BLENDS)}, or two numbers as in 0.5,2",
        ) from None
    return position, direction


def parse_label(text: str | None, controller: Controller) -> dict[str, str]:
    """Label -> value of "style=old"; ParameterError if the controller has no such label."""
    if not text:
        return {}
    name, _, value = (part.strip() for part in text.partition("="))
    own, known = controller.schema.config.label, controller.schema.label_values
    if not value:
        raise ParameterError(
            f"{text!r} is not of the form label=value", hint="write it as in style=happy"
        )
    if name != own:
        raise ParameterError(
            f"there is no label {name!r}",
            hint=f"steer the controller by {own!r}" if own else "leave the label out",
        )
    if value not in known:
        raise ParameterError(
            f"{name} {value!r} is not among the controller's labels",
            hint=f"known: {', '.join(known)}",
        )
    return {name: value}


def ball_settings(controller: Controller, events: str | None) -> BallSettings | None:
    """Settings of the ball with the events of a command; None for a controller without a ball.

    Raises ParameterError if the controller has no ball and there are events, or one is invalid.
    """
    if controller.schema.config.ball:
        return BallSettings(controller.ball, events=tuple(parse_ball_events(events)))
    if events is not None:
        raise ParameterError(
            "the controller has no ball", hint="train one with `train controller --ball`"
        )
    return None


def start_of_file(
    controller: Controller,
    file: Path,
    frame: int,
    model: Path | None,
    labels: Mapping[str, str],
) -> InitialStates:
    """A frame of a motion file, at the controller's rate."""
    entries = clips_in([file])
    if len(entries) != 1:
        raise ParameterError(
            f"--start takes one clip, and this has {len(entries)}",
            hint="give a motion file with one clip",
            path=file,
        )
    clip = entries[0].load()
    phases = None if model is None else load_model(model).bound(clip)
    controller.check_phases(phases)
    if clip.fps != controller.fps:
        clip = resample(clip, controller.fps)
    clip = replace(clip, labels=dict(clip.labels) | dict(labels))
    return InitialStates.of_clip(clip, np.array([frame]), controller.schema, phases)
