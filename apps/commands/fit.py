"""`deepphase fit`: phases by a rule, and the ground or the ball of clips."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from deepphase.apps.each_clip import each_clip
from deepphase.apps.options.groups import StoreOptions, folder_reader
from deepphase.apps.terminal import next_step, note, progress, table
from deepphase.errors import ParameterError

if TYPE_CHECKING:
    from deepphase.controllers.ball.ball_track import BallTrack
    from deepphase.corpus.clips import ClipEntry
    from deepphase.motion.ball import Ball
    from deepphase.motion.clip import Clip
    from deepphase.motion.roles import Roles
    from deepphase.terrain.fitting import PatchLibrary
    from deepphase.terrain.foot_track import FootTrack
    from deepphase.terrain.grounded_clip import ClipGround
    from deepphase.terrain.heightmap import Heightmap
    from deepphase.viewer.take import Take

_READING = StoreOptions()
# Takes of a page, more open slowly, and rows of the table.
_MAX_SHOWN, _MAX_ROWS = 12, 40
# Files that hold the options of the fits in a folder.
_GROUND_SETTINGS, _BALL_SETTINGS = "ground.json", "ball.json"
# Metres between the points of a ground, and around the places of the feet.
_SPACING_M, _MARGIN_M = 0.04, 1.0
# Length of the sides of made ground that clips are laid on.
_WHOLE_M = 30.0
# A football on short grass: metres, and its deceleration as a share of gravity.
_BALL_RADIUS_M, _ROLLING = 0.11, 0.07


def phases_command(
    store: Path,
    output: Path,
    method: Literal["contact", "pca", "pfnn"] = "contact",
    normalised: bool = False,
    reading: StoreOptions = _READING,
) -> None:
    """Fit phases by a rule, without training: baselines to compare trained phases with.

    Parameters
    ----------
    store
        A store, a folder of motion files, or one motion file.
    output
        Baseline file to write. encode, evaluate, figures, play and match build take it as a
        model.
    method
        Rule. contact fits one phase per foot, from its ground contacts; pca one per hand and foot,
        from its velocity along the principal axis; pfnn a single phase, from the foot strikes.
    normalised
        With pca: normalise the amplitude, which is in m/s otherwise.
    """
    from deepphase.atomic_write import check_writable
    from deepphase.corpus.prepare import corpus_of
    from deepphase.phase.extractor import baseline_named, fit_phases

    kind = baseline_named(method)
    if normalised and "normalised" not in kind.OPTIONS:
        raise ParameterError(
            f"--normalised applies to the method pca, not to {method}", hint="leave it out"
        )
    check_writable(output, example=f"{method}.phases")
    options = reading.corpus
    with progress() as on_progress:
        corpus = corpus_of(store, progress=on_progress, **options)
        baseline = fit_phases(
            corpus,
            method,
            normalised=normalised,
            description=options["description"],
            progress=on_progress,
        )
    baseline.save(output)
    channels = f"{baseline.channels} phase{'s' if baseline.channels > 1 else ''}"
    note(f"{channels}, fitted to {', '.join(baseline.limbs)} in windows of {baseline.window_s:g} s")
    note(f"{baseline.ORIGIN}; amplitude: {baseline.AMPLITUDE}")
    note(f"model: {output}")
    next_step("encode", output, store, "-o", "phases")


def ground_command(
    clips: list[Path],
    output: Path,
    fits: int = 1,
    laid: int = 0,
    kinds: str | None = None,
    patches: int = 20_000,
    seed: int = 0,
    reading: StoreOptions = _READING,
) -> None:
    """Fit the ground that clips were captured on to their feet, or lay them on made ground.

    Parameters
    ----------
    clips
        Motion files, folders of motion files, or stores.
    output
        Folder for the ground of each clip (.npz), which --terrain of other commands reads, and
        player.html. Clips whose ground is there already, made with the same options, are not
        fitted again.
    fits
        Number of grounds to fit to each clip: of the best patch under every gait cycle, of the
        second best, and so on.
    laid
        Number of made grounds to lay each clip on, for motion that was captured on a flat floor.
        Of 64 places of each ground, the one where the feet stand best is chosen.
    kinds
        Kinds of made ground, such as hills,stairs; all kinds if not given.
    patches
        Number of patches of made ground to compare with every gait cycle. 0 fits a plane that is
        deformed to touch the footsteps, the paper's baseline.
    seed
        Random seed of the made ground, its patches and places.
    """
    from deepphase.atomic_write import check_writable
    from deepphase.corpus.clips import clips_in
    from deepphase.terrain.ground_shapes import MADE_GROUNDS
    from deepphase.viewer.page import save_player

    chosen = tuple(MADE_GROUNDS) if kinds is None else tuple(kinds.split(","))
    settings: dict[str, object] = {
        "kinds": list(chosen),
        "patches": patches,
        "spacing": _SPACING_M,
        "margin": _MARGIN_M,
        "seed": seed,
    }
    for name, value, least in (("fits", fits, 0), ("laid", laid, 0), ("patches", patches, 0)):
        if value < least:
            raise ParameterError(f"--{name} must be at least {least}, not {value}")
    if not fits + laid:
        raise ParameterError("there is no ground", hint="give --fits or --laid a number above 0")
    if fits > 1 and not patches:
        raise ParameterError("footsteps alone give one ground", hint="give --fits 1")
    for name in chosen:
        if name not in MADE_GROUNDS:
            raise ParameterError(
                f"there is no kind of ground {name!r}", hint=f"kinds: {', '.join(MADE_GROUNDS)}"
            )
    entries = clips_in(clips, **reading.corpus)
    check_writable(output / "player.html")
    again = _keep_settings(output / _GROUND_SETTINGS, settings)
    maker = _GroundMaker(output, fits, laid, chosen, settings, again=again)
    takes: list[Take] = []
    names: dict[str, int] = {}

    def use(entry: ClipEntry) -> None:
        clip = entry.load()
        number = names[clip.name] = names.get(clip.name, 0) + 1
        stem = f"{clip.name}{f'-{number}' if number > 1 else ''}"
        takes.extend(maker.make(clip, stem)[: _MAX_SHOWN - len(takes)])

    each_clip(entries, use, "fitting ground", "fitted with ground")
    page = save_player(output / "player.html", takes, title="Fitted ground")
    table(("ground", "cycles", "distance at contacts (mm)", "rise of contacts (m)"), maker.rows)
    if maker.kept:
        note(f"{maker.kept} of {len(maker.rows)} were fitted before with the same options")
    note(f"{page.stat().st_size / 1e6:.1f} MB: open {page}")
    if len(entries) > 1:
        next_step("train controller", clips[0], "--terrain", output, "-o", "walk.controller")
    else:
        next_step("play", clips[0])


class _GroundMaker:
    """Makes the grounds of clips and their files, unless they were made before."""

    def __init__(
        self,
        folder: Path,
        fits: int,
        laid: int,
        kinds: tuple[str, ...],
        settings: Mapping[str, Any],
        *,
        again: bool,
    ) -> None:
        self._folder, self._fits, self._laid, self._kinds = folder, fits, laid, kinds
        self._settings, self._again = settings, again
        # Made ground takes seconds, which clips that were fitted before need not wait for.
        self._library: PatchLibrary | None = None
        self._whole: dict[str, Heightmap] = {}
        self._number = 0
        self.rows: list[list[str]] = []
        self.kept = 0

    def make(self, clip: Clip, stem: str) -> list[Take]:
        """Make the grounds of a clip; a take of each."""
        from deepphase.motion.roles import find_roles
        from deepphase.terrain.foot_track import FootTrack
        from deepphase.terrain.grounded_clip import GroundedClip
        from deepphase.viewer.actor import Actor
        from deepphase.viewer.take import Take

        track = FootTrack.of_clip(clip)
        roles, actor = find_roles(clip.skeleton, clip=clip), Actor.of(clip)
        takes = []
        for name, each in self._fitted(clip, stem, track, actor.floor):
            self._row(name, each.ground.shifted(-actor.floor), track)
            takes.append(Take.of(actor, name, terrain=each.ground))
        for name, each in self._placed(clip, stem, track, roles):
            laid = GroundedClip.of_clip(clip, each.ground, roles, laid=True)
            track = FootTrack.of_clip(laid.clip, contacts=laid.contacts)
            self._row(name, each.ground.shifted(-actor.floor), track)
            takes.append(Take.of(laid.clip, name, terrain=each.ground))
        return takes

    def _fitted(
        self, clip: Clip, stem: str, track: FootTrack, floor: float
    ) -> list[tuple[str, ClipGround]]:
        """Names and grounds that are fitted to a clip."""
        from deepphase.terrain.fitting import PatchLibrary, grounds_of_clip
        from deepphase.terrain.grounded_clip import ClipGround

        names = [f"{stem}{f'.fit-{rank}' if rank > 1 else ''}" for rank in range(1, self._fits + 1)]
        if not names:
            return []
        paths = [self._folder / f"{name}.npz" for name in names]
        if self._again and all(path.exists() for path in paths):
            self.kept += len(paths)
            return [(n, ClipGround.load(path)) for n, path in zip(names, paths, strict=True)]
        options = self._settings
        self._library = self._library or (
            PatchLibrary.made(options["patches"], options["seed"], self._kinds)
            if options["patches"]
            else PatchLibrary.level()
        )
        grounds = grounds_of_clip(
            track,
            self._library,
            len(names),
            spacing_m=_SPACING_M,
            margin_m=_MARGIN_M,
            name=clip.name,
        )
        made = [ClipGround(ground.shifted(floor), clip.name, laid=False) for ground in grounds]
        for path, each in zip(paths, made, strict=True):
            each.save(path)
        return list(zip(names, made, strict=True))

    def _placed(
        self, clip: Clip, stem: str, track: FootTrack, roles: Roles
    ) -> list[tuple[str, ClipGround]]:
        """Names and made grounds that a clip is laid on."""
        from deepphase.motion.contacts import foot_contacts
        from deepphase.terrain.ground_shapes import made_ground
        from deepphase.terrain.grounded_clip import ClipGround
        from deepphase.terrain.placing import best_place

        options, floor, made = self._settings, None, []
        for rank in range(1, self._laid + 1):
            # The kinds take turns over all clips.
            kind = self._kinds[self._number % len(self._kinds)]
            self._number += 1
            name = f"{stem}.laid-{rank}"
            path = self._folder / f"{name}.npz"
            if self._again and path.exists():
                self.kept += 1
                made.append((name, ClipGround.load(path)))
                continue
            if kind not in self._whole:
                self._whole[kind] = made_ground(kind, seed=options["seed"], size_m=_WHOLE_M)
            ground = best_place(
                track,
                self._whole[kind],
                spacing_m=_SPACING_M,
                margin_m=_MARGIN_M,
                seed=self._number,
            )
            floor = foot_contacts(clip, roles).floor if floor is None else floor
            each = ClipGround(ground.shifted(floor), clip.name, laid=True)
            each.save(path)
            made.append((name, each))
        return made

    def _row(self, name: str, ground: Heightmap, track: FootTrack) -> None:
        """Add a row: how far the ground is from the feet at contacts."""
        import numpy as np

        standing = track.contacts
        gaps = ground.at(track.places[standing]) - track.heights[standing]
        # The lowest contact of a laid clip need not be at the height of its floor.
        away = float(np.abs(gaps - np.median(gaps)).mean()) if gaps.size else float("nan")
        self.rows.append(
            [
                f"{name}.npz",
                str(len(track.cycles())),
                f"{1000 * away:.1f}" if gaps.size else "no contact",
                f"{np.ptp(track.heights[standing]) if gaps.size else 0.0:.2f}",
            ]
        )


def ball_command(
    clips: list[Path],
    output: Path,
    reading: StoreOptions = _READING,
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
    """
    from dataclasses import asdict

    import numpy as np

    from deepphase.atomic_write import check_writable
    from deepphase.controllers.ball.ball_file import (
        IMPLAUSIBLE,
        SUFFIX,
        as_row,
        load_ball,
        save_ball,
    )
    from deepphase.corpus.clips import clips_in
    from deepphase.motion.ball import Ball
    from deepphase.viewer.page import save_player

    ball = Ball(_BALL_RADIUS_M, rolling=_ROLLING)
    entries = clips_in(clips, **reading.corpus)
    check_writable(output / "player.html")
    again = _keep_settings(output / _BALL_SETTINGS, asdict(ball))
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
            takes.append(_ball_take(entry.load() if clip is None else clip, track))
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
    from deepphase.controllers.ball.captured import captured_ball
    from deepphase.controllers.ball.fitting import fit_ball
    from deepphase.formats.points import holds_points, load_points
    from deepphase.motion.point_track import ball_points
    from deepphase.motion.roles import find_roles

    roles = find_roles(clip.skeleton, description=reading.description, clip=clip)
    path = Path(clip.source.path)
    if clip.source.path and path.is_file() and holds_points(path):
        track = load_points(path, **folder_reader(path))
        if ball_points(track.names):
            return captured_ball(track, clip, ball, roles)
    return fit_ball(clip, ball, roles=roles)


def _ball_take(clip: Clip, track: BallTrack) -> Take:
    from deepphase.viewer.actor import Actor
    from deepphase.viewer.take import Curve, Marker, Take

    actor = Actor.of_clip(clip).with_ball(track.positions, track.ball.radius_m)
    touches = [
        Marker(f"touch by {foot}", frame / track.fps, frame / track.fps)
        for frame, foot in zip(track.touches.frames.tolist(), track.touches.feet, strict=True)
    ]
    plausible = Curve("plausible", "", track.plausible, track.fps)
    return Take.of(actor, clip.name, curves=[plausible], markers=touches)


def _keep_settings(path: Path, settings: Mapping[str, Any]) -> bool:
    """Write settings of a folder of fits; returns whether the file held the same ones before.

    What was fitted with the same ones is not fitted again.

    Raises CheckpointError if the file cannot be written.
    """
    from deepphase.atomic_write import atomic_write

    text = json.dumps(settings)
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        before = None
    with atomic_write(path) as file:
        file.write(text.encode())
    return bool(before == json.loads(text))
