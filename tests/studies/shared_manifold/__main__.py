"""Train a model with a shared codebook, and measure what skeletons have in common.

python -m tests.studies.shared_manifold people.store dog.store --seed 0 -o both.model

Measured on held-out files: use of the codes, retrieval of stands, walks and runs across skeletons,
the turning of the phase in each code, and the measures of DeepPhase. Beside them stand chance,
speed alone, shuffled labels, and the shipped model's amplitudes in as many clusters. --model
measures a trained model in place of training one, --against models of one skeleton each on the same
clips. --control trains otherwise: "alone" a model per skeleton, "uncompared" one that does not
compare skeletons.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.cluster.vq import kmeans2
from scipy.ndimage import uniform_filter1d

from deepphase.apps.reports.evaluation_report import frames_and_poses, gathered_parameters
from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import open_store
from deepphase.cycles import wrapped
from deepphase.evaluation.phase_measures import MeasuredPhases, measured
from deepphase.features.moment_kinds import IDLE, LOCOMOTION, clip_kinds, leg_length
from deepphase.motion.contacts import GRAVITY, foot_contacts
from deepphase.motion.kinematics import joint_positions, velocities
from deepphase.motion.roles import find_roles
from deepphase.phase.body_points import FPS, joints_of
from deepphase.phase.config import PhaseConfig
from deepphase.phase.extractor import PhaseExtractor, load_extractor, shipped_model
from deepphase.phase.health import code_health
from deepphase.phase.measuring import measured_health
from deepphase.phase.model import PhaseModel
from deepphase.phase.shared_frames import SharedFrames
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.phase.training import bodies
from deepphase.phase.training.train import train_phase

GAITS = ("stand", "walk", "run")
# Seconds over which a gait is found, and the share of the ground contact of a foot that walks, and
# that runs, at most; in between it is neither.
_SPAN_S, _WALKING, _RUNNING = 2.0, 0.55, 0.45
# Share of the frames around one that stand or travel, and least speed in sqrt(g * leg length).
_PURE, _TRAVELLING = 0.6, 0.12
# Frames of each gait that are searched, and that are looked for.
_SEARCHED, _QUERIES = 800, 400


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Interior frames of held-out clips of one skeleton.

    Parameters
    ----------
    name
        Name of the store.
    codes
        (frames, stages)
    values
        (frames, values) sums of these codes.
    places
        (frames, values) by which `match query` compares bodies.
    gaits
        (frames,) index of `GAITS`; -1 where it is neither.
    speeds
        (frames,) speed of travel in sqrt(g * leg length).
    steps
        (frames,) step of the first channel's phase to the next frame, as a multiple of its
        frequency; NaN at the ends of clips.
    amplitudes
        (frames, channels) of the shipped model.
    measures
        Name -> value of DeepPhase's measures.
    """

    name: str
    codes: Array
    values: Array
    places: Array
    gaits: Array
    speeds: Array
    steps: Array
    amplitudes: Array
    measures: dict[str, float]


def held_out_clips(store: ClipStore, config: PhaseConfig) -> ClipStore:
    """The clips that a training on a store with this config holds out."""
    signals, _ = joints_of(store)
    corpus = SignalCorpus.read(store, None, signals)
    split = corpus.split(config.network.window(FPS), config.training.held_out, config.training.seed)
    kept = np.flatnonzero(np.isin(corpus.starts, split.held_out_ranges[:, 0]))
    return ClipStore.from_clips(store.clip(int(index)) for index in kept)


def held_out(name: str, store: ClipStore, model: PhaseModel[Any]) -> HeldOut:
    """Codes, gaits and measures of clips."""
    bound, shipped = model.bound(store), shipped_model().bound(store)
    phases = [bound.encode(clip) for clip in store]
    _, inside, _ = frames_and_poses(bound, store, phases)
    found: list[list[Array]] = [[] for _ in range(5)]
    for clip, each, kept in zip(store, phases, inside, strict=True):
        gaits, speeds = gaits_of(clip)
        turned = wrapped(np.diff(each.parameters.phase[:, 0]))
        expected = np.maximum(each.parameters.frequency[:-1, 0] / each.fps, 1e-6)
        steps = np.append(turned / expected, np.nan)
        amplitudes = shipped.encode(clip).parameters.amplitude
        every = (each.codes, gaits, speeds, steps, amplitudes)
        for part, values in zip(found, every, strict=True):
            part.append(values[kept])
    codes, gaits, speeds, steps, amplitudes = map(np.concatenate, found)
    centres = model.network.codebook.codes.numpy()
    values = sum(centres[stage][codes[:, stage]] for stage in range(codes.shape[1]))
    places = SharedFrames.of(model, store).places[np.concatenate(_offsets(inside, store))]
    measures = phase_measures(bound, store)
    return HeldOut(name, codes, values, places, gaits, speeds, steps, amplitudes, measures)


def _offsets(inside: list[Array], store: ClipStore) -> list[Array]:
    starts = np.cumsum([0, *(len(store.clip(index)) for index in range(len(store)))])
    return [start + kept for start, kept in zip(starts, inside, strict=False)]


def phase_measures(model: PhaseExtractor, store: ClipStore) -> dict[str, float]:
    """DeepPhase's measures of a model of one skeleton on clips."""
    phases = [model.encode(clip) for clip in store]
    frames, inside, poses = frames_and_poses(model, store, phases)
    parameters = gathered_parameters(phases, inside)
    health = None
    if isinstance(model, PhaseModel):
        values = SignalCorpus.read(store, None, model.signals)
        ranges = np.stack([values.starts, values.stops], 1)
        health = measured_health(model, values.values, ranges)
    found = measured(
        MeasuredPhases(parameters, poses, frames, model.fps, model.window, 3000, health=health)
    )
    return {each.name: round(each.value, 4) for each in found}


def gaits_of(clip: Any) -> tuple[Array, Array]:
    """(frames,) gait by the contacts of the (hind) feet, and speed in sqrt(g * leg length)."""
    roles = find_roles(clip.skeleton, clip=clip)
    unit = np.sqrt(GRAVITY * leg_length(clip.skeleton, roles))
    travel = velocities(joint_positions(clip)[:, roles.hips, ::2], clip.fps)
    speeds = np.linalg.norm(uniform_filter1d(travel, int(clip.fps / 2), axis=0), axis=1) / unit
    kinds, span = clip_kinds(clip), int(_SPAN_S * clip.fps)
    contact = foot_contacts(clip, roles).flags[:, :2].mean(1)
    idle, locomotion, duty = (
        uniform_filter1d(each.astype(float), span)
        for each in (kinds == IDLE, kinds == LOCOMOTION, contact)
    )
    gaits = np.full(len(clip), -1)
    gaits[idle > _PURE] = 0
    travels = (locomotion > _PURE) & (speeds > _TRAVELLING)
    gaits[travels & (duty > _WALKING)] = 1
    gaits[travels & (duty < _RUNNING)] = 2
    return gaits, speeds


def retrieval(
    queries: Array, own: Array, values: Array, gaits: Array, generator: np.random.Generator
) -> tuple[float, dict[str, float]]:
    """Share of frames whose nearest frame of another skeleton has their gait: mean, and by gait.

    Every gait is searched in as many frames.
    """
    present = [gait for gait in range(len(GAITS)) if (own == gait).any() and (gaits == gait).any()]
    base = np.concatenate(
        [generator.choice(np.flatnonzero(gaits == gait), _SEARCHED) for gait in present]
    )
    right = {}
    for gait in present:
        chosen = generator.choice(np.flatnonzero(own == gait), _QUERIES)
        apart = np.linalg.norm(queries[chosen][:, None] - values[base], axis=2)
        right[GAITS[gait]] = float((gaits[base][apart.argmin(1)] == gait).mean())
    return float(np.mean(list(right.values()))), right


def comparison(first: HeldOut, second: HeldOut, count: int, seed: int) -> dict[str, Any]:
    """What two skeletons have in common, beside the controls."""
    generator = np.random.default_rng(seed)
    result: dict[str, Any] = {}
    for one, other in ((first, second), (second, first)):
        key = f"{one.name} finds {other.name}"
        for name, queries, values, gaits in (
            ("codes", one.values, other.values, other.gaits),
            ("places", one.places, other.places, other.gaits),
            ("speed", one.speeds[:, None], other.speeds[:, None], other.gaits),
            ("shuffled", one.values, other.values, generator.permutation(other.gaits)),
            ("shipped amplitudes", one.amplitudes, other.amplitudes, other.gaits),
        ):
            result[f"{key} by {name}"] = retrieval(queries, one.gaits, values, gaits, generator)
    by_codes = [one.codes[:, 0] for one in (first, second)]
    result["codes"] = _shared(by_codes, count)
    clusters = _clusters([one.amplitudes for one in (first, second)], count, seed)
    result["clusters of shipped amplitudes"] = _shared(clusters, count)
    for one in (first, second):
        result[f"rings of {one.name}"] = rings(one, count)
        result[f"measures of {one.name}"] = one.measures
    return result


def _shared(codes: list[Array], count: int) -> dict[str, Any]:
    found = code_health(codes, count)
    return {
        "used": [each.used for each in found],
        "shared": found[0].shared,
        "shared frames": [round(each.shared_frames, 3) for each in found],
    }


def _clusters(amplitudes: list[Array], count: int, seed: int) -> list[Array]:
    # Large movements would otherwise have all clusters.
    sizes = [each / np.sqrt(np.square(each).mean()) for each in amplitudes]
    fewest = min(map(len, sizes))
    even = np.concatenate([each[:: len(each) // fewest] for each in sizes])
    centres, _ = kmeans2(even, count, seed=seed, minit="++")
    return [((each[:, None] - centres) ** 2).sum(2).argmin(1) for each in sizes]


def rings(one: HeldOut, count: int) -> dict[str, float]:
    """Median over codes in use: share of steps forward, and spread of steps over their mean."""
    forward, uneven = [], []
    for code in range(count):
        steps = one.steps[one.codes[:, 0] == code]
        steps = steps[np.isfinite(steps)]
        if len(steps) > len(one.steps) / count / 10:
            forward.append(float((steps > 0).mean()))
            low, middle, high = np.percentile(steps, (16, 50, 84))
            uneven.append(float((high - low) / 2 / max(abs(middle), 1e-6)))
    return {"forward": float(np.median(forward)), "unevenness": float(np.median(uneven))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stores", type=Path, nargs=2)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", action="append", default=[], help="section.key=value")
    parser.add_argument("--against", type=Path, nargs=2)
    parser.add_argument("--control", choices=["alone", "uncompared"])
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    stores = [open_store(path) for path in arguments.stores]
    changes = dict(each.split("=") for each in arguments.set)
    numbers = {key: float(value) if "." in value else int(value) for key, value in changes.items()}
    config = PhaseConfig.load("shared", **{"training.seed": arguments.seed, **numbers})
    if arguments.control == "alone":
        _alone(arguments.stores, stores, config)
        return
    if arguments.control == "uncompared":
        bodies._APART_LOSS = 0.0  # type: ignore[misc]
    if arguments.model is None:
        model = train_phase(stores, config, accelerator="cpu", progress=_quiet)
        assert model is not None
        if arguments.output is not None:
            model.save(arguments.output)
    else:
        model = PhaseModel.load(arguments.model)
        config = model.config
    for skeleton in model.skeletons:
        print(skeleton.words(), flush=True)
    kept = [held_out_clips(store, config) for store in stores]
    names = [path.stem for path in arguments.stores]
    parts = [held_out(*each, model) for each in zip(names, kept, strict=True)]
    count = config.network.codes or 0
    for name, value in comparison(*parts, count, arguments.seed).items():
        print(f"{name}: {json.dumps(value)}", flush=True)

    for path, clips in zip(arguments.against or (), kept, strict=False):
        print(f"measures of {path.name}: {phase_measures(load_extractor(path), clips)}")


def _alone(paths: list[Path], stores: list[ClipStore], config: PhaseConfig) -> None:
    """Codes of models of one skeleton each: what by their numbers alone would be shared."""
    found = []
    for path, store in zip(paths, stores, strict=True):
        model = train_phase([store], config, accelerator="cpu", progress=_quiet)
        assert model is not None
        print(model.skeletons[0].words(), flush=True)
        found.append(held_out(path.stem, held_out_clips(store, config), model))
    for name, value in comparison(found[0], found[1], config.network.codes or 0, 0).items():
        print(f"{name}: {json.dumps(value)}", flush=True)


def _quiet(*_: Any) -> None:
    pass


if __name__ == "__main__":
    main()
