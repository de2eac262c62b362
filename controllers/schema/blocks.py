"""Blocks of a controller's inputs, gate and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deepphase.controllers.schema.config import (
    BALL_BLOCKS,
    CYCLES_UNIT,
    TRAJECTORY_HEIGHT,
    Gate,
    SchemaConfig,
)
from deepphase.errors import ParameterError
from deepphase.features.layout import Feature, FeatureLayout
from deepphase.features.trajectory import TRAJECTORY_PATH, TRAJECTORY_VELOCITY
from deepphase.terrain.heightmap import SIDES

# Numbers of a rotation: its x and y axis.
_ROTATION_NUMBERS = 6


@dataclass(frozen=True)
class SchemaBlocks:
    """Makes the layouts of a schema for one skeleton."""

    config: SchemaConfig
    joints: tuple[str, ...]
    feet: tuple[str, ...]
    channels: int
    label_values: int
    track_widths: Mapping[str, int]

    def inputs(self) -> FeatureLayout:
        """Layout of the inputs."""
        config = self.config
        blocks = self._trajectory(config.offsets_s, config.trajectory_velocity)
        if config.heights:
            blocks.append(_track(TRAJECTORY_HEIGHT, SIDES, "m", offsets_s=config.offsets_s))
        blocks += self._ball(config.offsets_s)
        for name in config.tracks:
            if name not in self.track_widths:
                raise ParameterError(
                    f"there is no track {name!r}",
                    hint=f"tracks: {', '.join(self.track_widths) or 'none'}",
                )
            width = self.track_widths[name]
            blocks.append(_track(name, width, "1", offsets_s=config.offsets_s))
        blocks += self._label(config.offsets_s)
        blocks += self._pose(config.pose_weight, rotation=config.input_rotation)
        return FeatureLayout(*blocks)

    def gate(self, gate: Gate) -> FeatureLayout | None:
        """Layout of the gate: what the weights of the network depend on."""
        later = self.config.later_s
        if gate == "phase":
            return FeatureLayout(_track("phase", 1, CYCLES_UNIT))
        if gate == "manifold":
            # Without past phases, which DeepPhase has: those of runs are the network's own, while
            # training shows captured ones, and rare gaits fade with every second of a run.
            return FeatureLayout(Feature("phase_manifold", channels=self.channels, offsets_s=later))
        if gate == "feet":
            # Zhang et al. 2018: the feet's velocities, the desired velocity and the action.
            feet = Feature("foot_velocity", joints=self.feet)
            return FeatureLayout(
                feet, _track(TRAJECTORY_VELOCITY, 2, "m/s", offsets_s=later), *self._label(later)
            )
        if gate == "goal":
            return FeatureLayout(*self._trajectory(later, True), *self._label(later))
        return None

    def outputs(self, gate: Gate) -> FeatureLayout:
        """Layout of the outputs."""
        config = self.config
        offsets = config.later_s if config.predicts == "future" else config.offsets_s
        blocks = self._trajectory(offsets, config.trajectory_velocity)
        blocks += self._pose(1.0, rotation=True)
        blocks += [
            _track("root_velocity", 2, "m/s"),
            _track("root_turn", 1, "rad/s"),
            _track("contact", len(self.feet), "1"),
        ]
        blocks += self._ball(config.later_s)
        if gate == "phase":
            blocks.append(_track("phase_rate", 1, "Hz"))
        if gate == "manifold":
            later, channels = config.later_s, self.channels
            blocks += [
                Feature("phase_manifold", channels=channels, offsets_s=later),
                _track("phase_frequency", channels, "Hz", offsets_s=later),
                _track("phase_amplitude", channels, "1", offsets_s=later),
            ]
        return FeatureLayout(*blocks)

    def _trajectory(self, offsets_s: tuple[float, ...], velocity: bool) -> list[Feature]:
        blocks = [Feature(name, offsets_s=offsets_s) for name in TRAJECTORY_PATH]
        if velocity:
            blocks.append(_track(TRAJECTORY_VELOCITY, 2, "m/s", offsets_s=offsets_s))
        return blocks

    def _ball(self, offsets_s: tuple[float, ...]) -> list[Feature]:
        if not self.config.ball:
            return []
        return [
            _track(name, 3, unit, offsets_s=offsets_s)
            for name, unit in zip(BALL_BLOCKS, ("m", "m/s"), strict=True)
        ]

    def _label(self, offsets_s: tuple[float, ...]) -> list[Feature]:
        if not self.config.label:
            return []
        return [_track(self.config.label, self.label_values, "1", offsets_s=offsets_s)]

    def _pose(self, weight: float, *, rotation: bool) -> list[Feature]:
        blocks = [
            Feature(name, joints=self.joints, weight=weight)
            for name in ("joint_position", "joint_velocity")
        ]
        if rotation:
            width = _ROTATION_NUMBERS * len(self.joints)
            blocks.append(_track("joint_rotation", width, "1", weight=weight))
        return blocks


def _track(name: str, channels: int, unit: str, **values: Any) -> Feature:
    return Feature(name, kind="track", channels=channels, unit=unit, **values)
