"""Rest of characters: captured rest takes over where a goal stands, and leaves at the next goal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deepphase.controllers.data.captured_rows import RestRows, rest_columns, rest_layout
from deepphase.controllers.runtime.captured_motion import CharacterRest
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.controller import Controller
from deepphase.corpus.clip_store import ClipStore
from deepphase.steering.velocity_goals import VelocityGoals
from deepphase.synthetic.bodies import body_named
from deepphase.synthetic.gait import gaits_of
from deepphase.synthetic.gait_motion import perform
from deepphase.synthetic.program import Segment
from tests.controllers.test_character_goals import untrained

WALK = gaits_of("biped")["walk"]


@pytest.fixture(scope="module")
def standing_store() -> ClipStore:
    """Two people who walk, stand for some seconds, and walk on."""
    clips = []
    for seed in range(2):
        program = [Segment(WALK, 2.0), Segment("idle", 3.0 + seed), Segment(WALK, 2.0)]
        clip = perform(program, seed, body=body_named("biped")).clip
        clips.append(replace(clip, name=f"stands {seed}"))
    return ClipStore.from_clips(clips)


@pytest.fixture(scope="module")
def resting(store, standing_store) -> Controller:
    controller, _ = untrained("experts", store)
    return replace(controller, rest=RestRows.from_clips(standing_store, [0, 1], controller.schema))


def test_rest_is_read_from_the_frames_that_stand(resting):
    rest, slices = resting.rest, rest_layout(resting.schema).slices
    assert rest.captured
    assert 2.0 * 60 < len(rest.outputs) < 7.5 * 60
    assert rest.styles == ("",) * len(rest.stops)
    speeds = np.linalg.norm(rest.outputs[:, slices["joint_velocity"]].reshape(-1, 3), axis=1)
    assert speeds.mean() < 0.1
    columns = rest_columns(resting.schema)
    assert len(columns) == rest.outputs.shape[1]
    assert columns[slices["contact"]].tolist() == list(
        range(*resting.schema.outputs.slices["contact"].indices(10**6))
    )


def test_characters_rest_on_their_own_moments_and_leave_without_a_jump(resting):
    characters = Characters(resting, resting.starts.select(np.arange(3)))
    goals = VelocityGoals(characters.root_states)
    columns = resting.schema.outputs.slices["joint_position"]
    shown, rests = [], []
    for frame in range(360):
        if frame == 300:
            goals.set(np.tile([0.0, 1.2], (3, 1)))
        characters.step(goals)
        shown.append(characters._outputs[:, columns])
        rests.append(characters._rest.resting)
    rests = np.array(rests)
    assert rests[70:300].all()
    assert not rests[310:].any()
    places = np.array(shown).reshape(360, 3, -1, 3)
    known = resting.rest.outputs[:, rest_layout(resting.schema).slices["joint_position"]]
    known = known.reshape(len(known), 1, -1, 3)
    apart = np.linalg.norm(known - places[150, 0], axis=-1).mean(axis=-1).min()
    assert apart < 0.05
    # The network is untrained: what it does itself is not smooth.
    steps = np.linalg.norm(np.diff(places, axis=0), axis=-1).mean(axis=-1)
    assert steps[90:299].max() < 0.01


@pytest.mark.parametrize(
    ("facing", "seconds", "rests"), [(0.0, 0.1, True), (1.0, 0.1, False), (1.0, 3.5, True)]
)
def test_a_body_turns_before_it_rests(resting, facing, seconds, rests):
    made = CharacterRest(resting.rest, resting.schema, 1)
    one, stands = np.zeros(1), np.ones(1, bool)
    for _ in range(round(60 * seconds)):
        outputs = np.zeros((1, resting.schema.outputs.dims), np.float32)
        made.replace(outputs, stands, one, one, one + facing, ("",))
    assert made.resting[0] == rests


@pytest.fixture(scope="module")
def postures(store) -> CharacterRest:
    """A character that may stand, or rest half a metre lower."""
    controller, _ = untrained("experts", store)
    schema = controller.schema
    stretch = RestRows.from_clips(store, [0], schema).outputs[:120]
    low = stretch.copy()
    heights = rest_layout(schema).slices["joint_position"]
    low[:, heights] -= np.resize([0.0, 0.5, 0.0], heights.stop - heights.start)
    rows = RestRows(np.concatenate([stretch, low]), np.array([120, 240]), ("stand", "sit"), True)
    return CharacterRest(rows, schema, 1)


def test_a_body_changes_its_posture_by_itself_before_it_rests(postures):
    made, columns, one = postures, postures._columns, np.zeros(1)
    outputs = np.zeros((1, columns.max() + 1), np.float32)

    def resting(style: str, row: int, frames: int) -> list[bool]:
        seen = []
        for _ in range(frames):
            given = outputs.copy()
            given[:, columns] = made._values[row]
            made.replace(given, np.ones(1, bool), one, one, one, [style])
            seen.append(bool(made.resting[0]))
        return seen

    assert all(resting("stand", 10, 30))
    # The network has four seconds to sit down; without them the body rests as it is.
    assert not any(resting("sit", 10, 60))
    seen = resting("sit", 130, 30)
    assert not seen[0]
    assert all(seen[2:])
    assert made._row[0] >= 120
    assert not any(resting("stand", 130, 200))
    assert all(resting("stand", 130, 60)[50:])
