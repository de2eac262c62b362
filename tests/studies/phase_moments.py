"""Measure phases of frames without a whole window against those of whole windows, and the truth.

    python -m tests.studies.phase_moments MODEL [STORE] [--stream CLIPS | --hour]

STORE is that of the model's training, of which the held-out files are measured: each clip is cut,
and phases at 0, .1, .25, .5 and 1 s from the cut are compared with those of the clip that goes
on. Without STORE, walks and runs by formula at constant and drifting speeds are measured against
their truth. --stream sends the frames of some held-out clips through a StreamingEncoder, with
each lag, and compares with the whole clips' phases; of a model with a causal encoder once with and
once without it. --hour sends an hour of frames and compares
its last with those of a stream that has just begun.
"""

from __future__ import annotations

import argparse
import itertools
import time
from dataclasses import astuple
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.corpus.store import open_store
from deepphase.cycles import wrapped
from deepphase.features.moment_kinds import source_kinds
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.phase.extractor import load_extractor
from deepphase.phase.model import PhaseModel, encode_windows
from deepphase.phase.parameter_errors import parameter_errors
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.streaming import StreamingEncoder
from deepphase.phase.windows import held_out_sources, padded
from deepphase.synthetic.gait_motion import locomotion

LAGS_S = (0.0, 0.1, 0.25, 0.5, 1.0)
GAITS = ("walk", "jog", "run", "skip")


def errors(found: PhaseParameters, truth: PhaseParameters) -> tuple[float, ...]:
    """Errors of `parameter_errors` as a row."""
    return astuple(parameter_errors(found, truth))


def joined(parts: list[PhaseParameters]) -> PhaseParameters:
    """Parameters of several clips, one behind the other."""
    names = ("phase", "frequency", "amplitude", "offset")
    return PhaseParameters(*(np.concatenate([getattr(p, n) for p in parts]) for n in names))


def held_out_clips(model: PhaseModel, path: Path) -> list[Clip]:
    """The clips that the model's training held out."""
    store, options = open_store(path), model.config.training
    frames: dict[str, int] = {}
    for source, length in zip(store.sources, store.lengths, strict=True):
        if length >= model.window:
            frames[source.path] = frames.get(source.path, 0) + int(length)
    kept = held_out_sources(frames, options.held_out, options.seed, source_kinds(store))
    chosen = [i for i, source in enumerate(store.sources) if source.path in kept]
    return [store.clip(index) for index in chosen]


def streamed(model: PhaseModel, clips: list[Clip]) -> None:
    """Print the errors of streams by lag, and the processor time of a frame."""
    half = model.window // 2
    whole = [model.encode(clip).parameters for clip in clips]
    kinds = [False] if model.causal is None else [False, True]
    for lag, causal in itertools.product(LAGS_S, kinds):
        found, truth, spent, frames = [], [], 0.0, 0
        behind = round(lag * model.fps)
        for clip, expected in zip(clips, whole, strict=True):
            encoder = StreamingEncoder(model, clip.skeleton.names, lag_s=lag, causal=causal)
            places = joint_positions(clip)
            before = time.process_time()
            pushed = [encoder.push(frame) for frame in places]
            spent += time.process_time() - before
            frames += len(places)
            # Frames whose whole window lies in the clip, and behind the first answer.
            for index in range(model.window + 1, len(places) - half + behind):
                if index < len(places) and pushed[index] is not None:
                    found.append(pushed[index][None])
                    truth.append(expected[index - behind : index - behind + 1])
        row = errors(joined(found), joined(truth))
        numbers = (f"{each:.4f}" for each in row)
        kind = "causal" if causal else "advanced"
        print(
            f"{lag:4.2f} s {kind:8}", *numbers, len(found), f"{1e3 * spent / frames:.2f} ms a frame"
        )


def hour(model: PhaseModel, clip: Clip) -> None:
    """Print how far the end of an hour's stream, a clip again and again, is from a new stream's."""
    places = joint_positions(clip)
    long, fresh = (StreamingEncoder(model, clip.skeleton.names) for _ in range(2))
    before = time.process_time()
    rounds = round(3600 * model.fps / len(places))
    for _ in range(rounds):
        for frame in places:
            last = long.push(frame)
    spent = time.process_time() - before
    for frame in places:
        expected = fresh.push(frame)
    apart = np.abs(last.manifold() - expected.manifold()).max()
    frames = rounds * len(places)
    print(f"{frames} frames in {spent:.0f} s ({1e3 * spent / frames:.2f} ms): apart by {apart:.1e}")


def table(model: PhaseModel, clips: list[Array], every: int) -> None:
    """Print the errors by distance to a clip's end, beside those of windows filled up."""
    half, window = model.window // 2, model.window
    for lag in LAGS_S:
        near: list[list[PhaseParameters]] = [[], [], []]
        for signals in clips:
            whole = model.encode_signals(signals)
            after = round(lag * model.fps)
            for frame in range(window + half, len(signals) - half, every):
                # Its past is a whole window, its future `after` frames.
                cut = signals[frame + after + 1 - window : frame + after + 1]
                place = window - 1 - after
                near[0].append(whole.parameters[frame : frame + 1])
                near[1].append(model.encode_signals(cut).parameters[place : place + 1])
                filled = padded(cut, window, model.signals.PADDING)
                near[2].append(encode_windows(model.network, filled, np.array([place])))
        truth, ours, old = map(joined, near)
        for name, found in (("advanced", ours), ("filled up", old)):
            row = errors(found, truth)
            most = found.amplitude.max() / truth.amplitude.max()
            print(
                f"{lag:4.2f} s  {name:9}",
                *(f"{x:.4f}" for x in row),
                f"{most:.2f}",
                len(truth.phase),
            )


def formula(model: PhaseModel, seeds: range, profile: str) -> None:
    """Print errors against the true phase by distance to the clip's end, and of the interior."""
    for gait in GAITS:
        found: dict[str, list[Array]] = {}
        key = None
        # The first ones choose the key (channel, multiple of the stride) and are not measured.
        for seed in (100, *seeds):
            made = locomotion(seed, 12, gait=gait, profile=profile)
            phases, cycles = model.encode(made.clip), made.phase[:, 0]
            inside = phases.interior
            if key is None:
                own = phases.parameters[inside]
                channel = int(own.amplitude.mean(0).argmax())
                pace = np.median(made.frequency)
                key = channel, max(round(float(np.median(own.frequency[:, channel]) / pace)), 1)
                continue
            channel, multiple = key
            apart = phases.parameters.phase[:, channel] - multiple * cycles
            shift = np.angle(np.exp(2j * np.pi * apart[inside]).mean()) / (2 * np.pi)
            error = np.abs(wrapped(apart - shift))
            found.setdefault("interior", []).append(error[inside])
            for lag in LAGS_S[:-1]:
                after = round(lag * model.fps)
                found.setdefault(f"{lag:.2f} s", []).append(error[[after, -1 - after]])
        medians = {name: float(np.median(np.concatenate(each))) for name, each in found.items()}
        print(profile, gait, *(f"{name}: {value:.4f}" for name, value in medians.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("store", type=Path, nargs="?")
    parser.add_argument("--every", type=int, default=41, help="Frames between two measured ones.")
    parser.add_argument("--stream", type=int, default=0, help="Held-out clips that are streamed.")
    parser.add_argument("--hour", action="store_true", help="Stream an hour of frames.")
    options = parser.parse_args()
    model = load_extractor(options.model)
    if options.hour:
        hour(
            model,
            locomotion(7, 20, turn_rate=0.6).clip
            if options.store is None
            else max(held_out_clips(model, options.store), key=len),
        )
    elif options.stream:
        clips = held_out_clips(model, options.store)
        streamed(model, clips[:: max(len(clips) // options.stream, 1)])
    elif options.store is None:
        for profile in ("constant", "drift"):
            formula(model, range(12), profile)
    else:
        clips = held_out_clips(model, options.store)
        table(model, [model.signals.read(clip) for clip in clips], options.every)


if __name__ == "__main__":
    main()
