"""Compare learnt phases with baselines and single-frame features on held-out clips.

python -m tests.studies.phase_features people.model people_held.store --queries 3000 \
    --against contact,pca,pfnn,velocity,pose,full_pose -o comparison.json

Measures alignment (Table 4 and Fig. 16 of Starke et al. 2022), indices of following frames
(Fig. 15), searches from frame to frame (Fig. 17), the direction of time (Fig. 18), the rings of
clips (Figs. 6 and 7), foot strikes and the tail. Prints each claim with its verdict and a table
with 95 % intervals over clips; -o writes the same as JSON.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from deepphase.corpus.prepare import corpus_of
from deepphase.evaluation.phase_measures import frames_and_poses
from deepphase.phase.extractor import load_model
from tests.studies.phase_features.feature_comparison import (
    MODEL,
    FeatureComparison,
    FeatureMeasures,
    compare_features,
)
from tests.studies.phase_features.feature_measures import KINDS, plain_number
from tests.studies.phase_features.frame_features import FrameFeatures
from tests.studies.phase_features.rival_features import (
    ComparedFrames,
    checked_rivals,
    rival_features,
)

_ALL = "contact,pca,pfnn,velocity,pose,full_pose"


def compared(
    model_file: Path, clips: Path, against: str = _ALL, *, queries: int = 10_000, seed: int = 0
) -> FeatureComparison:
    """Measures of a phase model beside those of other features of the same frames."""
    names = checked_rivals(against.split(","))
    loaded = load_model(model_file)
    store = corpus_of(clips, fps=loaded.fps)
    model = loaded.bound(store)
    phases = [model.encode(clip) for clip in store]
    frames = ComparedFrames.of(model, store, *frames_and_poses(model, store, phases))
    own = frames.gathered(phases)
    rivals = rival_features(names, model, own, store, frames)
    features = FrameFeatures.of_phases(MODEL, own)
    return compare_features(features, rivals, frames, queries=queries, seed=seed)


def table(comparison: FeatureComparison) -> str:
    """All measures as a Markdown table; level or worse than the model's is in bold."""
    outcomes = {(each.key, each.rival): each.outcome for each in comparison.differences}
    head = ["measure", *(each.features.name for each in comparison.every)]
    lines = [head, ["---"] * len(head)]
    for kind in KINDS:
        if any(kind.key in each.measured for each in comparison.every):
            cells = [_cell(kind.key, each, outcomes) for each in comparison.every]
            lines.append([f"{kind.name} ({kind.unit})" if kind.unit else kind.name, *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(key: str, each: FeatureMeasures, outcomes: dict[tuple[str, str], str]) -> str:
    if key not in each.measured:
        return "-"
    low, high = each.measured[key].interval
    mean = plain_number(each.measured[key].mean)
    if outcomes.get((key, each.features.name), "better") != "better":
        mean = f"**{mean}**"
    return f"{mean} [{plain_number(low)}, {plain_number(high)}]"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("clips", type=Path)
    parser.add_argument("--against", default=_ALL)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    comparison = compared(
        options.model, options.clips, options.against, queries=options.queries, seed=options.seed
    )
    for claim in comparison.claims:
        print(f"{claim.verdict}: {claim.words} {claim.reason}")
    print(table(comparison))
    if options.output:
        options.output.write_text(json.dumps(comparison.as_mapping(), indent=1))


if __name__ == "__main__":
    main()
