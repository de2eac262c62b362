"""`deepphase control`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from apps.terminal import note, progress, table


def command(
    controller: Path,
    output: Path,
    path: str | None = None,
    stick: Path | None = None,
    label: str | None = None,
    characters: int = 1,
    seconds: float | None = None,
    speed: float | None = None,
    size: float | None = None,
    blend: str = "natural",
    obstacles: Path | None = None,
    start: Path | None = None,
    frame: int = 0,
    model: Path | None = None,
    form: Literal["cubic", "linear", "constant"] = "cubic",
    no_foot_ik: bool = False,
    measure: bool = False,
    seed: int = 0,
) -> None:
    """Motion along a path or under a stick, made by a controller frame by frame.

    Parameters
    ----------
    controller
        A controller, as `deepphase train controller` wrote it.
    output
        Folder for index.html, player.html, report.json, and of every run .bvh, .glb and a table
        of its frames.
    path
        A CSV (t, x, z, if wanted facing and labels), or wave, square or circle; several with
        commas between them. wave if neither path nor stick is given.
    stick
        A CSV (t, move_x, move_z, if wanted look_x, look_z and buttons).
    label
        What the motion shall be, as in style=happy; of those that the controller knows.
    characters
        How many, side by side, in one batch.
    seconds
        How long; of a made path 20, else until the path or stick ends.
    speed
        m/s along the path, or of the stick at its end. Made paths and sticks take the median
        speed of the data's motion that travels, path files their own times.
    size
        Metres of a made path: a square's side, a circle's diameter, from crest to crest.
    blend
        How much the wish counts against the prediction: natural, balanced, responsive, or the
        biases of positions and directions as in 0.5,2.
    obstacles
        Walls and pits that are not passed: JSON, or CSV with a shape a line.
    start
        A motion file to begin with; without one, a moment of the training clips.
    frame
        Which frame of it.
    model
        The phase model that the controller was trained with: needed to begin with a file.
    form
        How a PFNN computes its weights: cubic is exact, linear and constant look them up.
    no_foot_ik
        Leave feet as the network has them, where they would be held while they stand.
    measure
        Also path errors at three blends, ten minutes, variation and sensitivity to phase: some
        minutes of work.
    seed
        Of the beginnings of all characters but the first, and of a network that draws.
    """
    from apps.runs.controller import (
        controller_report,
        in_form,
        parse_blend,
        parse_label,
        start_of_file,
    )
    from apps.runs.request import RunRequest, goal_names, goals_of, read_goals
    from controllers.character_frame import CharacterSettings
    from controllers.controller import Controller
    from controllers.obstacle_file import read_obstacles
    from controllers.run_start import CharacterSource
    from deepphase.replacing import check_writable

    paths = goal_names(path, stick)
    request = RunRequest(seconds, speed, size, characters)
    position_bias, direction_bias = parse_blend(blend)
    settings = CharacterSettings(
        position_bias=position_bias, direction_bias=direction_bias, foot_ik=not no_foot_ik
    )
    read = read_goals(paths, stick)
    walls = None if obstacles is None else read_obstacles(obstacles)
    check_writable(output / "index.html")
    opened = in_form(Controller.load(controller), form)
    labels = parse_label(label, opened)
    starts = None
    if start is not None:
        starts = start_of_file(opened, start, frame, model, labels)
    source = CharacterSource(opened, starts, labels, settings, walls, seed)
    goals = goals_of(paths, read, request, source.travelling_speed)
    with progress() as shown:
        report = controller_report(
            source, goals, request, output, trials=measure, file=controller.name, progress=shown
        )
    table(report.columns, report.rows)
    note(f"report: {report.page}")
