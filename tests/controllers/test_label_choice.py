"""Controllers are steered by the styles of their clips where these are enough."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.controller_data import ControllerData
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


@pytest.mark.parametrize(
    ("labels", "seconds", "words"),
    [
        (
            STYLES[:7],
            20.0,
            "1 of 2 values of style have fewer than 4 files or 30 s: young (3 files",
        ),
        (STYLES, 5.0, "2 of 2 values"),
        (STYLES[:4], 20.0, "style is 'old' in all clips"),
        ([*STYLES, {"action": "run"}], 20.0, "1 of 9 clips have no style"),
        (
            [{"action": action} for action in ("walk", "run") for _ in range(4)],
            20.0,
            "the clips have action, and style or gait would be taken; --set schema.label=action",
        ),
    ],
)
def test_the_reason_why_there_is_no_label_is_said(labels, seconds, words):
    found = chosen_label(store(*labels, seconds=seconds), SchemaConfig())
    assert found.name == ""
    assert words in found.sentence


def test_clips_without_labels_need_no_word():
    assert chosen_label(store({}, {}), SchemaConfig()) == LabelChoice("")
    mirrored = [{**each, "mirrored": "yes"} for each in STYLES[:2]]
    # Mirror images are of the same files.
    clips = store(*STYLES[:2], *mirrored)
    sources = tuple(replace(each, path=f"{i % 2}.bvh") for i, each in enumerate(clips.sources))
    assert chosen_label(replace(clips, sources=sources), SchemaConfig()).name == ""


def test_training_data_have_the_label():
    config = ControllerConfig.load("nn")
    assert config.schema.label == "auto"
    clips = store(*STYLES)
    data = ControllerData.read(clips, config)
    assert data.schema.config.label == "style"
    assert data.schema.label_values == ("old", "young")
    plain = replace(config, schema=replace(config.schema, label="none"))
    assert ControllerData.read(clips, plain).schema.config.label == ""
    few = ControllerData.read(store(*STYLES[:3]), config)
    assert few.schema.label_values == ()


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
