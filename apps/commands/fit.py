"""`deepphase fit`: phases by a rule, and the ground or the ball of clips."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import deepphase as dp
from deepphase.apps import terminal
from deepphase.apps.input_checks import claim_file, claim_folder
from deepphase.apps.options import folder_reader
from deepphase.corpus.motion_files import unique_stems
from deepphase.formats.load import holds_points

if TYPE_CHECKING:
    from deepphase.controllers.ball.ball_track import BallTrack
    from deepphase.corpus.clips import ClipEntry
    from deepphase.motion.ball import Ball
    from deepphase.terrain.foot_track import FootTrack

# Takes of a page; more open slowly.
_MAX_SHOWN = 12
# Metres between the points of a ground, and around the places of the feet.
_SPACING_M, _MARGIN_M = 0.04, 1.0
# Length of the sides of made ground that clips are laid on, and its random seed.
_WHOLE_M, _SEED = 30.0, 0
# A football on short grass: metres, and its deceleration as a share of gravity.
_BALL_RADIUS_M, _ROLLING = 0.11, 0.07


def phases_command(
    store: Path,
    output: Path,
    method: Literal["contact", "pca", "pfnn"] = "contact",
    skeleton: str | None = None,
) -> None:
    """Fit phases by a rule, without training: baselines to compare trained phases with.

    Parameters
    ----------
    output
        Baseline file to write. encode, evaluate, figures, play and match build take it as a
        model.
    method
        Rule. contact fits one phase per foot, from its ground contacts; pca one per hand and foot,
        from its velocity along the principal axis; pfnn a single phase, from the foot strikes.
    """
    claim_file(output, example=f"{method}.phases")
    with terminal.progress() as on_progress:
        corpus = terminal.read_corpus(store, skeleton=skeleton, progress=on_progress)
        baseline = dp.phase.fit_phases(
            corpus, method, description=corpus.description, progress=on_progress
        )
    baseline.save(output)
    channels = f"{baseline.channels} phase{'s' if baseline.channels > 1 else ''}"
    terminal.note(
        f"{channels}, fitted to {', '.join(baseline.limbs)} in windows of {baseline.window_s:g} s"
    )
    terminal.note(f"{baseline.ORIGIN}; amplitude: {baseline.AMPLITUDE}")
    terminal.note(f"model: {output}")
    terminal.next_step("encode", output, store, "-o", "phases")


def ground_command(
    clips: list[Path],
    output: Path,
    fits: int = 1,
    laid: int = 0,
    patches: int = 20_000,
    skeleton: str | None = None,
) -> None:
    """Fit the ground that clips were captured on to their feet, or lay them on made ground.

    Parameters
    ----------
    output
        Folder for the ground of each clip (.npz), which --terrain of other commands reads, and
        index.html, which plays them.
    fits
        Number of grounds to fit to each clip: of the best patch under every gait cycle, of the
        second best, and so on.
    laid
        Number of made grounds to lay each clip on, for motion that was captured on a flat floor.
        Of 64 places of each ground, the one where the feet stand best is chosen.
    patches
        Number of patches of made ground to compare with every gait cycle. 0 fits a plane that is
        deformed to touch the footsteps, the paper's baseline.
    """
    from deepphase.apps.reports.page import Page
    from deepphase.corpus.clips import clips_in
    from deepphase.terrain.fitting import PatchLibrary, grounds_of_clip
    from deepphase.terrain.foot_track import FootTrack
    from deepphase.terrain.grounded_clip import ClipGround, GroundedClip
    from deepphase.terrain.heightmap import MADE_GROUNDS
    from deepphase.terrain.placing import best_place

    kinds = tuple(MADE_GROUNDS)
    if not fits + laid:
        raise dp.ParameterError("there is no ground", hint="give --fits or --laid a number above 0")
    if fits > 1 and not patches:
        raise dp.ParameterError("footsteps alone give one ground", hint="give --fits 1")
    entries = clips_in(clips, skeleton=skeleton)
    stems = unique_stems(entry.name for entry in entries)
    tails = ["", *(f".fit-{rank}" for rank in range(2, fits + 1))] if fits else []
    tails += [f".laid-{rank}" for rank in range(1, laid + 1)]
    claim_folder(output, (f"{stem}{tail}.npz" for stem in stems for tail in tails))
    library = None
    if fits:
        library = PatchLibrary.made(patches, _SEED, kinds) if patches else PatchLibrary.level()
    whole: dict[str, dp.terrain.Heightmap] = {}
    takes: list[dp.viewer.Take] = []
    rows: list[list[str]] = []
    own_stems, numbers = iter(stems), count()

    def add(
        name: str, ground: ClipGround, shown: dp.viewer.Actor, track: FootTrack, floor: float
    ) -> None:
        ground.save(output / f"{name}.npz")
        rows.append(_ground_row(name, ground.ground.shifted(-floor), track))
        if len(takes) < _MAX_SHOWN:
            takes.append(dp.viewer.Take.from_motions(shown, name, terrain=ground.ground))

    def use(entry: ClipEntry) -> None:
        stem, clip = next(own_stems), entry.load()
        track = FootTrack.from_clip(clip)
        roles, actor = (
            dp.motion.find_roles(clip.skeleton, clip=clip),
            dp.viewer.Actor.from_motion(clip),
        )
        options: dict[str, Any] = {"spacing_m": _SPACING_M, "margin_m": _MARGIN_M}
        if library is not None:
            found = grounds_of_clip(track, library, fits, name=clip.name, **options)
            for rank, heights in enumerate(found, start=1):
                ground = ClipGround(heights.shifted(actor.floor), clip.name, laid=False)
                name = f"{stem}{f'.fit-{rank}' if rank > 1 else ''}"
                add(name, ground, actor, track, actor.floor)
        for rank in range(1, laid + 1):
            # The kinds take turns over all clips.
            number = next(numbers)
            kind = kinds[number % len(kinds)]
            if kind not in whole:
                whole[kind] = dp.terrain.made_ground(kind, seed=_SEED, size_m=_WHOLE_M)
            heights = best_place(track, whole[kind], seed=number + 1, **options)
            floor = dp.foot_contacts(clip, roles).floor
            ground = ClipGround(heights.shifted(floor), clip.name, laid=True)
            grounded = GroundedClip.from_clip(clip, ground.ground, roles, laid=True)
            own = FootTrack.from_clip(grounded.clip, contacts=grounded.contacts)
            add(
                f"{stem}.laid-{rank}",
                ground,
                dp.viewer.Actor.from_motion(grounded.clip),
                own,
                actor.floor,
            )

    refused = terminal.each_clip(entries, use, "fitting ground", "fitted with ground")
    columns = ("ground", "cycles", "distance at contacts (mm)", "rise of contacts (m)")
    terminal.table(columns, rows)
    page = Page("Fitted ground").add_takes(takes).add_table(columns, rows, heading="Grounds")
    terminal.note(f"report: {page.write(output / 'index.html')}")
    terminal.refuse_unwritten(refused)
    if len(entries) > 1:
        with_ground = ("--terrain", output, "--config", "mann")
        terminal.next_step("train", "controller", clips[0], *with_ground, "-o", "walk.controller")
    else:
        terminal.next_step("play", clips[0])


def _ground_row(name: str, ground: dp.terrain.Heightmap, track: FootTrack) -> list[str]:
    """How far a ground is from the feet at contacts."""
    import numpy as np

    standing = track.contacts
    gaps = ground.at(track.places[standing]) - track.heights[standing]
    # The lowest contact of a laid clip need not be at the height of its floor.
    away = float(np.abs(gaps - np.median(gaps)).mean()) if gaps.size else float("nan")
    return [
        f"{name}.npz",
        str(len(track.cycles())),
        f"{1000 * away:.1f}" if gaps.size else "no contact",
        f"{np.ptp(track.heights[standing]) if gaps.size else 0.0:.2f}",
    ]


def ball_command(clips: list[Path], output: Path, skeleton: str | None = None) -> None:
    """Fit a ball to the feet of clips that were captured without one, as in dribbling.

    Parameters
    ----------
    clips
        Motion files, folders of motion files, or stores. Of a file with a point named ball, that
        ball is taken.
    output
        Folder for the ball of each clip (.ball), which --ball of other commands reads, and
        index.html, which plays them.
    """
    import numpy as np

    from deepphase.apps.reports.page import Page
    from deepphase.controllers.ball.ball_track import IMPLAUSIBLE, SUFFIX, as_row, save_ball
    from deepphase.corpus.clips import clips_in
    from deepphase.motion.ball import Ball

    ball = Ball(_BALL_RADIUS_M, rolling=_ROLLING)
    entries = clips_in(clips, skeleton=skeleton)
    stems = iter(names := unique_stems(entry.name for entry in entries))
    claim_folder(output, (f"{name}{SUFFIX}" for name in names))
    tracks: list[BallTrack] = []
    takes: list[dp.viewer.Take] = []

    def use(entry: ClipEntry) -> None:
        stem, clip = next(stems), entry.load()
        track = _ball_of(clip, ball)
        save_ball(track, output / f"{stem}{SUFFIX}")
        if len(takes) < _MAX_SHOWN:
            takes.append(_ball_take(clip, track))
        tracks.append(track)

    refused = terminal.each_clip(entries, use, "fitting balls", "fitted with a ball")
    columns = ("clip", "touches a second", "m/s", "plausible", "implausible frames")
    rows = [as_row(track) for track in tracks]
    terminal.table(columns, rows, more="clips")
    implausible = np.concatenate([track.plausible for track in tracks]) < IMPLAUSIBLE
    touches = sum(len(track.touches) for track in tracks)
    captured = sum(track.captured for track in tracks)
    found = f"{len(tracks)} balls, {touches} touches; {implausible.mean():.1%} of the frames"
    terminal.note(f"{found} are implausible, and are not learnt from")
    if captured:
        terminal.note(f"{captured} were captured with the motion")
    page = Page("Fitted balls").add_takes(takes).add_table(columns, rows, heading="Balls")
    terminal.note(f"report: {page.write(output / 'index.html')}")
    terminal.refuse_unwritten(refused)
    if len(tracks) > 1:
        with_balls = ("--ball", output, "--config", "ball_no_phase")
        terminal.next_step("train", "controller", clips[0], *with_balls, "-o", "dribble.controller")


def _ball_of(clip: dp.Clip, ball: Ball) -> BallTrack:
    """The captured ball of a clip, or else the fitted one."""
    from deepphase.controllers.ball.captured import captured_ball
    from deepphase.controllers.ball.fitting import fit_ball
    from deepphase.formats.points import load_points
    from deepphase.motion.point_track import ball_points

    roles = dp.motion.find_roles(clip.skeleton, clip=clip)
    path = Path(clip.source.path)
    if clip.source.path and path.is_file() and holds_points(path):
        track = load_points(path, **folder_reader(path))
        if ball_points(track.names):
            return captured_ball(track, clip, ball, roles)
    return fit_ball(clip, ball, roles=roles)


def _ball_take(clip: dp.Clip, track: BallTrack) -> dp.viewer.Take:
    from deepphase.viewer.take import Curve, Marker

    actor = dp.viewer.Actor.from_clip(clip).with_ball(track.positions, track.ball.radius_m)
    times = (track.touches.frames / track.fps).tolist()
    feet = zip(times, track.touches.feet, strict=True)
    touches = [Marker(f"touch by {foot}", time, time) for time, foot in feet]
    plausible = Curve("plausible", "", track.plausible, track.fps)
    return dp.viewer.Take.from_motions(actor, clip.name, curves=[plausible], markers=touches)
