"""Files of every kind, sound and changed, where each page takes files: read or refused.

An upload that is refused leaves nothing behind, and its error does not say where it lay.
"""

import random

import pytest

from deepphase.apps.dashboard.pages.train import collection
from deepphase.apps.dashboard.parts import songs, steerables
from deepphase.apps.dashboard.parts.session import Session, read_upload
from deepphase.errors import DeepPhaseError
from deepphase.formats.load import load_all
from deepphase.music.beats_file import read_beats
from tests.hostile.kinds import KINDS
from tests.hostile.mutations import mutated
from tests.hostile.test_fuzz import CASES, SEED, TooSlowError, bounds

_NAME = "../<b>\x00.bvh"


def _data(own, content):
    taken = read_upload(own, _NAME, content)
    if taken.error is not None:
        raise taken.error


def _beats(own, content):
    with own.uploaded(content, ".beats", _NAME) as path:
        read_beats(path)


def _kept(kind):
    return lambda own, content: kind.read_upload(own, _NAME, content)


# All formats of one file.
_MOTION = [name for name, kind in KINDS.items() if kind.read is load_all and name != "gltf"]
# Place -> how it takes a file, and the kinds that it reads.
PLACES = {
    "motion": (_data, "/".join(_MOTION)),
    "controller": (_kept(steerables.CONTROLLERS), "controller"),
    "matcher": (_kept(steerables.MATCHERS), "matcher"),
    "model": (_kept(collection.MODELS), "model/contact phases/pca phases"),
    "song": (lambda own, content: songs.uploaded_song(_NAME, content), "sound"),
    "beats": (_beats, "beats"),
}


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    """Kind -> its sound files; those of kinds that are slow to make are left out."""
    folder = tmp_path_factory.mktemp("kinds")
    return {name: kind.examples(folder) for name, kind in KINDS.items() if not kind.slow}


@pytest.mark.parametrize("place", PLACES)
def test_files_of_all_kinds_at_every_place(place, contents, monkeypatch):
    (take, kinds), own, wrong = PLACES[place], Session(), []
    monkeypatch.setattr(songs, "session", lambda: own)
    for name in kinds.split("/"):
        # What is imported on the way is not the input's.
        take(own, contents[name][0])
    for name, examples in contents.items():
        for number in range(SEED, SEED + max(1, CASES // 24)):
            generator = random.Random(number)
            sound = generator.choice(examples)
            for content in (sound, mutated(generator, sound, KINDS[name].changes, examples)):
                try:
                    with bounds(len(content)):
                        take(own, content)
                except DeepPhaseError as error:
                    tells = str(own.folder) in f"{error} {error.hint}"
                    if tells or (content is sound and name in kinds.split("/")):
                        wrong.append((name, error))
                except (Exception, TooSlowError) as error:
                    wrong.append((name, number, error))
                own.clips.clear()
                assert set(own.folder.iterdir()) == {file.path for file in own.files}
    assert not wrong
