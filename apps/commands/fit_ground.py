"""`deepphase fit ground`."""

from __future__ import annotations

import json
from pathlib import Path

from apps.options.groups import StoreOptions
from apps.terminal import list_left_out, next_step, note, progress, table
from deepphase.errors import DeepPhaseError, FormatError, ParameterError

# Takes of the page; more open slowly.
_MAX_SHOWN = 12
_SETTINGS = "ground.json"


def command(
    clips: list[Path],
    output: Path,
    patches: int = 20_000,
    spacing: float = 0.04,
    margin: float = 1.0,
    seed: int = 0,
    reading: StoreOptions = StoreOptions(),  # noqa: B008 (frozen)
) -> None:
    """Fit the ground that clips were captured on to their feet, such as boxes and stairs.

    Parameters
    ----------
    clips
        Motion files, folders of motion files, or stores.
    output
        Folder for the ground of each clip (.npz), which --terrain of other commands reads, and
        player.html. Clips whose ground is there already, made with the same options, are not
        fitted again.
    patches
        Number of patches of made ground to compare with every gait cycle.
    spacing
        Metres between the points of the ground.
    margin
        Metres of ground around the feet's places.
    seed
        Random seed of the made ground and its patches.
    """
    import numpy as np

    from deepphase.atomic_write import atomic_write, check_writable
    from deepphase.corpus.clips import clips_in
    from deepphase.figures.player.actor import Actor
    from deepphase.figures.player.page import save_player
    from deepphase.figures.player.take import Take
    from deepphase.terrain.fitting import PatchLibrary, ground_of_clip
    from deepphase.terrain.foot_track import FootTrack
    from deepphase.terrain.ground_file import read_ground, save_ground

    settings = {"patches": patches, "spacing": spacing, "margin": margin, "seed": seed}
    if patches < 1:
        raise ParameterError(f"--patches must be at least 1, not {patches}")
    entries = clips_in(
        clips, skeleton=reading.skeleton, description=reading.description, **reading.reader
    )
    check_writable(output / "player.html")
    again = _settings_of(output / _SETTINGS) == settings
    with atomic_write(output / _SETTINGS) as file:
        file.write(json.dumps(settings).encode())
    # Made ground takes seconds, and nobody needs it where all clips were fitted before.
    library: PatchLibrary | None = None
    rows: list[list[str]] = []
    takes: list[Take] = []
    kept = 0
    refused: list[DeepPhaseError] = []
    names: dict[str, int] = {}
    with progress() as on_progress:
        for count, entry in enumerate(entries, start=1):
            try:
                clip = entry.load()
                track = FootTrack.of_clip(clip)
                number = names[clip.name] = names.get(clip.name, 0) + 1
                path = output / f"{clip.name}{f'-{number}' if number > 1 else ''}.npz"
                actor = Actor.of_clip(clip)
                floor = actor.floor
                if again and path.exists():
                    ground, kept = read_ground(path), kept + 1
                else:
                    library = library or PatchLibrary.made(patches, seed)
                    ground = ground_of_clip(
                        track, library, spacing_m=spacing, margin_m=margin, name=clip.name
                    ).shifted(floor)
                    save_ground(ground, path)
            except DeepPhaseError as error:
                refused.append(error)
                continue
            finally:
                on_progress("fitting ground", count, len(entries), "")
            standing = track.contacts
            gaps = ground.at(track.places[standing]) - floor - track.heights[standing]
            away = float(np.abs(gaps).mean()) if gaps.size else float("nan")
            rows.append(
                [
                    path.name,
                    str(len(track.cycles())),
                    f"{1000 * away:.1f}" if gaps.size else "no contact",
                    f"{np.ptp(track.heights[standing]) if gaps.size else 0.0:.2f}",
                ]
            )
            if len(takes) < _MAX_SHOWN:
                takes.append(Take(clip.name, [actor], terrain=ground))
    if len(entries) == len(refused) == 1:
        raise refused[0]
    list_left_out("left out", refused)
    if not rows:
        raise FormatError(
            f"no ground for any of {len(refused)} clips", hint="the reasons are listed above"
        )
    page = save_player(output / "player.html", takes, title="Fitted ground")
    table(("ground", "cycles", "distance at contacts (mm)", "rise of contacts (m)"), rows)
    if kept:
        note(f"{kept} of {len(rows)} were fitted before with the same options")
    note(f"{page.stat().st_size / 1e6:.1f} MB: open {page}")
    next_step("play", clips[0])


def _settings_of(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
