import pytest

from deepphase.errors import ParameterError
from deepphase.synthetic.gait import BIPED_FREEDOMS, FREEDOMS, gait_from_mapping, gaits_of
from deepphase.synthetic.waves import Wave

_WALK = {"speed": 1.0, "frequency": 1, "duty": 0.6, "lags": [0, 0.5]}


@pytest.mark.parametrize("kind", FREEDOMS)
def test_every_shipped_gait_is_read_once(kind):
    gaits = gaits_of(kind)
    assert gaits_of(kind) is gaits
    assert "idle" in gaits
    assert {gait.name for gait in gaits.values()} == set(gaits)
    assert all(set(gait.waves) <= set(FREEDOMS[kind]) for gait in gaits.values())


def test_a_gait_from_a_mapping():
    values = {**_WALK, "waves": {"up": {"mean": 1, "second": 0.5}}}
    gait = gait_from_mapping("stroll", values, BIPED_FREEDOMS)
    assert (gait.name, gait.lags, gait.waves["up"]) == ("stroll", (0.0, 0.5), Wave(1.0, second=0.5))
    assert values["waves"] == {"up": {"mean": 1, "second": 0.5}}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1], "gait 'stroll' must be a mapping of keys to values"),
        ({**_WALK, "steed": 1.0}, "unknown key 'steed'"),
        ({**_WALK, "name": "run"}, "unknown key 'name'"),
        ({**_WALK, "waves": {"tail_raise": {}}}, "unknown key 'tail_raise'"),
        ({**_WALK, "waves": {"up": {"third": 1.0}}}, "unknown key 'third'"),
        ({**_WALK, "speed": "fast"}, "could not convert"),
        ({**_WALK, "duty": 1.2}, "duty factor"),
        ({"speed": 1.0}, "missing"),
    ],
)
def test_a_gait_that_is_none_is_refused(values, message):
    with pytest.raises(ParameterError, match=message):
        gait_from_mapping("stroll", values, BIPED_FREEDOMS)


def test_an_unknown_kind_of_body_is_refused():
    with pytest.raises(ParameterError, match="no body of kind 'fish'"):
        gaits_of("fish")
