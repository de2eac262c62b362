"""Controllers are steered by the styles of their clips where these are enough."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.controllers.data.label_choice import LabelChoice, chosen_label
from deepphase.controllers.schema.config import SchemaConfig
from deepphase.corpus.clip_store import ClipStore
from deepphase.motion.clip import Source
from deepphase.synthetic.gait_motion import locomotion
from tests.real_data import real_clips

WALK = locomotion(1, 4.0).clip


def store(*labels: dict[str, str], seconds: float = 20.0) -> ClipStore:
    """A clip of some seconds for each of the labels, in files of their own."""
    frames = np.arange(round(seconds * WALK.fps)) % len(WALK)
    clips = [
        replace(
            WALK,
            rotations=WALK.rotations[frames],
            translations=WALK.translations[frames],
            labels=each,
            source=Source(path=f"{number}.bvh"),
            name=f"{number}",
        )
        for number, each in enumerate(labels)
    ]
    return ClipStore.from_clips(clips)


STYLES = [{"style": style, "action": "walk"} for style in ("old", "young") for _ in range(4)]


def test_styles_of_enough_clips_are_taken():
    found = chosen_label(store(*STYLES), SchemaConfig())
    assert found == LabelChoice(
        "style", "steered by style: old, young; --set schema.label=none leaves it out"
    )
    assert chosen_label(store(*STYLES), SchemaConfig(label="none")) == LabelChoice("")
    assert chosen_label(store(*STYLES), SchemaConfig(label="action")) == LabelChoice("action")
    assert chosen_label(store(*STYLES), SchemaConfig(ball=True)) == LabelChoice("")
    assert chosen_label(store(*STYLES), SchemaConfig(tracks=("beat",))) == LabelChoice("")


@pytest.mark.real_data
def test_styles_of_real_file_names(tmp_path):
    from deepphase.corpus.prepare import prepare
    from deepphase.corpus.store import open_store

    found = []
    for name in ("bandai2_locomotion", "bandai1"):
        prepare(real_clips(name), tmp_path / name)
        found.append(chosen_label(open_store(tmp_path / name), SchemaConfig()))
    assert found[0].name == "style"
    assert "active, exhausted, feminine" in found[0].sentence
    # Eleven clips of each style, most of them less than a minute in all.
    assert found[1].name == "style"
    assert "angry, childish" in found[1].sentence
