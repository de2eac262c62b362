"""Dances as page Dance shows them: made once, with their measures and files."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from apps.pages.parts.dancers import OpenDancer
from apps.pages.parts.result_cache import ResultCache
from apps.pages.parts.songs import OpenSong
from apps.reports.dance_report import dance_report, dance_take
from deepphase.figures.player.take import Take
from deepphase.music.dance_wish import DanceWish
from deepphase.progress import Progress

# Dances kept for all sessions together.
_KEPT = 6


@dataclass(frozen=True, eq=False)
class DancedSong:
    """A dance as a page shows it.

    Parameters
    ----------
    take
        For the player, with its sound.
    columns, rows
        Its measures, as texts.
    files
        Suffix, as in "bvh" -> the content of that file.
    report
        The folder that `deepphase dance` writes, as a ZIP file.
    notes
        What deserves to be said, in words.
    """

    take: Take
    columns: list[str]
    rows: list[list[str]]
    files: Mapping[str, bytes]
    report: bytes
    notes: tuple[str, ...]


@st.cache_resource(show_spinner=False)
def kept_dances() -> ResultCache[DancedSong]:
    """One for the whole program."""
    return ResultCache(_KEPT)


def danced_song(
    dancer: OpenDancer, song: OpenSong, wish: DanceWish, progress: Progress
) -> DancedSong:
    """Let somebody dance.

    Raises
    ------
    DeepPhaseError
        Where it cannot be danced like that.
    """
    dance = dancer.maker.dance(song.features, wish, progress)
    with tempfile.TemporaryDirectory(prefix="deepphase-") as place, song.as_file() as file:
        folder = Path(place)
        report = dance_report(dance, file, folder, progress)
        # Its own texts stand beside the player.
        take = dance_take(dance, file)
        files = {
            path.suffix.removeprefix("."): path.read_bytes()
            for path in folder.iterdir()
            if path.suffix in (".bvh", ".glb", ".csv")
        }
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.iterdir()):
                archive.write(path, path.name)
    return DancedSong(take, report.columns, report.rows, files, content.getvalue(), dance.notes)
