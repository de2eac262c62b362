"""Public names of the library, of motion matching and of controllers, and representations."""

import ast
import dataclasses
import inspect
import re
from functools import partial
from inspect import ismodule
from pathlib import Path

import numpy as np
import pytest

import deepphase
from deepphase.motion.point_track import PointTrack
from tests.matching.made_databases import swinging_store
from tests.test_notebooks import html_of

TOPICS = [value for value in map(partial(getattr, deepphase), deepphase.__all__) if ismodule(value)]
PACKAGES = (deepphase, *TOPICS)


def for_type_checkers(package) -> dict[str, str]:
    """Name -> module of the imports that only type checkers see."""
    tree = ast.parse(inspect.getsource(package))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(guarded.test) == "TYPE_CHECKING"
    return {alias.asname: node.module for node in guarded.body for alias in node.names}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_name_is_there_and_listed(package):
    modules = for_type_checkers(package)
    assert package.__all__ == sorted(modules)
    assert [name for name in dir(package) if not name.startswith("__")] == package.__all__
    for name, module in modules.items():
        value = getattr(package, name)
        assert ismodule(value) or value.__module__ == module
        assert inspect.getdoc(value)
    with pytest.raises(AttributeError, match="has no attribute 'unknown'"):
        _ = package.unknown


def test_a_public_name_stands_in_one_place_and_the_top_is_short():
    names = [name for package in PACKAGES for name in package.__all__]
    assert len(names) == len(set(names))
    assert len(deepphase.__all__) - len(TOPICS) <= 32


def test_the_docstring_of_the_library_lists_all_of_its_names():
    listed = set(re.findall(r"`(\w+)`", deepphase.__doc__))
    topics = [topic.__name__.partition(".")[2] for topic in TOPICS]
    assert listed == set(deepphase.__all__) - set(topics)
    assert re.findall(r"^(\w+)  +\w", deepphase.__doc__, flags=re.MULTILINE) == topics


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_no_name_hides_a_module(package):
    """The import of a module binds its name in the package, over that of a function."""
    folder = Path(package.__file__).parent
    beside = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    functions = {name for name in package.__all__ if not ismodule(getattr(package, name))}
    assert not beside & functions


def test_types_are_for_users_too():
    assert Path(deepphase.__file__).with_name("py.typed").is_file()


def represented():
    store = swinging_store()
    clip = store.clip(0)
    song = deepphase.synthetic.make_song(1, 8.0)
    shape = (len(clip), 5)
    phases = deepphase.PhaseParameters(*(np.zeros(shape, np.float32) for _ in range(4)))
    roles = deepphase.motion.find_roles(clip.skeleton)
    track = PointTrack(clip.skeleton.names, deepphase.joint_positions(clip), clip.fps)
    database = deepphase.matching.MotionDatabase.build(store, "full_pose_trajectory")
    made = deepphase.synthetic.locomotion(1, 2.0, gait="walk")
    walker = deepphase.motion.find_roles(made.clip.skeleton)
    return {
        clip: (repr(clip.name), f"{len(clip):,} frames", "60 Hz", "joints"),
        clip.skeleton: (f"{len(clip.skeleton)} joints", clip.skeleton.names[0]),
        track: (f"{len(track.names)} points", "60 Hz"),
        store: (f"{len(store)} clips", f"{store.frames:,} frames", "60 Hz"),
        phases: (str(shape), "Hz"),
        deepphase.ClipPhases(phases, np.ones(len(clip), bool), 60.0, "a"): (
            "5 channels",
            "100%",
        ),
        deepphase.root_trajectory(clip, roles): (f"{len(clip):,} frames", "m long"),
        deepphase.foot_contacts(made.clip, walker): ("2 feet",),
        deepphase.phase.ManifoldProjection.fit(phases.manifold() + 1): ("10 values", "%"),
        song: ("8.00 s", "beats"),
        made: ("120 frames at 60 Hz (2.00 s)", "walk"),
        deepphase.corpus.Preparation(Path("a.store"), 3, (), (), (), ()): ("'a.store'", "3 files"),
        deepphase.PhaseConfig.load("paper"): ("network.preset='paper'",),
        deepphase.PhaseConfig(): ("defaults",),
        deepphase.phase.SignalCorpus.from_store(store): (f"{len(store)} clips", "60 Hz", "signals"),
        deepphase.phase.fit_phases(store): ("2 channels", "2 s"),
        deepphase.shipped_model(): ("any_skeleton", "32 channels"),
        database: (f"{len(store)} clips", f"{store.frames:,} rows", "60 Hz"),
    }


def built():
    """Public objects with arrays or many values, beside those of `represented`."""
    store = swinging_store()
    database = deepphase.matching.MotionDatabase.build(store, "full_pose_trajectory")
    source = deepphase.matching.PlayerSource.from_database(database)
    path = deepphase.steering.made_path("circle", speed=0.5, seconds=1.0)
    player, goals = deepphase.steering.start_on_path(source, path)
    run = deepphase.steering.rollout(player, goals, 0.2)
    clip = deepphase.synthetic.locomotion(1, 2.0, gait="walk").clip
    actor = deepphase.viewer.Actor.from_motion(clip)
    config = deepphase.controllers.ControllerConfig.load("pfnn")
    return [
        run,
        source,
        source.playback,
        source.settings,
        path,
        goals,
        player,
        database.layout,
        database.layout.features[0],
        deepphase.steering.RootStates.at_rest(np.zeros((3, 2))),
        deepphase.motion.find_roles(clip.skeleton),
        clip.source,
        actor,
        deepphase.viewer.Take.from_motions([actor, actor], "two"),
        deepphase.edit.find_damage(clip),
        deepphase.edit.JointTarget("RightHand", 40, 44, (0.3, 1.2, 0.5)),
        deepphase.figures.Colouring("speed", np.zeros(500), "m/s"),
        config,
        config.network,
        config.schema,
        config.training,
        deepphase.controllers.DanceConfig.load("paper"),
        deepphase.controllers.CharacterSettings(),
        deepphase.edit.EditorConfig.load("masked"),
        deepphase.rigs.RigConfig.load("default"),
        deepphase.rigs.Control("reach", "m", 1.0, 0.5, 2.0),
        deepphase.shipped_model().signals,
        deepphase.PhaseConfig().training,
    ]


def test_no_representation_fills_the_screen():
    long = {type(value): repr(value) for value in built() if len(repr(value)) > 200}
    assert not long


def test_dataclasses_with_many_values_have_a_brief_representation():
    """What a dataclass writes by itself has every element of its arrays."""
    wordy = [
        kind.__name__
        for package in PACKAGES
        for kind in (getattr(package, name) for name in package.__all__)
        if dataclasses.is_dataclass(kind)
        and hasattr(kind.__repr__, "__wrapped__")
        and (
            len(dataclasses.fields(kind)) > 6
            or any("Array" in str(each.type) for each in dataclasses.fields(kind))
        )
    ]
    assert not wordy, "decorate them with deepphase.arrays.brief_repr"


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (deepphase.synthetic.SyntheticMotion, "<iframe srcdoc="),
        (deepphase.Clip, "<iframe srcdoc="),
        (PointTrack, "<iframe srcdoc="),
        (deepphase.ClipPhases, "<svg"),
    ],
)
def test_notebooks_show_players_and_plots(kind, content):
    shown = html_of(next(value for value in represented() if type(value) is kind))
    assert content in shown
    assert len(shown) < 1_500_000
    # Nothing is loaded from elsewhere.
    assert not re.search(r"(src|href)=(&quot;|\")https?:", shown)


def test_a_run_plays_its_characters():
    run = built()[0]
    assert "<iframe srcdoc=" in html_of(run)
    assert repr(run) == "<Run: 1 character, 12 frames at 60 Hz (0.20 s)>"


def test_a_long_clip_plays_its_beginning():
    clip = deepphase.synthetic.locomotion(1, 60.0, gait="walk").clip
    assert "the first 33 of 60 s" in html_of(clip)


def test_a_representation_is_one_line_with_counts_and_rates():
    for value, facts in represented().items():
        text = repr(value)
        assert text.startswith(f"<{type(value).__name__}: ")
        assert len(text) < 140
        assert "\n" not in text
        for fact in facts:
            assert fact in text
