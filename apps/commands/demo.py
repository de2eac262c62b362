"""`deepphase demo`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from apps.demo.folder import OutputFolder
from apps.demo.motion import (
    HELD_OUT,
    LIVE,
    MODEL,
    PHASES,
    PLAYER,
    REPORT,
    STORE,
    TRAINING,
    TRUTH,
)
from apps.options.groups import StoreOptions
from apps.terminal import next_step, note, progress
from deepphase.errors import ParameterError
from deepphase.phase.config import PhaseConfig

if TYPE_CHECKING:
    from apps.demo.motion import DemoSize
    from deepphase.corpus.clip_store import ClipStore
    from deepphase.evaluation.known_phase import KnownClip, KnownPhaseError
    from deepphase.motion.clip import Clip
    from deepphase.phase.model import ClipPhases, PhaseModel
    from deepphase.synthetic.truth_file import Truth

# For a small corpus the batch size is reduced until a pass has this many optimizer steps.
_MIN_STEPS, _MIN_BATCH_SIZE = 8, 8
_PLAYER_CLIPS = 12


def command(
    output: Path = Path("demo"),
    data: Path | None = None,
    smallest: bool = False,
    seed: int = 0,
) -> None:
    """Run the whole chain on synthetic motion with known phases, offline.

    Generates motion by formula (or takes your own), prepares it, trains a phase model, encodes
    held-out clips, compares their phases with the true ones, and explains the result in
    OUTPUT/index.html. OUTPUT/live.html is a page in which you steer a character. A second run
    replaces the files of the first, and no others.

    Parameters
    ----------
    output
        Folder to write.
    data
        Folder of your own motion files to use instead. Their true phases are unknown, and nothing
        is compared with them.
    smallest
        Run in half a minute on very little data, without writing figures as PNG: a check that
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
    from apps.commands import encode_clips, prepare_store
    from apps.demo.motion import FULL, SMALLEST
    from apps.demo.page import Demo, demo_page
    from deepphase.corpus.store import open_store
    from deepphase.phase.phase_file import load_phases

    size = SMALLEST if smallest else FULL
    truths: dict[str, Truth] = {}
    if data is None:
        truths, training, held_out = _make_motion(output, size, seed)
        prepare_store.command(training, output / STORE)
        group = None
    else:
        held_out = [output / STORE]
        prepare_store.command([data], output / STORE)
        group = _largest_group(output / STORE)
    store = open_store(output / STORE, group)
    config = _config(store, size, seed)
    model = _train(store, config, output, pictures=size.pictures)
    reading = StoreOptions(skeleton=group)
    encode_clips.command([output / MODEL, *held_out], output / PHASES, reading=reading)
    names = _held_out_names(store, config) if data else [path.stem for path in held_out]
    read = [load_phases(path) for path in sorted((output / PHASES).glob("*.phases.npz"))]
    # The folder may contain phases of other models.
    of_model = {each.name: each for each, meta in read if meta["model_sha256"] == model.sha256}
    phases = [of_model[name] for name in names if name in of_model]
    clips = _play(held_out, group, phases, model, output)
    _steer(output)
    demo = Demo(
        model=model,
        store=store,
        phases=phases,
        clips=clips,
        truths=[truths[each.name] for each in phases] if truths else [],
        errors=_errors(model, store, phases, truths) if truths else [],
        toy=smallest,
        pictures=size.pictures,
        data=data,
        group=group,
    )
    with progress() as on_progress:
        return demo_page(demo, output, on_progress)


def _make_motion(
    output: Path, size: DemoSize, seed: int
) -> tuple[dict[str, Truth], list[Path], list[Path]]:
    """Write clips and their truth; returns the truths by clip, and the files of both sets."""
    from apps.demo.motion import held_out_motions, training_motions
    from deepphase.formats.bvh.writer import save_bvh
    from deepphase.synthetic.truth_file import Truth

    sets = {
        TRAINING: training_motions(size, seed),
        HELD_OUT: list(held_out_motions(size, seed)),
    }
    total = sum(len(motions) for motions in sets.values())
    truths: dict[str, Truth] = {}
    files: dict[str, list[Path]] = {name: [] for name in sets}
    with progress() as on_progress:
        for name, motions in sets.items():
            for motion in motions:
                clip = motion.clip
                files[name].append(output / name / f"{clip.name}.bvh")
                save_bvh(clip, files[name][-1])
                truths[clip.name] = Truth.of(motion)
                truths[clip.name].save(output / TRUTH / f"{clip.name}.truth.npz")
                on_progress("generating motion", len(truths), total, clip.name)
    return truths, files[TRAINING], files[HELD_OUT]


def _play(
    files: list[Path],
    group: str | None,
    phases: Sequence[ClipPhases],
    model: PhaseModel,
    output: Path,
) -> dict[str, Clip]:
    """Write a player of encoded clips, and return these by name."""
    from apps.reports.player_takes import takes_of_clips
    from deepphase.corpus.clips import clips_in
    from deepphase.viewer.page import save_player

    entries = {entry.name: entry for entry in clips_in(files, skeleton=group)}
    shown = [each for each in phases if each.name in entries][:_PLAYER_CLIPS]
    clips = [entries[each.name].load() for each in shown]
    takes = takes_of_clips(clips, shown, model)
    save_player(output / PLAYER, takes, title="Held-out clips")
    return {each.name: clip for each, clip in zip(shown, clips, strict=True)}


def _steer(output: Path) -> None:
    """Write the page in which the shipped controller is steered."""
    from apps.demo.controller import CONTROLLER
    from apps.live.page import save_live_page
    from apps.live.sources import asset_of

    save_live_page(output / LIVE, asset_of(CONTROLLER), name=CONTROLLER.stem)


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


def _train(store: ClipStore, config: PhaseConfig, output: Path, *, pictures: bool) -> PhaseModel:
    from apps.reports.training_report import training_report
    from deepphase.phase.training.train import train_phase
    from deepphase.training.metrics import move_metrics
    from deepphase.training.resume import discard

    work = output / f"{MODEL}.unfinished"
    with progress() as on_progress:
        try:
            model = train_phase(store, config, folder=work, progress=on_progress)
            metrics = move_metrics(work, output / MODEL)
        finally:
            discard(work)
    if model is None:
        raise ParameterError("the demo trains in one process", hint="start it without torchrun")
    for line in model.health.words() if model.health else ():
        note(line)
    model.save(output / MODEL)
    with progress() as on_progress:
        training_report(
            model, store, output / REPORT, metrics=metrics, pictures=pictures, progress=on_progress
        )
    return model


def _held_out_names(store: ClipStore, config: PhaseConfig) -> list[str]:
    """Clips that were held out of the training; all clips if parts of each were held out."""
    from deepphase.phase.windows import split_by_source

    starts, stops = store.range_starts, store.range_stops
    sources = [source.path or name for source, name in zip(store.sources, store.names, strict=True)]
    options = config.training
    window = config.network.window(store.fps)
    split = split_by_source(starts, stops, sources, window, options.held_out, options.seed)
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
