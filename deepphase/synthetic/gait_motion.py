"""Synthetic locomotion with ground-truth phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array, counted, short_repr, timed, wrapped
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, Source
from deepphase.motion.contacts import GRAVITY
from deepphase.synthetic.bodies import Body, body_named
from deepphase.synthetic.gait import ARM, FREEDOMS, Gait, Style, evaluate_waves, on_ground
from deepphase.synthetic.posture import (
    Footholds,
    follow_footholds,
    gait_footholds,
    plant_feet,
    pose_trunk,
)
from deepphase.synthetic.program import Program, Segment, Tempo, Timeline, timeline

_DRIFT_EXTENT, _RAMP_EXTENT = 0.15, 0.3
# Runners lean into a curve, by this share of what balances it and not beyond this angle.
_BANKING, _LARGEST_BANK = 0.6, 0.35
# Radians of lean per m/s^2 of acceleration, of a look aside per rad/s of turning.
_ACCELERATION_LEAN, _LOOK_ASIDE = 0.035, 0.22
# Sway of a body at rest: Hz of its components, metres and radians.
_SWAY_HZ = (0.11, 0.19, 0.31)
_SWAY_SIDE, _SWAY_TURN, _BREATH = 0.025, 0.1, 0.015


@dataclass(frozen=True, eq=False)
class SyntheticMotion:
    """A synthetic motion, and what is true of it.

    Parameters
    ----------
    clip
        The motion; its labels hold body, gait and seed.
    limb_names
        The limbs, by the names of their foot joints.
    contact_joints
        (limbs,) the joint of each limb that keeps its place on the ground while it touches.
    phase
        (frames, limbs) cycles in [-0.5, 0.5), growing with time; 0 at the limb's touch-down.
    frequency
        (frames, limbs) Hz: the phase's rate of change. Between two frames the phase grows by the
        mean of their frequencies times the frame's duration.
    contacts
        (frames, limbs) whether the limb touches the ground. The horizontal place of the contact
        joint is fixed throughout.
    oscillator_names
        What swings independently: waving arms, a wagging tail, beat and bar of a dance.
    oscillator_phase, oscillator_frequency, oscillator_amplitude
        (frames, oscillators) the same of these; amplitude from 0 (still) to 1.
    gait_names, gait
        Gaits, and (frames,) the index of each frame's.
    """

    clip: Clip
    limb_names: tuple[str, ...]
    contact_joints: Array
    phase: Array
    frequency: Array
    contacts: Array
    oscillator_names: tuple[str, ...]
    oscillator_phase: Array
    oscillator_frequency: Array
    oscillator_amplitude: Array
    gait_names: tuple[str, ...]
    gait: Array

    def __repr__(self) -> str:
        limbs = counted(len(self.limb_names), "limb")
        return short_repr(self, timed(len(self), self.clip.fps), limbs, "/".join(self.gait_names))

    def __len__(self) -> int:
        return len(self.clip)


def locomotion(
    seed: int,
    seconds: float = 20.0,
    *,
    body: str | Body = "biped",
    gait: str | Gait = "walk",
    fps: float = 60.0,
    speed: float | None = None,
    turn_rate: float = 0.0,
    profile: str = "constant",
    variety: float = 1.0,
    oscillators: Mapping[str, float] | None = None,
) -> SyntheticMotion:
    """One gait for a while.

    Parameters
    ----------
    seed
        Individual and initial phase; the same seed gives the same motion.
    speed, turn_rate
        m/s (None for the gait's own) and rad/s to the left.
    profile
        Of the stride frequency: "constant", "drift" (by 15 %) or "ramp" (up and down by 30 % at
        0.5 Hz a second).
    variety
        0 for the plain style, 1 for the usual spread of individuals.
    oscillators
        Name -> Hz: arms that wave, the tail.

    Raises
    ------
    ParameterError
        For an unknown body, gait or profile, or a number out of range.
    """
    extent = _RAMP_EXTENT if profile == "ramp" else _DRIFT_EXTENT
    segment = Segment(
        gait,
        seconds,
        speed=speed,
        turn_rate=turn_rate,
        tempo=Tempo(profile, extent),
        oscillators=oscillators or {},
    )
    return perform([segment], seed, body=body, fps=fps, variety=variety)


def perform(
    program: Program,
    seed: int,
    *,
    body: str | Body = "biped",
    fps: float = 60.0,
    style: Style | None = None,
    variety: float = 1.0,
    name: str = "",
) -> SyntheticMotion:
    """A program, performed by an individual; without a style by one of `seed` and `variety`."""
    check_rate(fps)
    if not (np.isfinite(variety) and min(variety, seed) >= 0):
        raise ParameterError(f"variety and seed must be 0 or more, not {variety} and {seed}")
    body = body_named(body)
    generator = np.random.default_rng(seed)
    style = Style.random(generator, variety) if style is None else style
    line = timeline(program, body, style, generator, fps)
    holds = [gait_footholds(body, line, row, style.toe_out) for row in range(len(body.limbs))]
    rotations, root, contacts = posed(
        body,
        _freedoms(body, line, generator, fps),
        line.path,
        holds,
        line.limb_cycles,
        line.tracks,
        (line.oscillator_cycles, line.oscillator_amplitude),
        fps,
    )
    frames = line.clip_frames
    gaits = list(dict.fromkeys(line.gait_names))
    labels = {"body": body.kind, "gait": "+".join(gaits), "seed": str(seed)}
    clip = synthetic_clip(
        body, rotations[frames], root[frames], fps, labels, name or f"{gaits[0]}_{seed}"
    )
    return SyntheticMotion(
        clip,
        tuple(limb.name for limb in body.limbs),
        np.array([limb.toe for limb in body.limbs]),
        wrapped(line.limb_cycles[frames]),
        line.limb_frequency[frames],
        contacts[frames],
        body.oscillators,
        wrapped(line.oscillator_cycles[frames]),
        line.oscillator_frequency[frames],
        line.oscillator_amplitude[frames],
        tuple(gaits),
        np.array([gaits.index(gait) for gait in line.gait_names])[line.gait[frames]],
    )


def check_rate(fps: float) -> None:
    """ParameterError unless synthetic motion can have so many frames a second."""
    if not (np.isfinite(fps) and fps >= 10):
        raise ParameterError(
            f"a rate of {fps} frames a second is not possible",
            hint="synthetic motion needs at least 10",
        )


def posed(
    body: Body,
    values: Mapping[str, Array],
    path: Array,
    holds: list[Footholds],
    clocks: Array,
    tracks: dict[str, Array],
    oscillators: tuple[Array, Array],
    fps: float,
) -> tuple[Array, Array, Array]:
    """Rotations (frames, joints, 4), root (frames, 3) and contacts (frames, limbs) of a motion."""
    heading = values["heading"]
    feet = [
        follow_footholds(limb, hold, clock, tracks)
        for limb, hold, clock in zip(body.limbs, holds, clocks.T, strict=True)
    ]
    ground = path + on_ground(heading, values["side"], values["ahead"])
    root = np.stack([ground[:, 0], body.hips_height + values["up"], ground[:, 1]], axis=1)
    rotations, root = plant_feet(
        body, pose_trunk(body, values, *oscillators), root, heading, feet, fps
    )
    return rotations, root, np.stack([foot.contact for foot in feet], axis=1)


def synthetic_clip(
    body: Body, rotations: Array, root: Array, fps: float, labels: Mapping[str, str], name: str
) -> Clip:
    """A clip of (frames, joints, 4) rotations and (frames, 3) root positions, in float32."""
    return Clip(
        body.skeleton,
        quaternions.sign_continuous(quaternions.normalized(rotations)).astype(np.float32),
        root[:, None].astype(np.float32),
        float(fps),
        labels=labels,
        source=Source(fps=float(fps), notes=("made by formula (deepphase.synthetic)",)),
        name=name,
    )


def _freedoms(
    body: Body, line: Timeline, generator: np.random.Generator, fps: float
) -> dict[str, Array]:
    """Values of the degrees of freedom."""
    waves = dict(zip(FREEDOMS[body.kind], line.waves.swapaxes(0, 1), strict=True))
    values = {name: evaluate_waves(wave, line.cycles) for name, wave in waves.items()}
    # The first two limbs are the left and the right one of the arms' or front legs' phase.
    for name in waves.keys() & {*ARM, "scapula"}:
        sides = [evaluate_waves(waves[name], line.limb_cycles[:, side]) for side in (0, 1)]
        values[name] = np.stack(sides, axis=1)
    values["heading"] = line.heading
    _add_sway(values, line, generator)
    bank = np.arctan(line.speed * line.turn_rate / GRAVITY) * _BANKING
    bank = _LARGEST_BANK * np.tanh(bank / _LARGEST_BANK)
    for name in ("side", "ahead", "up"):
        values[name] = body.scale * values[name]
    values["list"] -= bank
    values["side"] += np.sin(bank) * body.hips_height
    acceleration = np.gradient(line.speed, 1.0 / fps)
    values["tilt"] += np.clip(_ACCELERATION_LEAN * acceleration, -0.2, 0.2)
    values["head_turn"] += _LOOK_ASIDE * np.tanh(line.turn_rate)
    return values


def _add_sway(values: dict[str, Array], line: Timeline, generator: np.random.Generator) -> None:
    """Breath and slow sway, larger at rest, added to the values."""
    phases = generator.uniform(0, 1, (3, len(_SWAY_HZ)))
    waves = np.cos(2 * np.pi * (line.seconds[:, None, None] * np.array(_SWAY_HZ) + phases))
    side, look, lean = waves.mean(axis=2).T
    rest = line.tracks["stands"]
    values["side"] += rest * _SWAY_SIDE * side
    values["list"] += rest * _SWAY_SIDE * side
    values["spine_list"] -= rest * _SWAY_SIDE * side
    values["spine_turn"] += 0.5 * rest * _SWAY_TURN * look
    values["head_turn"] += (0.3 + rest) * _SWAY_TURN * 2.0 * look
    breath = np.cos(2 * np.pi * (0.27 * line.seconds + phases[0, 0]))
    values["spine_tilt"] += rest * (_BREATH * breath + 0.02 * lean)
