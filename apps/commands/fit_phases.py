"""`deepphase fit phases`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from apps.options.groups import StoreOptions
from apps.terminal import next_step, note, progress
from deepphase.errors import ParameterError


def command(
    store: Path,
    output: Path,
    method: Literal["contact", "pca", "pfnn"] = "contact",
    normalised: bool = False,
    reading: StoreOptions = StoreOptions(),  # noqa: B008 (frozen)
) -> None:
    """Fit phases by a rule, without training: baselines to compare trained phases with.

    Parameters
    ----------
    store
        A store, a folder of motion files, or one motion file.
    output
        Baseline file to write. encode, evaluate, figures, play and match build take it as a
        model.
    method
        Rule. contact fits one phase per foot, from its ground contacts; pca one per hand and foot,
        from its velocity along the principal axis; pfnn a single phase, from the foot strikes.
    normalised
        With pca: normalise the amplitude, which is in m/s otherwise.
    """
    from deepphase.atomic_write import check_writable
    from deepphase.corpus.prepare import corpus_of
    from deepphase.phase.extractor import baseline_named, fit_phases

    kind = baseline_named(method)
    if normalised and "normalised" not in kind.OPTIONS:
        raise ParameterError(
            f"--normalised applies to the method pca, not to {method}", hint="leave it out"
        )
    check_writable(output, example=f"{method}.phases")
    options = reading.corpus
    with progress() as on_progress:
        corpus = corpus_of(store, progress=on_progress, **options)
        baseline = fit_phases(
            corpus,
            method,
            normalised=normalised,
            description=options["description"],
            progress=on_progress,
        )
    baseline.save(output)
    channels = f"{baseline.channels} phase{'s' if baseline.channels > 1 else ''}"
    note(f"{channels}, fitted to {', '.join(baseline.limbs)} in windows of {baseline.window_s:g} s")
    note(f"{baseline.ORIGIN}; amplitude: {baseline.AMPLITUDE}")
    note(f"model: {output}")
    next_step("encode", output, store, "-o", "phases")
