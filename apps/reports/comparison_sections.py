"""Sections of the evaluation's page that compare a phase model with other features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from apps.reports.feature_claims import LEAST_CLIPS
from apps.reports.feature_comparison import (
    AHEAD_S,
    MIN_FRAMES,
    MODEL,
    FeatureComparison,
    FeatureMeasures,
)
from apps.reports.feature_measures import KINDS, MeasureKind, plain_number
from apps.reports.page import Page
from apps.reports.rival_features import ComparedFrames
from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.evaluation.channel_joints import joint_energy, joints_followed
from deepphase.figures.channel_joints import channel_joints
from deepphase.figures.colouring import Colouring
from deepphase.figures.excerpt import thinning, thinning_note
from deepphase.figures.future_ranks import future_ranks_figure
from deepphase.figures.manifold import manifold_2d
from deepphase.figures.pose_matches import pose_matches
from deepphase.figures.searched_motion import searched_motion
from deepphase.figures.similarity_map import similarity_map
from deepphase.motion.skeleton import Skeleton
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.manifold import ManifoldProjection

_MIN_WIDTH = 640
# Points of one cloud; clips that are drawn as curves, and seconds of each.
_MAX_POINTS, _CURVES, _CURVE_S = 3_000, 3, 6.0
# Queries with a figure of their own.
_SHOWN_QUERIES = 3
# Similarity maps beside the model's, those that matter most first; a row has place for three.
_MAPPED, _PANELS = ("velocity", "full_pose", "pose", "pca", "contact"), 3
# Joints that move less than this share of the energy of all belong to no channel.
_STILL = 1e-3
_UNITS = {"velocity": "m/s", "pose": "m"}


def add_verdicts(page: Page, comparison: FeatureComparison) -> None:
    """Add the claims with their verdicts, and the table of all measures."""
    page.add_table(
        ("Verdict", "In the paper", "Claim", "Because"),
        [(each.verdict, each.source, each.words, each.reason) for each in comparison.claims],
        heading="DeepPhase's claims on these clips",
    )
    outcomes = {(each.key, each.rival): each.outcome for each in comparison.differences}
    page.add_text(
        "Every cell has the mean, its 95 % interval by resampling whole clips, and whether this "
        "model is better or worse: level where the interval of the difference includes 0, or where "
        f"there are fewer than {LEAST_CLIPS} clips; of a few clips, intervals are too narrow. All "
        "features are measured on the same frames and queries; baselines are fitted to these "
        "clips. By definition, the pose aligns best, and contact and pfnn phases, which are made "
        "of the strikes, agree with them. A feature that is to be matched should be good in all "
        "rows: alignment alone does not show whether it has a direction of time.",
        heading="Beside other features",
    )
    shown = [kind for kind in KINDS if any(kind.key in each.measured for each in comparison.every)]
    page.add_table(
        ("Measure", *(each.features.name for each in comparison.every)),
        [
            (
                f"{kind.name} ({kind.unit})" if kind.unit else kind.name,
                *(
                    _cell(kind, each, outcomes.get((kind.key, each.features.name)))
                    for each in comparison.every
                ),
            )
            for kind in shown
        ],
    )
    page.add_list(
        [
            f"{kind.name[:1].upper()}{kind.name[1:]}{f' ({kind.source})' if kind.source else ''}: "
            f"{kind.definition}. {'Lower' if kind.lower else 'Higher'} is better."
            for kind in shown
        ]
    )


def add_comparison_figures(
    page: Page,
    comparison: FeatureComparison,
    compared: ComparedFrames,
    model: PhaseExtractor,
    store: ClipStore,
) -> None:
    """Add the figures of the comparison: poses, ranks, searches, similarity, rings, joints."""
    _add_poses(page, comparison, compared, model, store)
    page.add_figure(
        future_ranks_figure(
            AHEAD_S, {each.features.name: each.future for each in comparison.every}
        ),
        "Future frames",
        "Mean rank of the frame so much later among all frames (Fig. 15, right). Phases are "
        "advanced by their frequency; features without one stay as they are.",
        min_width=_MIN_WIDTH,
    )
    _add_searches(page, comparison, compared)
    _add_similarity(page, comparison, compared, store)
    _add_rings(page, comparison, compared, store)
    _add_joints(page, comparison, compared, model)


def _cell(kind: MeasureKind, each: FeatureMeasures, outcome: str | None) -> str:
    if kind.key not in each.measured:
        return "-"
    measured = each.measured[kind.key]
    low, high = measured.interval
    words = f"{plain_number(measured.mean)} [{plain_number(low)}, {plain_number(high)}]"
    return words if outcome is None else f"{words} ({_OUTCOMES[outcome]})"


_OUTCOMES = {"better": "model better", "worse": "model worse", "level": "level"}


def _add_poses(
    page: Page,
    comparison: FeatureComparison,
    compared: ComparedFrames,
    model: PhaseExtractor,
    store: ClipStore,
) -> None:
    aligned = [each for each in comparison.every if each.nearest is not None]
    if not aligned:
        return
    edges = _bones(store.skeleton, model.signals.joints)
    numbers = np.linspace(0, len(comparison.chosen) - 1, _SHOWN_QUERIES + 2)[1:-1].astype(int)
    charts = {}
    for number in np.unique(numbers):
        frame = int(comparison.chosen[number])
        name = store.names[int(compared.frames.clip[frame])]
        at = compared.frames.index[frame] / compared.fps
        charts[f"{name}, {at:.1f} s"] = pose_matches(
            compared.poses[frame],
            {
                each.features.name: compared.poses[each.nearest[number]]
                for each in aligned
                if each.nearest is not None
            },
            edges,
        )
    page.add_choice(
        charts,
        "Poses of the nearest frames",
        "A frame, and the 10 nearest frames of these clips by each feature, seen from the side "
        "(Fig. 16, Table 4). The number is their mean distance from the frame's pose. Phases know "
        "nothing of the pose but its velocities.",
        min_width=_MIN_WIDTH,
    )


def _bones(skeleton: Skeleton, joints: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of joints that are connected, as positions in `joints`."""
    place = {skeleton.names.index(name): index for index, name in enumerate(joints)}
    pairs = []
    for joint, index in place.items():
        parent = int(skeleton.parents[joint])
        while parent >= 0 and parent not in place:
            parent = int(skeleton.parents[parent])
        if parent >= 0:
            pairs.append((place[parent], index))
    return pairs


def _add_searches(page: Page, comparison: FeatureComparison, compared: ComparedFrames) -> None:
    searched = {
        each.features.name: each.searched for each in comparison.every if each.searched is not None
    }
    if not searched:
        return
    charts = {
        "mean of all starts": searched_motion(
            {name: each.distances.mean(0) for name, each in searched.items()}, compared.fps
        )
    }
    starts = len(next(iter(searched.values())).paths)
    for number in range(min(starts, _SHOWN_QUERIES)):
        charts[f"start {number + 1}"] = searched_motion(
            {name: each.distances[number] for name, each in searched.items()}, compared.fps
        )
    page.add_choice(
        charts,
        "Autoregressive search",
        "Beginning at a frame, the nearest frame is searched for again and again (Fig. 17). The "
        "colour is the distance of the found poses from the motion that follows the start. A "
        "feature that is stuck stays at the pose of its start, and is as far from the motion as "
        "the motion goes.",
        min_width=_MIN_WIDTH,
    )


def _add_similarity(
    page: Page, comparison: FeatureComparison, compared: ComparedFrames, store: ClipStore
) -> None:
    lengths = np.array([len(kept) for kept in compared.inside])
    if not lengths.max(initial=0):
        return
    # A clip that is longer than most, and the longest one.
    order = np.argsort(lengths, kind="stable")
    charts = {}
    for clip in dict.fromkeys(order[[(3 * len(order)) // 4, -1]].tolist()):
        own = compared.places[clip]
        values = {each.features.name: each.features.values[own] for each in comparison.every}
        name = store.names[clip]
        shown = [MODEL, *(key for key in _MAPPED if key in values)][:_PANELS]
        charts[name] = similarity_map(
            {key: (values[key], values[key]) for key in shown}, compared.fps, names=(name, name)
        )
    page.add_choice(
        charts,
        "Similar frames",
        "Similarity of every frame of a clip to every other (Fig. 18); bright means similar. "
        "Lines along the diagonal are passages that recur; lines across it recur in reverse "
        "order, which has no meaning for a motion that goes on.",
        min_width=_MIN_WIDTH,
    )


def _add_rings(
    page: Page, comparison: FeatureComparison, compared: ComparedFrames, store: ClipStore
) -> None:
    frames = compared.frames
    names = np.array(store.names)[frames.clip]
    step = thinning(len(frames), _MAX_POINTS)
    some = np.arange(len(frames))[::step]
    lengths = np.array([len(kept) for kept in compared.inside])
    longest = np.sort(np.argsort(lengths, kind="stable")[-_CURVES:])
    most = round(_CURVE_S * compared.fps)
    curves = np.concatenate([np.flatnonzero(frames.clip == clip)[:most] for clip in longest])
    clouds: dict[str, go.Figure] = {}
    lines: dict[str, go.Figure] = {}
    for each in comparison.every:
        view = ManifoldProjection.fit(each.features.values)
        for charts, shown, joined in ((clouds, some, False), (lines, curves, True)):
            charts[each.features.name] = manifold_2d(
                view(each.features.values[shown]),
                view.explained,
                colour=Colouring("clip", names[shown], spread=True),
                clips=names[shown],
                time=frames.index[shown] / compared.fps,
                lines=joined,
                unit=_UNITS.get(each.features.name, "unit of the feature"),
                note="" if joined else thinning_note(step, len(frames)),
            )
    page.add_choice(
        clouds,
        "Principal components",
        "The same frames in the two leading principal components of each feature (Fig. 6); "
        "colours are clips.",
    )
    page.add_choice(
        lines,
        "Single clips",
        f"Up to {_CURVE_S:g} s of some clips in the same planes, with consecutive frames connected "
        "(Fig. 7). Where motion forms rings, the angle is its timing and the radius its amplitude.",
    )


def _add_joints(
    page: Page, comparison: FeatureComparison, compared: ComparedFrames, model: PhaseExtractor
) -> None:
    charts = {}
    for each in comparison.every:
        if each.features.parameters is None:
            continue
        shares = _shares(each, compared)
        if shares is not None:
            charts[each.features.name] = channel_joints(shares, model.signals.joints)
    if not charts:
        return
    tail = comparison.model.tail_channel
    followed = "" if tail is None else f" Channel {tail} follows the tail best."
    page.add_choice(
        charts,
        "Joints that each channel follows",
        "Share of each joint's velocity that a channel alone explains, mean of the clips, weighted "
        f"by how much the joint moves.{followed}",
        min_width=_MIN_WIDTH,
    )


def _shares(each: FeatureMeasures, compared: ComparedFrames) -> Array | None:
    """(channels, joints) shares of all clips together; None if no clip is long enough."""
    assert each.features.parameters is not None
    total, weight = 0.0, np.zeros(0)
    for own in compared.places:
        if own.stop - own.start >= MIN_FRAMES:
            moved = compared.velocities[own]
            energy = joint_energy(moved)
            total = total + joints_followed(each.features.parameters[own], moved) * energy
            weight = energy if not weight.size else weight + energy
    if not weight.size:
        return None
    moves = weight > _STILL * weight.sum() / len(weight)
    return np.where(moves, total / np.where(moves, weight, 1.0), 0.0)
