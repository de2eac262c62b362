"""`deepphase control`."""

from __future__ import annotations

from pathlib import Path

from deepphase.apps.options.groups import SteeringOptions
from deepphase.apps.terminal import next_step, note, progress, table, warn
from deepphase.errors import ParameterError


def command(
    controller: Path,
    output: Path,
    label: str | None = None,
    blend: str = "balanced",
    start: Path | None = None,
    frame: int = 0,
    model: Path | None = None,
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
    start
        Motion file to start from; a frame of the training clips if not given.
    frame
        Frame of the motion file to start from.
    model
        Phase model that the controller was trained with, needed to start from a motion file.
    foot_ik
        Leave feet where the network has them, without holding them during contacts.
    """
    from deepphase.apps.reports.measures import measure_table
    from deepphase.apps.runs.controller import (
        ball_settings,
        parse_blend,
        parse_label,
        start_of_file,
    )
    from deepphase.apps.runs.goals import complete_goals, read_goals, run_ground
    from deepphase.apps.runs.run import columns_of, run_goal, write_runs
    from deepphase.atomic_write import check_writable
    from deepphase.controllers.runtime.controller import Controller
    from deepphase.controllers.runtime.frame import CharacterSettings
    from deepphase.controllers.runtime.start import CharacterSource

    read = read_goals(steering.path, steering.gamepad)
    ground = run_ground(steering)
    position_bias, direction_bias = parse_blend(blend)
    settings = CharacterSettings(
        position_bias=position_bias, direction_bias=direction_bias, foot_ik=foot_ik
    )
    check_writable(output / "index.html")
    opened = Controller.load(controller)
    labels = parse_label(label, opened)
    balls = ball_settings(opened, ball)
    if balls is not None and ground is not None:
        raise ParameterError("a ball is only possible on flat ground", hint="leave out --terrain")
    starts = None
    if start is not None:
        starts = start_of_file(opened, start, frame, model, labels)
    # The motion of a controller without heights is laid on the ground afterwards.
    walked = ground if opened.schema.config.heights else None
    source = CharacterSource(
        opened, starts, labels, settings, seed=steering.seed, ground=walked, balls=balls
    )
    goals = complete_goals(read, source.travelling_speed, **steering.made_path)
    with progress() as report_progress:
        results = {
            controller.name: [
                run_goal(source, goal, **steering.run, ground=ground, progress=report_progress)
                for goal in goals.values()
            ]
        }
        page = write_runs(
            results,
            output,
            source,
            title=f"Runs of {controller.name}",
            notes=["Feet in contact are locked (--no-foot-ik)." if foot_ik else "Feet are free."],
            made_with={"controller": controller.name},
            root_motion=steering.root_motion,
        )
    table(*measure_table(columns_of(results)))
    for result in results[controller.name]:
        for finding in result.findings:
            warn(f"{result.goal}: {finding}")
    note(f"report: {page}")
    next_step("export", controller, "-o", controller.with_suffix(".onnx"))
