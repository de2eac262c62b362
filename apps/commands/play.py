"""`deepphase play`."""

from __future__ import annotations

from pathlib import Path

from apps.terminal import list_left_out, note, progress
from deepphase.errors import DeepPhaseError, FormatError, ParameterError

# Clips of one page: their names are still a list, and the page opens at once.
_MOST = 24


def command(
    clips: list[Path],
    output: Path = Path("player.html"),
    model: Path | None = None,
    song: Path | None = None,
    together: bool = False,
    most: int = _MOST,
    skeleton: str | None = None,
    unit: str | None = None,
    up: str | None = None,
    file_fps: float | None = None,
) -> None:
    """Play clips in a page that opens in any browser, offline.

    Parameters
    ----------
    clips
        Motion files, folders of them, or stores.
    output
        The page.
    model
        A phase model: shows the phases of every frame beside the motion.
    song
        A sound file that is played to the clips from their start; of one clip, if not given, that
        which lies beside it with the same name.
    together
        All clips at once, on one stage and without phases.
    most
        Clips of a page, at most; where there are more, some that are spread over all.
    skeleton
        Which skeleton group of a store.
    unit
        Unit of the files (m, cm, mm, inch, foot or metres as a number); inferred if not given.
    up
        Up axis of the files (x, y, z, -x, -y, -z); inferred if not given.
    file_fps
        Frames a second of the files, where theirs is wrong.
    """
    import numpy as np

    from apps.reports.heard_song import heard_song
    from apps.reports.player_takes import takes_of_clips
    from deepphase.corpus.clips import clips_in
    from deepphase.corpus.motion_files import song_beside
    from deepphase.figures.player.actor import Actor
    from deepphase.figures.player.page import save_player
    from deepphase.figures.player.take import Take
    from deepphase.motion.clip import Clip
    from deepphase.replacing import check_writable

    if most < 1:
        raise ParameterError(f"a page of {most} clips", hint="it takes one clip or more")
    if together and model is not None:
        raise ParameterError(
            "phases of several bodies at once cannot be shown", hint="leave out --together"
        )
    check_writable(output)
    heard = None if song is None else heard_song(song)
    entries = clips_in(clips, skeleton=skeleton, unit=unit, up=up, fps=file_fps)
    chosen = np.unique(np.linspace(0, len(entries) - 1, min(most, len(entries))).round())
    read: list[Clip] = []
    phases = []
    refused: list[DeepPhaseError] = []
    trained = None
    if model is not None:
        from deepphase.phase.extractor import load_extractor

        trained = load_extractor(model)
    with progress() as shown:
        for count, index in enumerate(chosen.astype(int).tolist(), start=1):
            try:
                clip = entries[index].load()
                if trained is not None:
                    phases.append(trained.encode(clip))
                read.append(clip)
            except DeepPhaseError as error:
                refused.append(error)
            shown("reading", count, len(chosen), "")
    if len(chosen) == len(refused) == 1:
        raise refused[0]
    list_left_out("left out", refused)
    if not read:
        raise FormatError(
            f"none of {len(refused)} clips could be read", hint="the reasons stand above"
        )
    if heard is None and len(read) == 1:
        source = Path(read[0].source.path)
        beside = song_beside(source)
        heard = heard_song(source.with_name(beside)) if beside else None
    title = read[0].name if len(read) == 1 else f"{len(read)} clips"
    if together:
        actors = [Actor.of_clip(clip) for clip in read]
        takes = [Take(title, actors, song=heard)]
    else:
        takes = takes_of_clips(read, phases, trained, heard)
    page = save_player(output, takes, title=title)
    if len(entries) > len(chosen):
        note(f"{len(chosen)} of {len(entries)} clips (--most N takes more)")
    note(f"{page.stat().st_size / 1e6:.1f} MB: open {page}")
