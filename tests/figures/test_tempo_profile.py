"""The figure of tempi holds what it is given."""

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.figures.tempo_profile import tempo_profile_figure


def test_a_line_a_set_of_dances():
    factors = np.linspace(0.6, 1.6, 11)
    chart = tempo_profile_figure(factors, {"real": factors / 10, "<b>made": factors / 20})
    assert [trace.name for trace in chart.data] == ["real", "&lt;b&gt;made"]
    np.testing.assert_allclose(chart.data[1].y, factors / 20, rtol=1e-6)
    with pytest.raises(ParameterError, match="real"):
        tempo_profile_figure(factors, {"real": factors[:3]})


def test_nothing_to_show_is_said():
    assert "no dance" in tempo_profile_figure(np.ones(2), {}).layout.annotations[0].text
