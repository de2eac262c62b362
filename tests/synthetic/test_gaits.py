import pytest

from deepphase.errors import ParameterError
from deepphase.synthetic.gait import FREEDOMS, gaits_of


@pytest.mark.parametrize("kind", FREEDOMS)
def test_every_shipped_gait_is_whole(kind):
    gaits = gaits_of(kind)
    assert gaits_of(kind) is gaits
    assert "idle" in gaits
    for name, gait in gaits.items():
        assert gait.name == name
        assert set(gait.waves) <= set(FREEDOMS[kind])
        assert gait.next
        assert set(gait.next) <= set(gaits)
        assert 0 < gait.hop[0] <= gait.hop[1] < gait.duty <= 1


def test_an_unknown_kind_of_body_is_refused():
    with pytest.raises(ParameterError, match="no body of kind 'fish'"):
        gaits_of("fish")
