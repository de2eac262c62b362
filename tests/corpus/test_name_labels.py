"""Labels found in names of files: fields that vary and repeat, and the pattern that reads them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepphase.corpus.labels import LabelPattern
from deepphase.corpus.name_labels import read_name_labels
from deepphase.corpus.prepare import prepare
from deepphase.corpus.store import open_store
from deepphase.formats.npz.motion import save_npz_motion
from tests.corpus.made_clips import made_clip, write_bvh
from tests.real_data import real_clips

STYLES = ("angry", "not-confident", "happy")
ACTIONS = ("walk", "walk-turn-left", "bow")
DATASET = [
    f"dataset-1_{action}_{style}_{take:03d}.bvh"
    for action in ACTIONS
    for style in STYLES
    for take in (1, 2)
]
DOGS = [
    "D1_007_KAN01_001.bvh",
    "D1_009_KAN01_001.bvh",
    "D1_009_KAN01_002.bvh",
    "D1_047z_KAN01_002.bvh",
    "D1_047z_KAN01_003.bvh",
    "D1_071_KAN02_002.bvh",
    "D1_ex03_KAN02_012.bvh",
    "D1_ex03_KAN02_013.bvh",
]


@pytest.mark.parametrize(
    ("files", "patterns", "counts"),
    [
        (
            DATASET,
            ["{_}_{action}_{style}_{_}"],
            {"action": dict.fromkeys(ACTIONS, 6), "style": dict.fromkeys(STYLES, 6)},
        ),
        (DOGS, [], {}),
        (["walk.bvh"], [], {}),
        ([f"take_{number:03d}.bvh" for number in range(20)], [], {}),
        # Each name occurs once.
        (["walk.bvh", "run.bvh", "jump.bvh"], [], {}),
        (
            [f"{gait}_{take}.bvh" for gait in ("walk", "run", "trot") for take in (1, 2)],
            ["{action}_{_}"],
            {"action": {"walk": 2, "run": 2, "trot": 2}},
        ),
        # The number of a take beside an action is not a label, the number of a subject is.
        (
            [f"{a}{i}_subject{s}.bvh" for a in ("dance", "aiming") for i in (1, 2) for s in (1, 2)],
            ["{action}{_:d}_{_}{subject:d}"],
            {"action": {"dance": 4, "aiming": 4}, "subject": {"1": 4, "2": 4}},
        ),
        # Codes are labels without a known name; digits in some of them are part of them.
        (
            [f"{s}_{c}.bvh" for s in ("Angry", "Old") for c in ("FW", "BW", "TR1")],
            ["{style}_{field1}"],
            {"style": {"Angry": 3, "Old": 3}, "field1": {"FW": 2, "BW": 2, "TR1": 2}},
        ),
        # Both fields are actions; that of more values gets the name.
        (
            [f"{p} {a} {n}.bvh" for p in ("Lying", "Standing") for a in ("Kick", "Wave", "Punch")
             for n in (1, 2)],
            ["{field1} {action} {_}"],
            {"field1": {"Lying": 6, "Standing": 6}, "action": {"Kick": 4, "Wave": 4, "Punch": 4}},
        ),
        ([f"01_{a}.{n}.v2.npz" for a in ("sit", "run") for n in range(3)],
         ["{_}_{action}.{_}.{_}"], {"action": {"sit": 3, "run": 3}}),
        (
            [f"{a}/{a}_{s}{n}.bvh" for a in ("walk", "run") for s in ("old", "sad")
             for n in (1, 2)],
            ["{action}_{style}{_:d}"],
            {"action": {"walk": 4, "run": 4}, "style": {"old": 4, "sad": 4}},
        ),
        (
            [f"s{k}/{a}/{n}.bvh" for k in (1, 2) for a in ("walk", "run") for n in (1, 2, 3)],
            ["{folder}/{action}/{_}"],
            {"folder": {"s1": 6, "s2": 6}, "action": {"walk": 6, "run": 6}},
        ),
        (["old/walk.bvh", "jump.bvh"], ["{folder}/{_}"], {"folder": {"old": 1}}),
        # A folder of its own for every file says as little as the file's name.
        ([f"take{n}/take{n}.bvh" for n in range(4)], [], {}),
        ([f"one/take{n}.bvh" for n in range(4)], [], {}),
    ],
)  # fmt: skip
def test_fields_that_vary_and_repeat_are_labels(files, patterns, counts):
    found = read_name_labels(files)
    assert list(found.patterns) == patterns
    assert found.counts() == counts


def test_names_unlike_the_others_have_no_labels():
    found = read_name_labels([*DATASET, "T-pose.bvh"])
    assert found.labels["T-pose.bvh"] == {}
    assert found.unlike == {"T-pose.bvh": "{_}_{action}_{style}_{_}"}
    assert found.counts()["action"].total() == len(DATASET)


_PARTS = st.text("ab1_- .é{}", min_size=1, max_size=6).filter(lambda part: part.strip(". "))


@given(st.lists(st.lists(_PARTS, min_size=1, max_size=3), max_size=30))
def test_the_patterns_read_the_same_labels(parts):
    files = ["/".join(part.strip(". ") for part in each) + ".bvh" for each in parts]
    found = read_name_labels(files)
    patterns = [LabelPattern(pattern) for pattern in found.patterns]
    assert set(found.labels) == set(files)
    for file, labels in found.labels.items():
        if labels and file not in found.unlike:
            assert labels in [pattern.labels(file) for pattern in patterns]


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "captures"
    for seed, name in enumerate(("walk_old_1", "walk_sad_1", "run_old_1", "run_sad_1")):
        write_bvh(folder / f"{name}.bvh", made_clip(seed, 31, 30.0))
    return folder


def test_a_store_has_the_labels_of_names(folder, tmp_path):
    done = prepare(folder, tmp_path / "a.store")
    assert open_store(tmp_path / "a.store").labels[0] == {"action": "run", "style": "old"}
    assert done.name_labels.counts()["style"] == Counter(old=2, sad=2)
    (pattern,) = done.name_labels.patterns
    assert open_store(tmp_path / "a.store").header["options"]["label_patterns"] == [pattern]
    prepare(folder, tmp_path / "b.store", labels=pattern)
    assert open_store(tmp_path / "b.store").labels == open_store(tmp_path / "a.store").labels
    assert prepare(folder, tmp_path / "c.store", labels="none").name_labels is None
    assert open_store(tmp_path / "c.store").label_names == ()


def test_labels_inside_a_file_override_those_of_its_name(folder, tmp_path):
    clip = made_clip(5, 31, 30.0, labels={"action": "jog"})
    save_npz_motion(clip, folder / "run_old_2.npz")
    prepare(folder, tmp_path / "a.store")
    store = open_store(tmp_path / "a.store")
    jog = store.labels[store.names.index("run_old_2")]
    assert jog == {"action": "jog", "style": "old"}
    prepare(folder, tmp_path / "b.store", labels="{action}_{_}")
    assert set(open_store(tmp_path / "b.store").label_column("action")) == {"run", "walk"}


@pytest.mark.real_data
def test_real_names():
    people = [
        path.name
        for name in ("bandai1", "bandai2_locomotion")
        for path in real_clips(name).iterdir()
    ]
    counts = read_name_labels(people).counts()
    assert set(counts) == {"action", "style"}
    assert counts["action"]["bow"] == 13
    assert read_name_labels(path.name for path in real_clips("dog_mann").iterdir()).counts() == {}
