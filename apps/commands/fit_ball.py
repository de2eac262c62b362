"""`deepphase fit ball`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from apps.each_clip import each_clip
from apps.fit_settings import keep_settings
from apps.options.groups import StoreOptions
from apps.terminal import next_step, note, table

if TYPE_CHECKING:
    from controllers.ball.ball_track import BallTrack
    from deepphase.corpus.clips import ClipEntry
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
    rolling
        Deceleration of the rolling ball as a share of gravity: 0.07 on short grass.
    """
    from dataclasses import asdict

    import numpy as np

    from controllers.ball.ball_file import IMPLAUSIBLE, SUFFIX, as_row, load_ball, save_ball
    from deepphase.atomic_write import check_writable
    from deepphase.corpus.clips import clips_in
    from deepphase.motion.ball import Ball
    from deepphase.viewer.page import save_player

    ball = Ball(radius, rolling=rolling)
    entries = clips_in(
        clips, skeleton=reading.skeleton, description=reading.description, **reading.reader
    )
    check_writable(output / "player.html")
    again = keep_settings(output / _SETTINGS, asdict(ball))
    tracks: list[BallTrack] = []
    takes: list[Take] = []
    kept: list[Path] = []
    names: dict[str, int] = {}

    def use(entry: ClipEntry) -> None:
        names[entry.name] = number = names.get(entry.name, 0) + 1
        path = output / f"{entry.name}{f'-{number}' if number > 1 else ''}{SUFFIX}"
        clip = None
        if again and path.exists():
            track = load_ball(path)
            kept.append(path)
        else:
            clip = entry.load()
            track = _ball_of(clip, ball, reading)
            save_ball(track, path)
        if len(takes) < _MAX_SHOWN:
            takes.append(_take(entry.load() if clip is None else clip, track))
        tracks.append(track)

    each_clip(entries, use, "fitting balls", "fitted with a ball")
    page = save_player(output / "player.html", takes, title="Fitted balls")
    columns = ("clip", "touches a second", "m/s", "plausible", "implausible frames")
    table(columns, [as_row(track) for track in tracks[:_MAX_ROWS]])
    if len(tracks) > _MAX_ROWS:
        note(f"... and {len(tracks) - _MAX_ROWS} more clips")
    implausible = np.concatenate([track.plausible for track in tracks]) < IMPLAUSIBLE
    touches = sum(len(track.touches) for track in tracks)
    captured = sum(track.captured for track in tracks)
    note(
        f"{len(tracks)} balls, {touches} touches; {implausible.mean():.1%} of the frames are "
        "implausible, and are not learnt from"
    )
    if captured:
        note(f"{captured} were captured with the motion")
    if kept:
        note(f"{len(kept)} of {len(tracks)} were fitted before with the same options")
    note(f"{page.stat().st_size / 1e6:.1f} MB: open {page}")
    if len(tracks) > 1:
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
