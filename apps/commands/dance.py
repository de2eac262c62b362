"""`deepphase dance`."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Literal

import deepphase as dp
from deepphase.apps.input_checks import claim_folder
from deepphase.apps.terminal import next_step, note, note_shipped, progress, table, warn
from deepphase.errors import ParameterError
from deepphase.shipped import SHIPPED


def command(
    song: Path,
    output: Path = Path("dance"),
    dancer: Path | None = None,
    database: Path | None = None,
    seed: int = 0,
    start: float = 0.0,
    seconds: float | None = None,
    beats: Path | None = None,
    bpm: float | None = None,
    variety: float | None = None,
    root_motion: Literal["auto", "root", "hips", "in_place"] = "auto",
) -> None:
    """Make a new dance to a song, as BVH, glb and a page that plays it with its sound.

    Without --dancer and --database, the shipped dancer dances, which learnt from salsa, Indian and
    modern dances of CMU (mocap.cs.cmu.edu).

    Parameters
    ----------
    song
        Sound file (.wav, .flac, .ogg, .mp3 ...) of any sample rate and number of channels; with
        PyAV (`pip install "deepphase[av]"`) also .m4a and videos with sound.
    output
        Folder for index.html, which plays the dance, report.json, .bvh, .glb and a table of phases.
    dancer
        Dancer of `deepphase train dance`.
    database
        Motion database of dances, of `deepphase match build --config dance_music`, in place of a
        dancer.
    seed
        Random seed; each seed gives another dance.
    start
        Time in the song at which the dance starts, in seconds.
    seconds
        Length of the dance; to the end of the song if not given.
    beats
        Text file of the song's beats: one time in seconds a line, optionally with the number of the
        beat in its bar, or labels of Audacity. If not given, the file with the suffix .beats beside
        the song; where there is none, beats are detected.
    bpm
        About how many beats a minute the song has, where beats are detected at half or twice the
        tempo that people count. Without it the tempo is found, too.
    variety
        How much the dance varies, from 0 to 2. A trained dancer continues from another training
        pose every 8 / variety seconds, 5.3 s if not given, and never at 0. A database chooses among
        pieces that cost up to so much more, 0.1 if not given.
    """
    from deepphase.music.beats_file import check_beats

    # Refused before anything long is imported.
    check_beats(song, beats, bpm)
    from deepphase.apps.dances import DanceSource, dance_report, dance_stem
    from deepphase.apps.reports.page import MOTION_SUFFIXES, headline_table
    from deepphase.steering.dance import DanceRequest

    if dancer is not None and database is not None:
        raise ParameterError(
            "--dancer and --database cannot be used together", hint="give one of them"
        )
    request = DanceRequest(start, seconds, seed, variety=variety)
    if dancer is not None:
        source = DanceSource.from_dancer(dp.controllers.Dancer.load(dancer), dancer.name)
    elif database is None:
        note_shipped(SHIPPED["dancer"], "danced by a dancer ")
        source = DanceSource.shipped()
    else:
        motions = dp.matching.MotionDatabase.load(database)
        source = DanceSource.from_database(motions, database.name, warn)
    features = dp.music.song_features(song, beats=beats, bpm=bpm)
    if features.doubt:
        warn(features.doubt)
    stem = dance_stem(features.name)
    claim_folder(output, (f"{stem}{suffix}" for suffix in (*MOTION_SUFFIXES, ".phases.csv")))
    with progress() as shown:
        result = source.dance(features, request, shown)
        page, measures, findings = dance_report(result, source, request, song, output, root_motion)
    for text in result.notes:
        warn(text)
    table(*headline_table({"this dance": measures}, "recorded dances"))
    for finding in findings:
        note(finding.text)
    note(f"report: {page}")
    options = {"--database": database, "--dancer": dancer, "--beats": beats, "--bpm": bpm}
    used = chain(*(each for each in options.items() if each[1] is not None))
    next_step("dance", song, *used, "-o", output, "--seed", seed + 1)
