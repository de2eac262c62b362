"""`deepphase fit ball`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from apps.fit_settings import keep_settings
from apps.options.groups import StoreOptions
from apps.terminal import list_left_out, next_step, note, progress, table
from deepphase.errors import DeepPhaseError, FormatError

if TYPE_CHECKING:
    from controllers.ball.ball_track import BallTrack
    from deepphase.motion.ball import Ball
    from deepphase.motion.clip import Clip
    from deepphase.viewer.take import Take

# Takes of the page, and rows of the table.
_MAX_SHOWN, _MAX_ROWS = 12, 40
_SETTINGS = "ball.json"


def command(
    clips: list[Path],
    output: Path,
    radius: float = 0.11,
    restitution: float = 0.6,
    rolling: float = 0.07,
    reading: StoreOptions = StoreOptions(),  # noqa: B008 (frozen)
) -> None:
    """Fit a ball to the feet of clips that were captured without one, as in dribbling.

    Parameters
    ----------
    clips
        Motion files, folders of motion files, or stores. Of a file with a point named ball, that
        ball is taken.
    output
        Folder for the ball of each clip (.ball), which --ball of other commands reads, and
        player.html. Clips whose ball is there already, made with the same options, are not fitted
        again.
    radius
        Radius of the ball in metres.
    restitution
        Speed of the ball after a bounce as a share of that before.
    rolling
        Deceleration of the rolling ball as a share of gravity: 0.07 on short grass.
    """
    from dataclasses import asdict

    from controllers.ball.ball_file import IMPLAUSIBLE, SUFFIX, as_row, load_ball, save_ball
    from deepphase.atomic_write import check_writable
    from deepphase.corpus.clips import clips_in
    from deepphase.motion.ball import Ball
    from deepphase.viewer.page import save_player

    ball = Ball(radius, restitution=restitution, rolling=rolling)
    entries = clips_in(
        clips, skeleton=reading.skeleton, description=reading.description, **reading.reader
    )
    check_writable(output / "player.html")
    again = keep_settings(output / _SETTINGS, asdict(ball))
    rows: list[list[Any]] = []
    takes: list[Take] = []
    refused: list[DeepPhaseError] = []
    kept = 0
    names: dict[str, int] = {}
    frames = touches = captured = 0
    implausible = 0.0
    with progress() as on_progress:
        for count, entry in enumerate(entries, start=1):
            try:
                names[entry.name] = number = names.get(entry.name, 0) + 1
                path = output / f"{entry.name}{f'-{number}' if number > 1 else ''}{SUFFIX}"
                clip = None
                if again and path.exists():
                    track = load_ball(path)
                    kept += 1
                else:
                    clip = entry.load()
                    track = _ball_of(clip, ball, reading)
                    save_ball(track, path)
                if len(takes) < _MAX_SHOWN:
                    takes.append(_take(entry.load() if clip is None else clip, track))
            except DeepPhaseError as error:
                refused.append(error)
                continue
            finally:
                on_progress("fitting balls", count, len(entries), "")
            rows.append(as_row(track))
            frames, touches = frames + len(track), touches + len(track.touches)
            captured += track.captured
            implausible += float((track.plausible < IMPLAUSIBLE).sum())
    if len(entries) == len(refused) == 1:
        raise refused[0]
    list_left_out("left out", refused)
    if not rows:
        raise FormatError(
            f"there is no ball for any of {len(refused)} clips", hint="the reasons are listed above"
        )
    page = save_player(output / "player.html", takes, title="Fitted balls")
    columns = ("clip", "touches a second", "m/s", "plausible", "implausible frames")
    table(columns, rows[:_MAX_ROWS])
    if len(rows) > _MAX_ROWS:
        note(f"... and {len(rows) - _MAX_ROWS} more clips")
    note(
        f"{len(rows)} balls, {touches} touches; {implausible / frames:.1%} of the frames are "
        "implausible, and are not learnt from"
    )
    if captured:
        note(f"{captured} were captured with the motion")
    if kept:
        note(f"{kept} of {len(rows)} were fitted before with the same options")
    note(f"{page.stat().st_size / 1e6:.1f} MB: open {page}")
    if len(rows) > 1:
        next_step("train", "controller", clips[0], "--ball", output, "-o", "dribble.controller")


def _ball_of(clip: Clip, ball: Ball, reading: StoreOptions) -> BallTrack:
    """The captured ball of a clip, or else the fitted one."""
    from controllers.ball.captured import captured_ball
    from controllers.ball.fitting import fit_ball
    from deepphase.formats.points import holds_points, load_points
    from deepphase.motion.point_track import ball_points
    from deepphase.motion.roles import find_roles

    roles = find_roles(clip.skeleton, description=reading.description, clip=clip)
    path = Path(clip.source.path)
    if clip.source.path and path.is_file() and holds_points(path):
        track = load_points(path, **reading.reader)
        if ball_points(track.names):
            return captured_ball(track, clip, ball, roles)
    return fit_ball(clip, ball, roles=roles)


def _take(clip: Clip, track: BallTrack) -> Take:
    import numpy as np

    from deepphase.viewer.actor import Actor
    from deepphase.viewer.take import Curve, Marker, Take

    actor = Actor.of_clip(clip)
    positions = track.positions + np.array([0.0, actor.floor, 0.0])
    actor = Actor.of_clip(clip, ball=positions, ball_radius_m=track.ball.radius_m)
    touches = [
        Marker(f"touch by {foot}", frame / track.fps, frame / track.fps)
        for frame, foot in zip(track.touches.frames.tolist(), track.touches.feet, strict=True)
    ]
    return Take(
        clip.name, [actor], curves=[Curve("plausible", "", track.plausible, track.fps)],
        markers=touches,
    )  # fmt: skip
