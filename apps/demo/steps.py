"""Commands that `deepphase demo` runs one after the other, as one types them in its folder."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deepphase.apps.demo.motion import EVALUATION, LIVE, MODEL, PHASES, REPORT, STORE
from deepphase.progress import Progress

DATABASE, MATCHES, RUN, FIGURES = "clips.db", "matches", "run", "figures"
CONTROLLER, SONG, DANCES, DANCE = "gaits.controller", "song.wav", "dances.db", "dance"
DANCES_STORE = "dances.store"
STEERED, MATCHER, COMPARED = "steered.db", "steered.matcher", "compared"
# Sign before a word that is a file.
_FILE = "@"
# Tempo and metre of the song that is danced to; no dance of the database has that tempo.
_TEMPO_BPM, _BEATS_PER_BAR, _SONG_SEED, _SONG_S = 110.0, 4, 77, 14.0


@dataclass(frozen=True)
class DemoStep:
    """A command of the demo.

    Parameters
    ----------
    heading, words
        What it does, and what its report shows.
    command
        As one types it in the folder of the demo, with a sign before the name of each file, as in
        "match build @clips.store -o @clips.db".
    report
        Page that it writes, relative to the folder; empty without one.
    player
        Page whose players the page of the demo shows.
    """

    heading: str
    words: str
    command: str
    report: str = ""
    player: str = ""

    @property
    def line(self) -> str:
        """The command as one types it in the folder."""
        words = [_with_files(word, "") for word in shlex.split(self.command)]
        return shlex.join(["deepphase", *words])

    def run(self, folder: Path) -> None:
        """Call the command's function with files of a folder."""
        from deepphase.apps.cli import COMMANDS, command_named
        from deepphase.apps.options.command_line import read_command_line

        words = [_with_files(word, f"{folder}/") for word in shlex.split(self.command)]
        count = 2 if " ".join(words[:2]) in COMMANDS else 1
        name = " ".join(words[:count])
        command = command_named(name)
        command(**read_command_line(name, command, words[count:]).arguments)


def _with_files(word: str, begin: str) -> str:
    """A word, or several separated by commas, with the begin of the path of each file."""
    parts = word.split(",")
    if not all(part.startswith(_FILE) for part in parts):
        return word
    # An absolute path stays as it is.
    files = [part.removeprefix(_FILE) for part in parts]
    return ",".join(file if os.path.isabs(file) else f"{begin}{file}" for file in files)


def _file(path: str | Path) -> str:
    """A file as a word of a command."""
    return shlex.quote(f"{_FILE}{path}")


def prepare_step(source: Path) -> DemoStep:
    """Reading of the clips."""
    return DemoStep(
        "Read the clips",
        "The files are checked, resampled to 60 frames per second and written into one store.",
        f"prepare {_file(source)} -o @{STORE}",
    )


def train_step(options: Sequence[str], *, toy: bool) -> DemoStep:
    """Training, with the options of the demo's size and skeleton."""
    return DemoStep(
        "Learn phases",
        "From joint velocities alone, without labels, a periodic autoencoder learns to describe "
        "the movement around every frame by a few sinusoids, its phase channels. The report says "
        "whether the training worked.",
        f"train phase @{STORE} -o @{MODEL} {shlex.join(options)}",
        f"{REPORT}/index.html",
    )


def encode_step(clips: Path) -> DemoStep:
    """Encoding of the held-out clips."""
    return DemoStep(
        "Compute phases",
        "Phase, frequency, amplitude and offset of every frame and channel, one file per clip.",
        f"encode @{MODEL} {_file(clips)} -o @{PHASES}",
    )


def steps_after_encoding(clips: Path, query: str, frame: int, *, toy: bool) -> list[DemoStep]:
    """Everything that follows: measures, figures, matches, a controller, a dance, a live page.

    Parameters
    ----------
    clips
        The held-out clips.
    query, frame
        Name of a clip of the store and index of its frame, whose matches are searched for.
    toy
        Compute less of everything.
    """
    held_out, seconds = _file(clips), "6" if toy else "12"
    return [
        DemoStep(
            "Measure the model",
            "The wheels are the phase channels: the angle of a hand is the phase, its length the "
            "amplitude. Click anywhere in the strips, and body, wheels and ring go to that moment. "
            "The report measures how well the phases describe clips outside the training.",
            f"evaluate @{MODEL} {held_out} -o @{EVALUATION} --queries 1000",
            f"{EVALUATION}/index.html",
            f"{EVALUATION}/player.html",
        ),
        DemoStep(
            "Draw figures",
            "The phase manifold in 2D and 3D, the parameters over time, and their distributions. "
            "Periodic movement forms rings, with one turn per cycle.",
            f"figures @{MODEL} {held_out} -o @{FIGURES} {'' if toy else '--png'}",
            f"{FIGURES}/index.html",
        ),
        DemoStep(
            "Build a motion database",
            "The features of every frame, and an index for the search.",
            f"match build @{STORE} --model @{MODEL} --config phase -o @{DATABASE}",
        ),
        DemoStep(
            "Find similar moments",
            "A moment of one clip, and the moments of other clips that are nearest in phase. Equal "
            "phases are equal places in the cycle; no label says what a step is.",
            f"match query @{DATABASE} {shlex.quote(query)} --frame {frame} -k 4 --apart-s 1 "
            f"-o @{MATCHES}",
            f"{MATCHES}/index.html",
            f"{MATCHES}/index.html",
        ),
        DemoStep(
            "Steer a controller",
            "A network that reads its own phases moves this character frame by frame, along the "
            "path on the ground. It comes with the program and learnt from synthetic gaits.",
            f"control @{CONTROLLER} --path circle --seconds {seconds} -o @{RUN}",
            f"{RUN}/index.html",
            f"{RUN}/player.html",
        ),
        DemoStep(
            "Dance to a song",
            "Motion matching with music: passages of recorded dances follow each other, chosen and "
            "timed so that steps fall on the beats of a song that they do not belong to.",
            f"dance @{SONG} --database @{DANCES} --seconds {seconds} -o @{DANCE}",
            f"{DANCE}/index.html",
            f"{DANCE}/player.html",
        ),
        DemoStep(
            "Steer it yourself",
            "A page in which the character obeys keys, mouse, gamepad or touch.",
            f"export @{CONTROLLER} --web -o @{LIVE}",
            LIVE,
        ),
    ]


def compared_steps(*, toy: bool) -> list[DemoStep]:
    """Motion matching, learned matching and a controller on one path."""
    windows, seconds = (9_600, "6") if toy else (64_000, "12")
    return [
        DemoStep(
            "Build a database to steer",
            "The same with the trajectory of every frame, for which goals can ask.",
            f"match build @{STORE} --model @{MODEL} -o @{STEERED}",
        ),
        DemoStep(
            "Compress it",
            "Learned motion matching: a network makes the poses, in a fraction of the memory.",
            f"train matching @{STEERED} -o @{MATCHER} --set training.windows={windows}",
        ),
        DemoStep(
            "Compare them",
            "Three bodies on one path: motion matching by the database, by the compressed one, and "
            "the controller. The report has their measures beside each other.",
            f"match run @{STEERED} --beside @{MATCHER},@{CONTROLLER} --path circle "
            f"--seconds {seconds} -o @{COMPARED}",
            f"{COMPARED}/index.html",
            f"{COMPARED}/player.html",
        ),
    ]


def write_inputs(folder: Path, progress: Progress, *, toy: bool) -> None:
    """Write the files that the steps read beside the clips: a controller, dances and a song."""
    import soundfile

    from deepphase.apps.demo import CONTROLLER as SHIPPED_CONTROLLER
    from deepphase.apps.demo import PHASES as SHIPPED_MODEL
    from deepphase.apps.demo.dances import SONGS, made_dances
    from deepphase.phase.model import PhaseModel
    from deepphase.synthetic.song import make_song

    shutil.copyfile(SHIPPED_CONTROLLER, folder / CONTROLLER)
    shipped = PhaseModel.load(SHIPPED_MODEL)
    songs = SONGS[:2] if toy else SONGS[:5]
    dances = made_dances(shipped, progress, songs, file=folder / DANCES_STORE)
    dances.save(folder / DANCES)
    song = make_song(_SONG_SEED, _SONG_S, tempo_bpm=_TEMPO_BPM, beats_per_bar=_BEATS_PER_BAR)
    soundfile.write(folder / SONG, song.samples, song.sample_rate)


def shown_path(path: Path, folder: Path) -> Path:
    """A path as the commands have it: relative inside the folder, else absolute."""
    real = Path(os.path.abspath(path))
    inside = Path(os.path.abspath(folder))
    return real.relative_to(inside) if real.is_relative_to(inside) else real
