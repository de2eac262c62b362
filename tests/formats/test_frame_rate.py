"""Frame times as files write them."""

import pytest

from deepphase.formats.units import frame_rate


@pytest.mark.parametrize(
    ("written", "fps"),
    [
        ("0.0333333", 30),
        ("0.033333", 30),
        ("0.0333", 30),
        ("0.033", 30),
        ("0.0083333", 120),
        ("0.0083", 120),
        ("0.008", 125),
        ("0.0166667", 60),
        ("0.0167", 60),
        ("0.01667", 60),
        ("0.04", 25),
        ("0.0111111", 90),
        ("0.00416667", 240),
        ("1.0", 1),
        ("0.0416667", 24),
        ("0.0417083", 24 / 1.001),
        ("0.0333667", 30 / 1.001),
        ("0.0166833", 60 / 1.001),
        ("0.0083417", 120 / 1.001),
        ("0.036", 1 / 0.036),
        ("0.0364", 1 / 0.0364),
        ("0.016", 62.5),
        ("2.5", 0.4),
    ],
)
def test_rate_is_the_one_that_was_meant(written, fps):
    assert frame_rate(float(written), len(written.partition(".")[2])) == pytest.approx(
        fps, rel=1e-9
    )
