"""Live assets of matchers: kept states, and the network that makes poses of them."""

from __future__ import annotations

import numpy as np

from deepphase.apps.live.asset_file import asset_bytes
from deepphase.apps.live.database_asset import described_rows
from deepphase.arrays import Array
from deepphase.matching.learned.matcher import Matcher, rounded


def matcher_asset(matcher: Matcher, name: str) -> bytes:
    """The asset of a matcher, with 8-bit states and 16-bit weights.

    Parameters
    ----------
    name
        What the page calls it.
    """
    kept, values = matcher.kept, matcher.values
    header, arrays, played = described_rows(matcher.database, matcher.motion, "matcher", name)
    header |= {
        "spacing": kept.spacing,
        "counts": kept.counts,
        "values": {name: each.start for name, each in values.slices.items()},
        "moved": list(values.moved),
    }
    for part in ("features", "latents"):
        arrays[part], arrays[f"{part}.step"] = rounded(getattr(kept, part))
    arrays |= {
        "kept.weights": kept.weights,
        "played.bits": _bits(played),
        "idle.bits": _bits(matcher.database.rows_of_kinds(["idle"])),
        "offered.bits": _bits(matcher.offered),
        "contacts.bits": _bits(matcher.contacts),
    }
    for index, layer in enumerate(matcher.decompressor):
        arrays[f"decompressor.{index}.weight"] = layer.weight.astype(np.float16)
        arrays[f"decompressor.{index}.bias"] = layer.bias
    return asset_bytes(header, arrays)


def _bits(flags: Array) -> Array:
    """Flags as int8, eight in each."""
    return np.packbits(flags).view(np.int8)
