"""Every `next:` line that a command prints is a command that runs in the state that it leaves."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import soundfile

from deepphase.apps import cli
from deepphase.apps.cli import COMMANDS, command_named
from deepphase.apps.command_line import read_command_line
from deepphase.formats.load import save
from deepphase.formats.points import save_points
from deepphase.motion.clip import joint_positions
from deepphase.motion.point_track import PointTrack
from deepphase.synthetic.dance_motion import dance
from deepphase.synthetic.gait_motion import locomotion
from deepphase.synthetic.song import make_song

pytestmark = pytest.mark.guide

# Words in capitals of hints -> files of the test.
_PLACES = {"SONG": "song.wav", "CLIPS": "clips", "FOLDER": "clips"}
# Commands that end by a signal, or have tests of their own: the line is parsed, files are checked.
_SERVERS = ("app", "live", "demo")
# Command -> what makes it short.
_TRAINING = "--set=training.batch_size=64 --set=trainer.accelerator=cpu "
_SHORT = {
    "train phase": f"{_TRAINING} --set=training.windows=256 --set=network.channels=2",
    "train controller": f"{_TRAINING} --set=training.samples=256 --set=network.hidden=8",
    "evaluate": "--queries 100",
    "match run": "--seconds 2",
    "control": "--seconds 2",
    "dance": "--seconds 2",
}
# Lines of the chain, after which the hints of each are followed.
_LINES = """
inspect clips
inspect points
solve points -o solved_too
prepare clips -o walks.store
inspect walks.store
train phase walks.store -o own.model
fit phases walks.store --method pca -o pca.model
encode pca.model walks.store -o pca
encode clips/walk_0.bvh -o shipped
evaluate own.model clips -o evaluation
figures own.model walks.store -o drawn
match build walks.store --model own.model -o walk.db
match build walks.store --model own.model --config phase -o phase.db
match query walk.db walk_0 --frame 60 -o near
match query phase.db walk_0 --frame 60 -o alike
train matching walk.db -o walk.matcher
train controller walks.store --model own.model --config experts -o walk.controller
control walk.controller --path circle -o turns
prepare danced -o danced.store
fit phases danced.store --method pca -o dances.phases
match build danced.store --model dances.phases --config dance_music -o dances.db
dance song.wav -o danced_to
dance song.wav --database dances.db --bpm 120 -o by_database
fit ground clips -o ground
fit ball clips -o balls
fit ball clips/walk_0.bvh -o ball
play clips -o played.html
export walk.controller --web -o page.html
edit repair clips/walk_0.bvh -o repaired.bvh
doctor
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: walks, their points, a song, a dance with its song."""
    for seed in range(3):
        clip = locomotion(seed, 4.0, turn_rate=0.4 * (seed - 1)).clip
        save(clip, tmp_path / f"clips/walk_{seed}.bvh")
    piece = clip.sliced(0, 60)
    track = PointTrack(clip.skeleton.names, joint_positions(piece), clip.fps)
    save_points(track, tmp_path / "points/walk.npz")
    song = make_song(1, 12.0, tempo_bpm=120.0)
    save(dance(song, 1).clip, tmp_path / "danced/dance_1.bvh")
    for name in ("song.wav", "danced/dance_1.wav"):
        soundfile.write(tmp_path / name, song.samples, song.sample_rate)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _name(words: list[str]) -> str:
    return next(name for name in (" ".join(words[:2]), words[0]) if name in COMMANDS)


def _followed(line: str, capsys: pytest.CaptureFixture[str]) -> Iterator[str]:
    """Run a line; the lines that it names as the next one."""
    words = [_PLACES.get(word, word) for word in shlex.split(line)]
    name = _name(words)
    if name in _SERVERS or line.endswith(".onnx"):
        read_command_line(name, command_named(name), words[len(name.split()) :], checked=True)
        return
    status = cli.main([*words, *shlex.split(_SHORT.get(name, ""))])
    said = capsys.readouterr()
    assert status == cli.DONE, f"{line}: {said.err}"
    for text in said.out.splitlines():
        if text.startswith("next: deepphase "):
            yield text.removeprefix("next: deepphase ")


def test_hints_can_be_followed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    followed: set[tuple[str, str]] = set()
    lines = [(line, "") for line in reversed(_LINES.strip().splitlines())]
    while lines:
        line, before = lines.pop()
        if before:
            pair = (_name(before.split()), _name(shlex.split(line)))
            if pair in followed:
                continue
            followed.add(pair)
        lines += [(hint, line) for hint in _followed(line, capsys)]
    assert len(followed) > 20, followed
