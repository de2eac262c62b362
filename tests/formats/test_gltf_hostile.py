"""Damaged and foreign glTF: what no single file shows; the table of cases is in tests/hostile."""

import json
import os
import warnings

import numpy as np
import pytest

from deepphase.errors import FormatError
from deepphase.formats.gltf.reader import load_gltf, load_gltf_clips
from tests.formats.gltf_files import FRAMES, Made, travel, turns, two_joints


def test_no_file(tmp_path):
    for path in (tmp_path / "absent.glb", tmp_path, tmp_path / ("x" * 5000)):
        with pytest.raises(FormatError, match="cannot be read"):
            load_gltf(path)


def test_a_link_does_not_lead_out(tmp_path):
    (tmp_path / "inner").mkdir()
    made = two_joints()
    (tmp_path / "secret.bin").write_bytes(made.binary)
    os.symlink(tmp_path / "secret.bin", tmp_path / "inner" / "link.bin")
    path = tmp_path / "inner" / "clip.gltf"
    path.write_bytes(made.gltf("link.bin"))
    with pytest.raises(FormatError, match="leads out"):
        load_gltf(path)


def test_a_pipe_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe.bin")
    (tmp_path / "clip.gltf").write_bytes(two_joints().gltf("pipe.bin"))
    with pytest.raises(FormatError, match="no such file"):
        load_gltf(tmp_path / "clip.gltf")


def test_few_keys_cannot_ask_for_many_poses(tmp_path):
    """Each animation is modest; all together are not."""
    made = two_joints()
    times = made.times([0.0, 6000.0])
    values = made.accessor(travel(2))
    for number in range(100):
        made.animate(0, "translation", times, values, name=f"a{number}")
    path = made.written(tmp_path)
    assert len(load_gltf(path, animation="a3", fps=10)) == 60_001
    with pytest.raises(FormatError, match="give a lower rate"):
        load_gltf_clips(path, fps=10)
    with pytest.raises(FormatError, match="give a lower rate"):
        load_gltf(path, fps=2000, animation="a3")


def test_every_cut_and_every_flipped_byte(tmp_path):
    """Whatever is cut off or changed, the answer is a clip or our own error."""
    made = Made()
    made.document["nodes"] = [{"children": [1]}, {}]
    made.document["skins"] = [{"joints": [0, 1]}]
    times = made.times(np.arange(FRAMES) / 30)
    made.animate(0, "translation", times, travel())
    made.animate(1, "rotation", times, turns())
    whole, path = made.glb(), tmp_path / "clip.glb"
    random = np.random.default_rng(0)
    verdicts = {"read": 0, "refused": 0}
    for number in range(600):
        if number % 3 == 0:
            content = bytearray(whole[: random.integers(len(whole))])
        else:
            content = bytearray(whole)
            for place in random.integers(len(whole), size=random.integers(1, 4)):
                content[place] = random.choice([0, 0xFF, random.integers(256), ord("9"), ord("-")])
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                clip = load_gltf(path)
            except FormatError:
                verdicts["refused"] += 1
            else:
                verdicts["read"] += 1
                assert np.isfinite(clip.translations).all()
    assert verdicts["refused"] > 200
    assert verdicts["read"] > 5


def test_mutated_documents(tmp_path):
    """Every value of the document replaced by nonsense, one at a time."""
    made = two_joints()
    document = json.loads(made.gltf())
    nonsense = (None, 10**30, 0.5, "x", [], {})
    path = tmp_path / "clip.gltf"

    def places(value):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in list(items):
            yield value, key
            if isinstance(inner, dict | list):
                yield from places(inner)

    refused = 0
    for holder, key in list(places(document)):
        kept = holder[key]
        for value in nonsense:
            holder[key] = value
            path.write_text(json.dumps(document))
            try:
                load_gltf(path)
            except FormatError:
                refused += 1
        holder[key] = kept
    assert refused > 300
    path.write_text(json.dumps(document))
    load_gltf(path)
