"""`deepphase demo`: commands of the program one after the other, and a page of their reports."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path

import deepphase as dp
from deepphase.apps.demo import CONTROLLER
from deepphase.apps.input_checks import new_folder
from deepphase.apps.terminal import next_step, note, printing
from deepphase.errors import ParameterError
from deepphase.files import atomic_write
from deepphase.shipped import SHIPPED

# Lies in the folder of a demo: others are never written over.
_MARKER = ".deepphase-demo"
# Seconds of clips and of held-out ones, windows and batch size of the training, seconds of runs.
_Size = tuple[int, int, int, int, int]
_FULL: _Size = (30, 12, 102_400, 256, 12)
_SMALLEST: _Size = (6, 5, 6_400, 64, 6)
# Heading, command as one types it in the folder, page that it writes, and what it does.
_Step = tuple[str, str, str, str]


def command(output: Path = Path("demo"), smallest: bool = False) -> None:
    """Run the whole chain on clips of the shipped person, offline.

    Writes clips and runs the commands of the program on them: prepare, train, encode, evaluate,
    figures, match, control, dance and export. OUTPUT/index.html shows every command with its
    report, and OUTPUT/live.html is a page in which you steer a character.

    Parameters
    ----------
    output
        Folder to write, new or empty; with --force, that of an earlier demo.
    smallest
        Run in a minute on very little data: a check that everything works, whose errors are larger
        than those of the method.
    """
    if output.is_dir() and any(output.iterdir()) and not (output / _MARKER).is_file():
        raise ParameterError(
            "this is not an empty folder, and has files that `deepphase demo` did not write",
            hint="choose a new or an empty folder: -o FOLDER",
            path=output,
        )
    new_folder(output)
    (output / _MARKER).touch()
    with contextlib.chdir(output), printing(hints=False):
        _run(_SMALLEST if smallest else _FULL, smallest)
    note(f"open {output / 'index.html'}")
    note(f"steer a character: open {output / 'live.html'}")
    next_step("app", output)


def _run(size: _Size, smallest: bool) -> None:
    """Run all commands in the current folder, and write the page."""
    from deepphase.apps.cli import COMMANDS, command_named
    from deepphase.apps.command_line import read_command_line

    _write_inputs()
    steps = _steps(size, "" if smallest else " --pictures png")
    for _, line, *_ in steps:
        words = shlex.split(line)
        count = 2 if " ".join(words[:2]) in COMMANDS else 1
        name = " ".join(words[:count])
        function = command_named(name)
        function(**read_command_line(name, function, words[count:]).arguments)
    _write_page(steps, smallest)


def _steps(size: _Size, pictures: str) -> list[_Step]:
    clip_s, held_out_s, windows, batch, run_s = size
    return [
        (
            "Have clips",
            f"samples clips/training --seconds {clip_s}",
            "",
            "The shipped person, learnt from captures, performs some clips. Your own come here.",
        ),
        (
            "Hold some out",
            f"samples clips/held_out --seconds {held_out_s} --seed 2",
            "",
            "Other clips, which the training does not see, to measure the model on.",
        ),
        (
            "Read the clips",
            "prepare clips/training -o clips.store",
            "",
            "The files are checked, resampled to 60 frames per second and written into one store.",
        ),
        (
            "Learn phases",
            f"train phase clips.store -o phases.model --set training.windows={windows} "
            f"--set training.batch_size={batch}",
            "phases.model.report/index.html",
            "From joint velocities alone, without labels, a periodic autoencoder learns to "
            "describe the movement around every frame by a few sinusoids, its phase channels. The "
            "report says whether the training worked.",
        ),
        (
            "Compute phases",
            "encode phases.model clips/held_out -o phases",
            "",
            "Phase, frequency, amplitude and offset of every frame and channel, one file per clip.",
        ),
        (
            "Measure the model",
            "evaluate phases.model clips/held_out -o evaluation --queries 1000",
            "evaluation/index.html",
            "The wheels are the phase channels: the angle of a hand is the phase, its length the "
            "amplitude. The report measures how well the phases describe clips outside the "
            "training.",
        ),
        (
            "Draw figures",
            f"figures phases.model clips/held_out -o figures{pictures}",
            "figures/index.html",
            "The phase manifold in 2D and 3D, the parameters over time, and their distributions. "
            "Periodic movement forms rings, with one turn per cycle.",
        ),
        (
            "Build a motion database",
            "match build clips.store --model phases.model -o clips.db",
            "",
            "The features of every frame, and an index for the search.",
        ),
        (
            "Find similar moments",
            f"match query clips.db walk_rushed_01 --frame {30 * clip_s} -k 4 -o matches",
            "matches/index.html",
            "A moment of one clip, and the moments of other clips that are nearest in phase and "
            "trajectory; no label says what a step is.",
        ),
        (
            "Compress it",
            "train matching clips.db -o clips.matcher",
            "",
            "Learned motion matching: a linear layer makes poses, in a fraction of the memory.",
        ),
        (
            "Compare them",
            "match run clips.db --beside clips.matcher --path circle "
            f"--seconds {run_s} -o compared",
            "compared/index.html",
            "Two bodies on one path: motion matching by the database, and by the compressed one. "
            "The report has their measures beside each other.",
        ),
        (
            "Steer a controller",
            f"control {CONTROLLER.name} --path circle --seconds {run_s} -o run",
            "run/index.html",
            "A network that reads its own phases moves this body frame by frame, along the path on "
            "the ground. It is small and learnt from four minutes of synthetic gaits.",
        ),
        (
            "Dance to a song",
            f"dance song.wav --seconds {run_s} -o dance",
            "dance/index.html",
            "Motion matching with music: passages of captured dances follow each other, chosen and "
            "timed so that steps fall on the beats of a song that they do not belong to. The "
            "dancer comes with the program and learnt from dances of CMU.",
        ),
        (
            "Steer it yourself",
            "export person.matcher --web -o live.html",
            "live.html",
            "A page in which the character obeys keys, mouse, gamepad or touch.",
        ),
    ]


def _write_inputs() -> None:
    """Write what the later commands read beside the clips: characters and a song."""
    import soundfile

    for path in (CONTROLLER, SHIPPED["person"].path):
        with atomic_write(path.name) as file:
            file.write(path.read_bytes())
    song = dp.synthetic.make_song(77, 14.0, tempo_bpm=110.0, beats_per_bar=4)
    with atomic_write("song.wav") as file:
        soundfile.write(file, song.samples, song.sample_rate, format="WAV")


def _write_page(steps: list[_Step], smallest: bool) -> None:
    from deepphase.apps.reports.page import Link, Page
    from deepphase.apps.reports.player import takes_of_store

    model = dp.PhaseModel.load(Path("phases.model"))
    page = Page(
        "deepphase demo: from motion capture to phases",
        "Movement that repeats has a phase: where in its cycle it is. This folder shows how phases "
        "are learnt from unlabelled clips, and what they are used for.",
    )
    store = dp.corpus.open_store(Path("clips.store"), joints=model.signals.joints)
    page.add_takes(takes_of_store(model, store))
    if smallest:
        page.add_text(
            "This is a toy run (--smallest). It shows that everything works on this machine. With "
            "so little motion and training, its errors are larger than those of the method.",
            heading="Limits of this run",
        )
    if model.health is not None:
        page.add_list(list(model.health.words()), heading="Did the training work?")
    for heading, line, report, words in steps:
        page.add_text(words, heading=heading).add_commands([f"deepphase {line}"])
        if report:
            page.add_table(("Report",), [(Link(report),)])
    page.add_commands(
        [
            "deepphase inspect captures                          # content of the files",
            "deepphase play captures --model phases.model        # watch them with their phases",
        ],
        heading="With your own motion capture (captures is a folder of BVH files)",
    )
    page.write(Path("index.html"))
