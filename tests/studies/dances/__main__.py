"""Measure sets of dances against their songs, and let dancers and databases dance in trials.

python -m tests.studies.dances RECORDED SET ... --labels 'DANCE_{dance}_{_take}' --by dance
python -m tests.studies.dances RECORDED --dancers waltz.dancer --databases dances.db -o trials.json

Every file of a folder stands beside a song of the same name (.wav, .flac, .ogg, .mp3). The first
folder holds the recorded dances: the distance between their halves is the scale, and each score is
followed by its controls (chance, the song at another tempo, other songs). In trials, dancers and
databases dance to songs of the first folder that they do not know, to silence, and to the songs at
other tempi. Beat alignment over motion beats rewards few accents, over music beats many; recorded
dances can be at chance in both, and whether a dance follows its song shows at the bar.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from deepphase.apps.dances.databases import known_songs
from deepphase.apps.dances.makers import DatabaseDanceMaker, NetworkDanceMaker
from deepphase.controllers.dance.dancer import Dancer
from deepphase.matching.database.database import MotionDatabase
from tests.studies.dances.dances_report import dances_report
from tests.studies.dances.response_rows import TriedMaker

_warn = partial(print, file=sys.stderr)


def makers(dancers: list[Path], databases: list[Path]) -> list[TriedMaker]:
    """Dancers and databases from files, with the songs that they know."""
    found = []
    for path in dancers:
        dancer = Dancer.load(path)
        known = [*dancer.controller.provenance.get("songs", ())]
        found.append(TriedMaker(path.name, NetworkDanceMaker(dancer, path.name), known))
    for path in databases:
        database = MotionDatabase.load(path)
        maker = DatabaseDanceMaker(database, path.name, _warn)
        found.append(TriedMaker(path.name, maker, known_songs(database)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--beats-per-bar", type=int, help="if not given, bars of 3 and of 4")
    parser.add_argument("--labels", help="pattern that reads labels from file names")
    parser.add_argument("--by", help="label whose values are reported separately")
    parser.add_argument("--dancers", type=Path, nargs="*", default=[])
    parser.add_argument("--databases", type=Path, nargs="*", default=[])
    parser.add_argument("--seeds", type=int, default=8, help="dances to each song")
    parser.add_argument("--seconds", type=float, default=30.0, help="largest length of a dance")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    report = dances_report(
        options.folders,
        options.output,
        beats_per_bar=options.beats_per_bar,
        labels=options.labels,
        by=options.by,
        makers=makers(options.dancers, options.databases),
        seeds=options.seeds,
        seconds=options.seconds,
        warn=_warn,
    )
    for line in report.findings:
        print(line)
    for row in (report.columns, ["---"] * len(report.columns), *report.rows):
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
