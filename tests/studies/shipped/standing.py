"""Bodies that stand at rest: they shift their weight and look around."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from deepphase.motion.clip import Clip
from deepphase.synthetic.bodies import body_named
from deepphase.synthetic.gait import Gait, Style, Wave, gaits_of
from deepphase.synthetic.gait_motion import perform
from deepphase.synthetic.program import Segment, segment_lengths

# Seconds of a clip, and from one posture to the next.
_CLIP_S, _POSTURE_S = 8.0, (1.2, 2.4)
# Between which postures differ from the stand, in radians. A dog also looks at the ground.
_POSTURES = {
    "biped": {
        "spine_turn": (-0.08, 0.08),
        "head_turn": (-0.3, 0.3),
        "head_tilt": (-0.1, 0.1),
        "arm_swing": (-0.05, 0.05),
        "elbow": (-0.1, 0.1),
    },
    "quadruped": {
        "spine_turn": (-0.1, 0.1),
        "head_turn": (-0.7, 0.7),
        "head_tilt": (-0.2, 0.9),
        "tail_raise": (-0.2, 0.4),
    },
}
# Weight on one leg: metres to its side, and radians per metre by which that side of the hips rises
# and the spine bends back.
_WEIGHT, _HIPS_RISE = {"biped": 0.035, "quadruped": 0.025}, 1.5
# Hz of a tail that wags, and how often one does.
_WAG_HZ, _WAGS = (0.9, 2.6), 0.7
# Spread of the individuals: one character rather than many.
_VARIETY = 0.25
# Apart from the seeds of other motion.
_SEED = 1_000_000


def standing_clips(kind: str, seed: int, labels: Iterable[Mapping[str, str]]) -> Iterator[Clip]:
    """Clips of eight seconds in which a body stands, for the rest of characters.

    Parameters
    ----------
    kind
        "biped" or "quadruped". A dog wags its tail now and then.
    """
    body = body_named(kind)
    # Clips of rest follow each other, so they begin and end in one posture.
    still = dict.fromkeys({"Tail"}.intersection(body.oscillators), 0.0)
    plain = Segment("idle", _POSTURE_S[0], oscillators=still)
    for number, its_labels in enumerate(labels):
        generator = np.random.default_rng([seed, _SEED, number])
        program = [plain]
        for seconds in segment_lengths(generator, _CLIP_S - 2.0 * plain.seconds, *_POSTURE_S):
            hertz = float(generator.uniform(*_WAG_HZ)) if generator.uniform() < _WAGS else 0.0
            wag = dict.fromkeys(still, hertz)
            program.append(Segment(_posture(generator, kind), seconds, oscillators=wag))
        motion = perform(
            [*program, plain],
            int(generator.integers(2**31)),
            body=body,
            style=Style.random(generator, _VARIETY),
        )
        yield replace(motion.clip, name=f"{kind}_stands_{number}", labels=its_labels)


def _posture(generator: np.random.Generator, kind: str) -> Gait:
    """The stand of a body in another posture."""
    idle = gaits_of(kind)["idle"]
    offsets = {name: float(generator.uniform(*bounds)) for name, bounds in _POSTURES[kind].items()}
    side = float(generator.uniform(-1.0, 1.0)) * _WEIGHT[kind]
    offsets |= {"side": side, "list": _HIPS_RISE * side, "spine_list": -_HIPS_RISE * side}
    waves = dict(idle.waves)
    for name, offset in offsets.items():
        wave = waves.get(name, Wave())
        waves[name] = replace(wave, mean=wave.mean + offset)
    return replace(idle, waves=waves)
