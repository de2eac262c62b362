"""`deepphase edit path`."""

from __future__ import annotations

from pathlib import Path

from apps.terminal import next_step, note, progress, warn

# Metres between the characters of a crowd.
_SPACING_M = 1.5


def command(
    editor: Path,
    path: str,
    output: Path,
    seconds: float | None = None,
    speed: float | None = None,
    size: float | None = None,
    characters: int = 1,
    seed: int = 0,
    slide: bool = False,
    player: Path | None = None,
) -> None:
    """Make motion of any length along a path, all frames at once.

    Parameters
    ----------
    editor
        Editor with path networks, of `deepphase train path`.
    path
        CSV file (t, x, z and, optionally, facing), or wave, square or circle.
    output
        Clip to write (.bvh, .glb or .npz); of several characters a folder of .bvh files.
    seconds
        Length of wave, square and circle in seconds; 20 if not given.
    speed
        Speed in m/s along the path. If not given, a path file is followed by its times, and made
        paths at the median speed of the editor's clips.
    size
        Size in metres of wave (crest to crest), square (side) or circle (diameter). If not given,
        it is chosen to suit the speed.
    characters
        Number of characters, side by side, each at another moment of its steps.
    seed
        Random seed of those moments.
    slide
        Leave the feet as the networks make them; they are held in contacts otherwise.
    player
        Page to write (.html) that plays the result.
    """
    import numpy as np

    from apps.edit_files import check_output, load_editor, save_edited, save_page
    from apps.runs.request import RunRequest, goals_of, read_goals
    from deepphase.atomic_write import check_writable
    from deepphase.editing.path_motion import crowd_paths, motions_on_paths, path_networks
    from deepphase.formats.load import save
    from deepphase.steering.path import GroundPath

    request = RunRequest(seconds, speed, size, characters)
    if characters == 1:
        check_output(None, output, player)
    else:
        check_writable(output / "path_001.bvh")
        if player is not None:
            check_writable(player)
    read = read_goals([path], None)
    trained = load_editor(editor)
    usual = path_networks(trained).limits.usual
    (goal,) = goals_of([path], read, request, usual).values()
    assert isinstance(goal, GroundPath)
    starts = np.random.default_rng(seed).uniform(-np.pi, np.pi, characters)
    starts[0] = 0.0
    with progress() as report_progress:
        report_progress("making", 0, 2, goal.name)
        made = motions_on_paths(
            crowd_paths(goal, characters, _SPACING_M), trained, starts=starts, feet=not slide
        )
        report_progress("writing", 1, 2, output.name)
        if characters == 1:
            save_edited(made[0].clip, output)
        else:
            for each in made:
                save(each.clip, output / f"{each.clip.name}.bvh")
        report_progress("writing", 2, 2, output.name)
    for finding in made[0].findings:
        warn(finding)
    if characters > 1:
        note(f"{characters} clips of {made[0].clip.duration:.2f} s: {output}")
    if player is not None:
        save_page([each.clip for each in made], player, title=f"Along {goal.name}")
    next_step("play", output)
