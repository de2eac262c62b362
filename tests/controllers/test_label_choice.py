"""Controllers are steered by the styles of their clips where these are enough."""

from dataclasses import replace

import numpy as np

from deepphase.controllers.data.label_choice import LabelChoice, chosen_label
from deepphase.controllers.schema.config import SchemaConfig
from deepphase.corpus.clip_store import ClipStore
from deepphase.motion.clip import Source
from deepphase.synthetic.gait_motion import locomotion

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
