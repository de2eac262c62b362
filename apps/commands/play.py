"""`deepphase play`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import deepphase as dp
from deepphase.apps.input_checks import claim_file
from deepphase.apps.terminal import each_clip, next_step, note
from deepphase.corpus.motion_files import song_beside
from deepphase.motion.clip import Clip

if TYPE_CHECKING:
    from deepphase.corpus.clips import ClipEntry

# With more clips the list of names gets long, and the page opens slowly.
_MAX_CLIPS = 24


def command(
    clips: list[Path],
    output: Path = Path("player.html"),
    model: Path | None = None,
    song: Path | None = None,
    skeleton: str | None = None,
) -> None:
    """Write a page that plays clips in any browser, offline.

    Parameters
    ----------
    output
        HTML page to write.
    model
        Phase model whose phases are shown beside the motion.
    song
        Sound file to play from the start of each clip. If not given, a single clip is played
        with the song of the same name in its folder.
    """
    import numpy as np

    from deepphase.apps.reports.player import song_for_player, takes_of_clips
    from deepphase.corpus.clips import clips_in

    claim_file(output)
    audio = None if song is None else song_for_player(song)
    loaded = trained = None
    if model is not None:
        loaded = dp.load_model(model)
    joints = () if loaded is None else loaded.signals.joints
    entries = clips_in(clips, joints=joints, skeleton=skeleton)
    chosen = np.unique(np.linspace(0, len(entries) - 1, min(_MAX_CLIPS, len(entries))).round())
    read: list[Clip] = []
    phases = []

    def use(entry: ClipEntry) -> None:
        nonlocal trained
        clip = entry.load()
        if loaded is not None:
            phases.append(loaded.encode(clip))
            trained = trained or loaded.bound(clip)
        read.append(clip)

    each_clip([entries[index] for index in chosen.astype(int)], use, "reading", "read")
    if audio is None and len(read) == 1:
        source = Path(read[0].source.path)
        beside = song_beside(source)
        audio = song_for_player(source.with_name(beside)) if beside else None
    title = read[0].name if len(read) == 1 else f"{len(read)} clips"
    page = dp.save_player(output, takes_of_clips(read, phases, trained, audio), title=title)
    if len(entries) > len(chosen):
        note(f"{len(chosen)} of {len(entries)} clips, an even selection")
    note(f"{page.stat().st_size / 1e6:.1f} MB: open {page}")
    next_step("app", clips[0] if clips[0].is_dir() else clips[0].parent)
