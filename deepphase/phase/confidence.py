"""Confidence in phases of a skeleton that a model was not trained on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from deepphase.motion.clip import Clip
from deepphase.phase.model import PhaseModel
from deepphase.phase.signals import JointVelocities
from deepphase.phase.windows import gather, padded

_WINDOWS = 256
# Shares of explained variance of models trained on their own skeleton: people reach 0.85 to 0.94,
# dancers and dogs 0.6 to 0.7.
_HIGH, _FAIR = 0.8, 0.6


@torch.inference_mode()
def explained_variance(model: PhaseModel[JointVelocities], clip: Clip) -> float | None:
    """Share of the velocities of a clip's joints that the phases explain.

    1 - the squared error of the reconstruction over the squared deviation from the window's mean,
    on at most 256 windows that are spread evenly. None for a clip that does not move.
    """
    values = padded(model.signals.read(clip), model.window, model.signals.PADDING)
    frames = len(values) - 2 * (model.window // 2)
    chosen = np.unique(np.linspace(0, frames - 1, _WINDOWS).astype(np.int64))
    centres = torch.from_numpy(chosen + model.window // 2)
    windows = gather(torch.from_numpy(values), centres, model.window)
    deviation = float(windows.square().sum())
    if deviation <= 1e-9:
        return None
    error = float((model.network(windows) - windows).square().sum())
    return 1.0 - error / deviation


def confidence_words(explained: Sequence[float | None], *, advice: bool = True) -> str:
    """One sentence on the explained variances of clips; empty where nothing is measured.

    Parameters
    ----------
    advice
        Say which command raises a confidence that is not high.
    """
    measured = [each for each in explained if each is not None]
    if not measured:
        return ""
    middle = float(np.median(measured))
    if middle >= _HIGH:
        grade, way = "high", ""
    elif middle >= _FAIR:
        grade, way = "fair", "; training on these clips (--start) raises it"
    else:
        grade, way = "low", "; train a model of these clips with `deepphase train phase`"
    clips = f"{len(measured)} clips" if len(measured) > 1 else "the clip"
    low, high = min(measured), max(measured)
    spread = f" ({low:.2f} to {high:.2f})" if len(measured) > 1 else ""
    return (
        f"Confidence: {grade}: the phases explain {middle:.2f} of the joint velocities of "
        f"{clips}{spread}{way if advice else ''}"
    )
