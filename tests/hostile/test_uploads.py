"""Files of every kind, sound and changed, where each page takes files: read or refused.

An upload that is refused leaves nothing behind, and its error does not say where it lay.
"""

import random

import pytest

from deepphase.apps.dashboard.pages.train import collection
from deepphase.apps.dashboard.parts import drawing, songs, steerables
from deepphase.apps.dashboard.parts.session import Session, read_upload
from deepphase.errors import DeepPhaseError
from deepphase.music.beats_file import read_beats
from tests.hostile.kinds import KINDS
from tests.hostile.mutations import mutated
from tests.hostile.test_fuzz import CASES, SEED, bounds

_NAME = "../<b>\x00.bvh"


def _data(own, content):
    taken = read_upload(own, _NAME, content)
    if taken.error is not None:
        raise taken.error


def _beats(own, content):
    with own.uploaded(content, ".beats", _NAME) as path:
        read_beats(path)


PLACES = {
    "motion": _data,
    "controller": lambda own, content: steerables.CONTROLLERS.read_upload(own, _NAME, content),
    "matcher": lambda own, content: steerables.MATCHERS.read_upload(own, _NAME, content),
    "model": lambda own, content: collection.MODELS.read_upload(own, _NAME, content),
    "path": lambda own, content: drawing.read_path_upload(_NAME, content),
    "song": lambda own, content: songs.uploaded_song(_NAME, content),
    "beats": _beats,
}
# Kinds whose sound files a place reads.
_READ = {
    "motion": {"bvh", "npz", "motion", "glb", "c3d", "trc", "motive", "mvnx", "joints of text"},
    "controller": {"controller"},
    "matcher": {"matcher"},
    "model": {"model", "contact phases", "pca phases"},
    "path": {"path"},
    "song": {"sound"},
    "beats": {"beats"},
}


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    """Kind -> its sound files; those of kinds that are slow to make are left out."""
    folder = tmp_path_factory.mktemp("kinds")
    return {name: kind.examples(folder) for name, kind in KINDS.items() if not kind.slow}


@pytest.mark.parametrize("place", PLACES)
def test_files_of_all_kinds_at_every_place(place, contents, monkeypatch):
    own, wrong = Session(), []
    for part in (drawing, songs):
        monkeypatch.setattr(part, "session", lambda: own)
    for name in _READ[place]:
        # What is imported on the way is not the input's.
        PLACES[place](own, contents[name][0])
    for name, examples in contents.items():
        for number in range(SEED, SEED + max(1, CASES // 24)):
            generator = random.Random(number)
            sound = generator.choice(examples)
            for content in (sound, mutated(generator, sound, KINDS[name].changes, examples)):
                try:
                    with bounds(len(content)):
                        PLACES[place](own, content)
                except DeepPhaseError as error:
                    said = f"{error} {error.hint}"
                    assert str(own.folder) not in said
                    if content is sound and name in _READ[place]:
                        wrong.append((name, said))
                except BaseException as error:
                    wrong.append((name, number, repr(error)))
                own.clips.clear()
                kept = {file.path for file in own.files}
                assert set(own.folder.iterdir()) == kept
    assert not wrong
