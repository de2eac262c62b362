"""The gaits of a dog, as numbers.

Footfall sequences and duty factors after Hildebrand 1989 and Maes et al. 2008. Limbs are in the
order left front, right front, left hind, right hind; lags count from the left hind leg.
"""

from __future__ import annotations

from deepphase.synthetic.gait import Gait
from deepphase.synthetic.waves import Wave

_WALK_LAGS = (0.25, 0.75, 0.0, 0.5)

QUADRUPED_GAITS = {
    gait.name: gait
    for gait in (
        Gait(
            "idle",
            speed=0.0,
            frequency=0.0,
            duty=1.0,
            lags=_WALK_LAGS,
            toe_off=0.0,
            loading=0.3,
            waves={"up": Wave(-0.008), "head_tilt": Wave(0.0), "tail_raise": Wave(0.1)},
        ),
        Gait(
            "walk",
            speed=0.95,
            frequency=1.35,
            duty=0.64,
            lags=_WALK_LAGS,
            step_height=0.06,
            strike=0.35,
            toe_off=0.5,
            swing_flexion=0.6,
            loading=0.5,
            waves={
                "side": Wave(first=0.012, first_peak=0.3),
                "up": Wave(-0.015, second=0.008, second_peak=0.3),
                "tilt": Wave(0.0, second=0.02, second_peak=0.1),
                "turn": Wave(first=0.06, first_peak=0.55),
                "list": Wave(first=0.05, first_peak=0.2),
                "spine_turn": Wave(first=0.1, first_peak=0.05),
                "spine_list": Wave(first=0.05, first_peak=0.7),
                "head_tilt": Wave(0.1, second=0.06, second_peak=0.2),
                "scapula": Wave(0.0, first=0.2, first_peak=0.07),
                "tail_raise": Wave(0.15),
            },
        ),
        Gait(
            "pace",
            speed=1.7,
            frequency=1.85,
            duty=0.48,
            lags=(0.0, 0.5, 0.0, 0.5),
            step_height=0.06,
            strike=0.35,
            toe_off=0.5,
            swing_flexion=0.6,
            loading=0.4,
            waves={
                "side": Wave(first=0.022, first_peak=0.24),
                "up": Wave(-0.02, second=0.01, second_peak=0.48),
                "turn": Wave(first=0.04, first_peak=0.5),
                "list": Wave(first=0.07, first_peak=0.2),
                "spine_turn": Wave(first=0.05, first_peak=0.0),
                "head_tilt": Wave(0.05, second=0.03, second_peak=0.2),
                "scapula": Wave(0.0, first=0.22, first_peak=0.0),
                "tail_raise": Wave(0.2),
            },
        ),
        Gait(
            "trot",
            speed=2.0,
            frequency=2.1,
            duty=0.44,
            lags=(0.5, 0.0, 0.0, 0.5),
            step_height=0.07,
            strike=0.35,
            toe_off=0.55,
            swing_flexion=0.75,
            loading=0.35,
            waves={
                "side": Wave(first=0.006, first_peak=0.22),
                "up": Wave(-0.02, second=0.018, second_peak=0.47),
                "turn": Wave(first=0.05, first_peak=0.5),
                "list": Wave(first=0.04, first_peak=0.2),
                "spine_turn": Wave(first=0.08, first_peak=0.0),
                "spine_list": Wave(first=0.06, first_peak=0.7),
                "head_tilt": Wave(-0.05, second=0.03, second_peak=0.2),
                "scapula": Wave(0.0, first=0.24, first_peak=-0.03),
                "tail_raise": Wave(0.3),
            },
        ),
        Gait(
            "canter",
            speed=3.2,
            frequency=2.3,
            duty=0.34,
            lags=(0.35, 0.02, 0.0, 0.68),
            exponent=0.3,
            step_height=0.09,
            strike=0.4,
            toe_off=0.6,
            swing_flexion=0.8,
            loading=0.3,
            waves={
                "side": Wave(first=0.004, first_peak=0.2),
                "up": Wave(-0.03, first=0.03, first_peak=0.6),
                "tilt": Wave(0.0, first=0.11, first_peak=0.42),
                "list": Wave(first=0.03, first_peak=0.2),
                "spine_tilt": Wave(0.05, first=0.14, first_peak=0.8),
                "head_tilt": Wave(-0.05, first=0.12, first_peak=0.95),
                "scapula": Wave(0.0, first=0.28, first_peak=-0.06),
                "tail_raise": Wave(0.35, first=0.1, first_peak=0.3),
            },
        ),
        Gait(
            "gallop",
            speed=5.0,
            frequency=2.7,
            duty=0.25,
            lags=(0.5, 0.62, 0.0, 0.12),
            exponent=0.3,
            step_height=0.1,
            strike=0.45,
            toe_off=0.7,
            swing_flexion=0.9,
            loading=0.22,
            waves={
                "up": Wave(-0.035, first=0.012, first_peak=0.9, second=0.022, second_peak=0.43),
                "ahead": Wave(first=0.02, first_peak=0.4),
                "tilt": Wave(-0.03, first=0.18, first_peak=0.38),
                "spine_tilt": Wave(0.12, first=0.34, first_peak=0.86),
                "head_tilt": Wave(-0.1, first=0.16, first_peak=0.4),
                "scapula": Wave(0.0, first=0.34, first_peak=-0.1),
                "tail_raise": Wave(0.4, first=0.2, first_peak=0.3),
            },
        ),
    )
}
