"""Linear discriminants of the values of a label: which gait or style a pose looks like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter1d

from deepphase.arrays import Array
from deepphase.evaluation.response import MAX_RESPONSE_S
from deepphase.motion.kinematics import velocities

# Share of the mean variance that is added to all variances.
_SHRINKAGE = 0.01
# Scores are averaged over this time, about half a step.
_SMOOTHING_S = 0.25
# Labels that change again sooner leave no time to answer.
_MIN_WINDOW_S = 1.0
# Most frames of a value that count.
_MAX_FRAMES = 20_000


@dataclass(frozen=True, eq=False)
class LabelDiscriminants:
    """Linear discriminants (Fisher 1936) of poses and their velocities in root space.

    Parameters
    ----------
    values
        Values of the label.
    weights, offsets
        (values, features) and (values,): a frame looks like the value with the highest score,
        weights @ features + offsets.
    accuracy
        Share of the data's frames that look like their own value.
    """

    values: tuple[str, ...]
    weights: Array
    offsets: Array
    accuracy: float

    @classmethod
    def of_poses(
        cls, poses: Sequence[Array], values: Sequence[str], fps: float
    ) -> LabelDiscriminants | None:
        """The discriminants of clips with these values; None of fewer than two values.

        Parameters
        ----------
        poses
            (frames, joints, 3) metres in root space, of each clip.
        """
        groups: dict[str, list[Array]] = {}
        for each, value in zip(poses, values, strict=True):
            groups.setdefault(value, []).append(_features(each, fps))
        if len(groups) < 2:
            return None
        names = sorted(groups)
        rows = [np.concatenate(groups[name])[:_MAX_FRAMES] for name in names]
        means = np.stack([each.mean(axis=0) for each in rows])
        within = np.concatenate([each - mean for each, mean in zip(rows, means, strict=True)])
        covariance = within.T @ within / len(within)
        covariance += _SHRINKAGE * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
        weights = np.linalg.solve(covariance, means.T).T
        offsets = -0.5 * np.einsum("vf,vf->v", weights, means)
        made = cls(tuple(names), weights, offsets, 0.0)
        right = [
            made._smoothed(each, fps).argmax(axis=1) == index
            for index, name in enumerate(names)
            for each in groups[name]
        ]
        return cls(made.values, weights, offsets, float(np.concatenate(right).mean()))

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> LabelDiscriminants:
        """The discriminants from `as_mapping`."""
        return cls(
            tuple(content["values"]),
            np.array(content["weights"], np.float64),
            np.array(content["offsets"], np.float64),
            float(content["accuracy"]),
        )

    def as_mapping(self) -> dict[str, Any]:
        """Plain values, for the headers of files."""
        return {
            "values": list(self.values),
            "weights": [[float(f"{each:.5g}") for each in row] for row in self.weights],
            "offsets": self.offsets.tolist(),
            "accuracy": self.accuracy,
        }

    def answers_s(self, poses: Array, desired: Array, fps: float) -> list[float]:
        """Seconds from each change of a desired value until the motion looks like the new one.

        Infinite where it does not within 4 s, nor before the next change.

        Parameters
        ----------
        poses : (frames, joints, 3)
            Metres, in root space.
        desired : (frames,)
            Desired values. Changes from or to one that is not known are left out, and those that
            the next one, or the end, follows within a second.
        """
        scores = self._smoothed(_features(poses, fps), fps)
        changes = np.flatnonzero(desired[1:] != desired[:-1]) + 1
        ends = np.append(changes, len(desired))[1:]
        found = []
        for begin, end in zip(changes.tolist(), ends.tolist(), strict=True):
            end = min(end, begin + round(MAX_RESPONSE_S * fps))
            new, old = str(desired[begin]), str(desired[begin - 1])
            if not {new, old} <= set(self.values) or end - begin < _MIN_WINDOW_S * fps:
                continue
            new_score, old_score = (
                scores[begin:end, self.values.index(each)] for each in (new, old)
            )
            places = np.flatnonzero(new_score > old_score)
            found.append(float(places[0] / fps) if places.size else float("inf"))
        return found

    def _smoothed(self, features: Array, fps: float) -> Array:
        """(frames, values) scores, averaged over a quarter of a second."""
        scores = features @ self.weights.T + self.offsets
        return np.asarray(
            uniform_filter1d(scores, max(round(_SMOOTHING_S * fps), 1), axis=0, mode="nearest")
        )


def _features(poses: Array, fps: float) -> Array:
    """(frames, 6 * joints) positions in root space, and their velocities."""
    both = np.concatenate([poses, velocities(poses, fps)], axis=-1)
    return both.reshape(len(both), -1)
