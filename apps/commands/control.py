"""`deepphase control`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import deepphase as dp
from deepphase.apps.options import SteeringOptions, parse_labels, read_goals, run_ground
from deepphase.apps.terminal import next_step
from deepphase.errors import ParameterError

if TYPE_CHECKING:
    from deepphase.controllers.ball.running_balls import BallSettings


def command(
    controller: Path,
    output: Path,
    label: str | None = None,
    blend: str = "balanced",
    foot_ik: bool = True,
    ball: str | None = None,
    steering: SteeringOptions = SteeringOptions(),  # noqa: B008 (frozen)
) -> None:
    """Move characters along a path or by a gamepad recording, with a trained controller.

    Parameters
    ----------
    controller
        Controller of `deepphase train controller`.
    output
        Folder for index.html, which plays the runs, report.json and, for every run, .bvh, .glb
        and a table of its frames.
    label
        Desired label of the motion, as in style=happy, out of those that the controller was
        trained with.
    blend
        Weight of the desired trajectory against the predicted one: natural, balanced, responsive,
        or the biases of positions and directions as in 0.5,2.
    ball
        Events of the ball, for controllers that dribble: kick@SECONDS:SPEED kicks it ahead with
        the next touch, pass@SECONDS:X:Z to a place, and place@SECONDS:X:Z puts it there, as in
        kick@5:8,pass@12:0:6. A ball that is lost is fetched.
    foot_ik
        Leave feet where the network has them, without holding them during contacts.
    """
    # Refused before anything is loaded.
    goals = read_goals(steering.path, steering.gamepad)
    ground = run_ground(steering.terrain, seed=steering.seed)
    from deepphase.apps.runs import report_runs

    settings = dp.controllers.CharacterSettings(*_biases(blend), foot_ik=foot_ik)
    opened = dp.controllers.Controller.load(controller)
    labels, balls = _label(label, opened), _balls(opened, ball)
    if balls is not None and ground is not None:
        raise ParameterError("a ball is only possible on flat ground", hint="leave out --terrain")
    # The motion of a controller without heights is laid on the ground afterwards.
    walked = ground if opened.schema.config.heights else None
    source = dp.controllers.CharacterSource(
        opened, None, labels, settings, seed=steering.seed, ground=walked, balls=balls
    )
    report_runs(
        {controller.name: source},
        goals,
        ground,
        steering,
        output,
        title=controller.name,
        notes=["Feet in contact are locked (--no-foot-ik)." if foot_ik else "Feet are free."],
        made_with={"controller": controller.name},
    )
    next_step("export", controller, "-o", controller.with_suffix(".onnx"))


def _biases(blend: str) -> tuple[float, float]:
    """The biases (positions, directions) of a name, or of two numbers as in "0.5,2"."""
    from deepphase.controllers.runtime.frame import BLENDS

    if blend in BLENDS:
        return BLENDS[blend]
    try:
        position, direction = map(float, blend.split(","))
    except ValueError:
        raise ParameterError(
            f"there is no blend {blend!r}",
            hint=f"give {', '.join(BLENDS)}, or two numbers as in 0.5,2",
        ) from None
    return position, direction


def _label(text: str | None, controller: dp.controllers.Controller) -> dict[str, str]:
    """Label -> value of "style=old"; ParameterError if the controller has no such label."""
    labels = {name: "+".join(values) for name, values in parse_labels(text).items()}
    own, known = controller.schema.config.label, controller.schema.label_values
    for name, value in labels.items():
        if name != own:
            hint = f"steer the controller by {own!r}" if own else "leave the label out"
            raise ParameterError(f"there is no label {name!r}", hint=hint)
        if value not in known:
            raise ParameterError(
                f"{name} {value!r} is not among the controller's labels",
                hint=f"known: {', '.join(known)}",
            )
    return labels


def _balls(controller: dp.controllers.Controller, events: str | None) -> BallSettings | None:
    """Settings of the ball with its events; None for a controller without a ball."""
    from deepphase.controllers.ball.running_balls import BallSettings, parse_ball_events

    if controller.schema.config.ball:
        return BallSettings(controller.ball, events=tuple(parse_ball_events(events)))
    if events is not None:
        raise ParameterError(
            "the controller has no ball", hint="train one with `train controller --ball`"
        )
    return None
