"""`deepphase demo`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from deepphase.apps.demo.folder import OutputFolder
from deepphase.apps.demo.motion import HELD_OUT, LIVE, MODEL, PHASES, STORE, TRAINING, TRUTH
from deepphase.apps.terminal import next_step, note, progress
from deepphase.errors import ParameterError
from deepphase.phase.config import PhaseConfig

if TYPE_CHECKING:
    from deepphase.apps.demo.motion import DemoSize
    from deepphase.corpus.clip_store import ClipStore
    from deepphase.evaluation.known_phase import KnownClip, KnownPhaseError
    from deepphase.motion.clip import Clip
    from deepphase.phase.model import ClipPhases, PhaseModel
    from deepphase.synthetic.truth_file import Truth

# For a small corpus the batch size is reduced until a pass has this many optimizer steps.
_MIN_STEPS, _MIN_BATCH_SIZE = 8, 8


def command(
    output: Path = Path("demo"),
    data: Path | None = None,
    smallest: bool = False,
    seed: int = 0,
) -> None:
    """Run the whole chain on synthetic motion with known phases, offline.

    Generates motion by formula (or takes your own) and runs the commands of the program on it:
    prepare, train, encode, evaluate, figures, match, control, dance and export. OUTPUT/index.html
    compares the phases with the true ones and shows every command with its report.
    OUTPUT/live.html is a page in which you steer a character. A second run replaces the files of
    the first, and no others.

    Parameters
    ----------
    output
        Folder to write.
    data
        Folder of your own motion files to use instead. Their true phases are unknown, and nothing
        is compared with them.
    smallest
        Run in a minute on very little data, without writing figures as PNG: a check that
        everything works, whose errors are larger than those of the method.
    seed
        Random seed for the synthetic motion and the training.
    """
    if not 0 <= seed < 2**31:
        raise ParameterError(f"--seed must be at least 0 and below {2**31}, not {seed}")
    folder = OutputFolder(output, "deepphase demo")
    if data is not None:
        from deepphase.corpus.motion_files import find_motion_files

        # Checked before any file is removed.
        if Path(os.path.realpath(data)).is_relative_to(os.path.realpath(output)):
            raise ParameterError(
                f"the motion files of --data lie inside {output}, which the demo replaces",
                hint="choose another folder: -o FOLDER",
            )
        find_motion_files(data)
    folder.clear()
    try:
        page = _demo(output, data, smallest, seed)
    finally:
        # Files of an interrupted run are listed too, so that the next run can replace them.
        folder.record()
    note(f"open {page}")
    note(f"steer a character: open {output / LIVE}")
    next_step("app", output)


def _demo(output: Path, data: Path | None, smallest: bool, seed: int) -> Path:
    from deepphase.apps.demo.motion import FULL, SMALLEST
    from deepphase.apps.demo.page import Demo, demo_page
    from deepphase.apps.demo.steps import (
        compared_steps,
        encode_step,
        prepare_step,
        shown_path,
        steps_after_encoding,
        train_step,
        write_inputs,
    )
    from deepphase.corpus.store import open_store
    from deepphase.phase.model import PhaseModel
    from deepphase.phase.phase_file import load_phases

    size = SMALLEST if smallest else FULL
    truths: dict[str, Truth] = {}
    if data is None:
        truths = _make_motion(output, size, seed)
        source, held_out = Path(TRAINING), Path(HELD_OUT)
    else:
        source, held_out = shown_path(data, output), Path(STORE)
    steps = [prepare_step(source)]
    steps[0].run(output)
    group = None if data is None else _largest_group(output / STORE)
    chosen = () if group is None else ("--skeleton", group)
    store = open_store(output / STORE, group)
    config = _config(store, size, seed)
    steps += [train_step([*chosen, *_training_words(config)], toy=smallest), encode_step(held_out)]
    for step in steps[1:]:
        step.run(output)
    model = PhaseModel.load(output / MODEL)
    read = [load_phases(path) for path in sorted((output / PHASES).glob("*.phases.npz"))]
    # The folder may contain phases of other models.
    phases = [each for each, meta in read if meta["model_sha256"] == model.sha256]
    if data is not None:
        names = _held_out_names(store, config)
        phases = [each for each in phases if each.name in names]
    with progress() as on_progress:
        write_inputs(output, on_progress, toy=smallest)
    query = phases[0] if phases else None
    name, frame = store.names[0], int(store.lengths[0]) // 2
    last = steps_after_encoding(held_out, name, frame, toy=smallest)
    # Clips of a user may not be such that characters can be steered with them.
    last[-1:-1] = compared_steps(toy=smallest) if data is None else []
    for step in last:
        step.run(output)
        steps.append(step)
    demo = Demo(
        model=model,
        steps=steps,
        clip=None if query is None else _clip(output / held_out, model, query.name),
        phases=query,
        errors=_errors(model, store, phases, truths) if truths else [],
        toy=smallest,
    )
    return demo_page(demo, output)


def _training_words(config: PhaseConfig) -> tuple[str, ...]:
    """Options of `train phase` that differ from the default config."""
    default = PhaseConfig.load("default").training
    return tuple(
        word
        for item in fields(default)
        if (value := getattr(config.training, item.name)) != getattr(default, item.name)
        for word in ("--set", f"training.{item.name}={value}")
    )


def _clip(files: Path, model: PhaseModel, name: str) -> Clip:
    from deepphase.corpus.clips import clips_in

    entries = clips_in([files], joints=model.signals.joints)
    (entry,) = [each for each in entries if each.name == name]
    return entry.load()


def _make_motion(output: Path, size: DemoSize, seed: int) -> dict[str, Truth]:
    """Write clips and their truth; returns the truths by clip."""
    from deepphase.apps.demo.motion import held_out_motions, training_motions
    from deepphase.formats.bvh.writer import save_bvh
    from deepphase.synthetic.truth_file import Truth

    sets = {
        TRAINING: training_motions(size, seed),
        HELD_OUT: list(held_out_motions(size, seed)),
    }
    total = sum(len(motions) for motions in sets.values())
    truths: dict[str, Truth] = {}
    with progress() as on_progress:
        for name, motions in sets.items():
            for motion in motions:
                clip = motion.clip
                save_bvh(clip, output / name / f"{clip.name}.bvh")
                truths[clip.name] = Truth.of(motion)
                truths[clip.name].save(output / TRUTH / f"{clip.name}.truth.npz")
                on_progress("generating motion", len(truths), total, clip.name)
    return truths


def _largest_group(store: Path) -> str:
    from deepphase.corpus.store import store_groups

    groups = store_groups(store)
    largest = max(groups, key=lambda group: group.minutes)
    if len(groups) > 1:
        note(f"continuing with the skeleton with the most motion: {largest.name}")
    return largest.name


def _config(store: ClipStore, size: DemoSize, seed: int) -> PhaseConfig:
    config = PhaseConfig.load("default")
    window = config.network.window(store.fps)
    windows = int((store.lengths - window + 1).clip(0).sum())
    batch = min(size.batch_size, max(windows // _MIN_STEPS, _MIN_BATCH_SIZE))
    changes = {"windows": size.windows, "batch_size": batch, "seed": seed}
    return PhaseConfig.load("default", **{f"training.{k}": v for k, v in changes.items()})


def _held_out_names(store: ClipStore, config: PhaseConfig) -> list[str]:
    """Clips that were held out of the training; all clips if parts of each were held out."""
    from deepphase.features.moment_kinds import source_kinds
    from deepphase.phase.windows import split_by_source

    starts, stops = store.range_starts, store.range_stops
    sources = [source.path or name for source, name in zip(store.sources, store.names, strict=True)]
    options = config.training
    window = config.network.window(store.fps)
    split = split_by_source(
        starts, stops, sources, window, options.held_out, options.seed, source_kinds(store)
    )
    held_out = {(int(start), int(stop)) for start, stop in split.held_out_ranges}
    ranges = zip(starts.tolist(), stops.tolist(), strict=True)
    names = [n for n, each in zip(store.names, ranges, strict=True) if each in held_out]
    return names or list(store.names)


def _errors(
    model: PhaseModel,
    store: ClipStore,
    phases: Sequence[ClipPhases],
    truths: dict[str, Truth],
) -> list[KnownPhaseError]:
    """Phase errors of each held-out clip, with channels and shifts chosen on training clips."""
    from deepphase.evaluation.known_phase import known_phase_errors

    training = []
    with progress() as on_progress:
        for index in range(len(store)):
            truth = truths[store.names[index]]
            # Medleys are left out: their transitions belong to no gait.
            if len(truth.gait_names) == 1:
                training.append(_known(model.encode(store.clip(index)), truth))
            on_progress("comparing with the truth", index + 1, len(store), "")
    held_out = [_known(each, truths[each.name]) for each in phases]
    # A channel at twice the stride frequency would be as valid, but strides are easier to read.
    return known_phase_errors(training, held_out, multiples=(1,))


def _known(phases: ClipPhases, truth: Truth) -> KnownClip:
    from deepphase.evaluation.known_phase import KnownClip

    inside = phases.interior
    return KnownClip(
        phases.name,
        truth.gait_names[0],
        phases.parameters.phase[inside],
        truth.phase[inside],
        truth.frequency[inside],
    )
