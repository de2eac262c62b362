"""Phase update of running characters, compiled by numba: that of `networks.phase_update`."""

from __future__ import annotations

import math

from numba import float32, void

from deepphase.compiled import compiled


@compiled(
    void(
        float32[:, ::1],
        float32[:, ::1],
        float32[:, ::1],
        float32[:, ::1],
        float32,
        float32,
        float32,
        float32,
    ),
    error_model="numpy",
)
def advance_phases(
    vectors, predicted, frequency, amplitude, seconds, blend, least_length, nearly_opposite
):
    """Advance phase vectors in place; see `phase_update.updated_phases`.

    Parameters
    ----------
    vectors, predicted
        (rows, 2 * channels) (A sin 2 pi phase, A cos 2 pi phase), interleaved by channel.
    frequency, amplitude
        (rows, channels) predicted, in Hz and the latent's unit.
    seconds
        Duration of the step.
    blend
        Share of the prediction.
    least_length
        Length above which a vector has a direction.
    nearly_opposite
        Distance of a cosine from -1 below which two directions are opposite.
    """
    turn = float32(2.0 * math.pi) * seconds
    zero, half, one = float32(0.0), float32(0.5), float32(1.0)
    for n in range(frequency.shape[0]):
        for c in range(frequency.shape[1]):
            s, k = vectors[n, 2 * c], vectors[n, 2 * c + 1]
            goal_s, goal_k = predicted[n, 2 * c], predicted[n, 2 * c + 1]
            length = math.sqrt(s * s + k * k)
            goal_length = math.sqrt(goal_s * goal_s + goal_k * goal_k)
            if goal_length > least_length:
                goal_s, goal_k = goal_s / goal_length, goal_k / goal_length
            else:
                goal_s, goal_k = zero, one
            if length > least_length:
                angle = turn * max(frequency[n, c], zero)
                sine, cosine = math.sin(angle), math.cos(angle)
                s, k = s / length, k / length
                s, k = s * cosine + k * sine, k * cosine - s * sine
                along = goal_s * s + goal_k * k
                if not (goal_length > least_length and along >= nearly_opposite - one):
                    pass
                elif blend == half:
                    # Half way lies the direction of the sum.
                    s, k = s + goal_s, k + goal_k
                    length = math.sqrt(s * s + k * k)
                    s, k = s / length, k / length
                else:
                    # Sine and cosine of the angle from the turned to the predicted direction.
                    angle = blend * math.atan2(goal_s * k - goal_k * s, along)
                    sine, cosine = math.sin(angle), math.cos(angle)
                    s, k = s * cosine + k * sine, k * cosine - s * sine
            else:
                s, k = goal_s, goal_k
            size = max(amplitude[n, c], zero)
            vectors[n, 2 * c], vectors[n, 2 * c + 1] = size * s, size * k
