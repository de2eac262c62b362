"""The label of clips that a controller is steered by, where its config leaves the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deepphase.controllers.schema.config import AUTO, SchemaConfig
from deepphase.corpus.clip_store import ClipStore

# Labels of how a body moves, which goals do not say; the first that clips have is taken. What a
# body does, as in a label "action", follows from the goals.
_STEERABLE = ("style", "gait")
# Files and seconds of motion that each value needs. With 48 s some styles are kept in runs as well
# as those of minutes, and some are not.
_LEAST_FILES, _LEAST_S = 4, 30.0
_LISTED = 4


@dataclass(frozen=True)
class LabelChoice:
    """A label, and why it was chosen."""

    name: str
    # The choice in words; empty where clips have no labels, or the config names one.
    sentence: str = ""


def chosen_label(store: ClipStore, config: SchemaConfig) -> LabelChoice:
    """The label that a controller of these clips is steered by.

    The config's own, or with "auto" the label style, or else gait: if all clips have it, and each
    of its values occurs in four files and half a minute or more. Controllers that read tracks or
    have a ball get none.
    """
    if config.label != AUTO:
        return LabelChoice(config.label)
    if config.tracks or config.ball:
        return LabelChoice("")
    name = next((name for name in _STEERABLE if name in store.label_names), None)
    if name is None:
        others = [name for name in store.label_names if len(set(store.label_column(name))) > 1]
        if not others:
            return LabelChoice("")
        return LabelChoice(
            "",
            f"steered without a label: the clips have {_listed(others)}, and style or gait would "
            f"be taken; --set schema.label={others[0]} takes that one",
        )
    column = store.label_column(name).tolist()
    values = sorted(set(column))
    take = f"--set schema.label={name} takes it all the same"
    if len(values) == 1:
        return LabelChoice("", f"steered without a label: {name} is {values[0]!r} in all clips")
    if "" in values:
        return LabelChoice(
            "",
            f"steered without a label: {column.count('')} of {len(store)} clips have no {name}",
        )
    files: dict[str, set[str]] = {value: set() for value in values}
    seconds = dict.fromkeys(values, 0.0)
    for value, source, clip, frames in zip(
        column, store.sources, store.names, store.lengths.tolist(), strict=True
    ):
        files[value].add(source.path or clip)
        seconds[value] += frames / store.fps
    rare = [
        f"{value} ({len(files[value])} files, {seconds[value]:.0f} s)"
        for value in values
        if len(files[value]) < _LEAST_FILES or seconds[value] < _LEAST_S
    ]
    if rare:
        return LabelChoice(
            "",
            f"steered without a label: {len(rare)} of {len(values)} values of {name} have fewer "
            f"than {_LEAST_FILES} files or {_LEAST_S:.0f} s: {_listed(rare)}; {take}",
        )
    return LabelChoice(
        name,
        f"steered by {name}: {', '.join(values)}; --set schema.label=none leaves it out",
    )


def _listed(texts: Sequence[str]) -> str:
    more = len(texts) - _LISTED
    return ", ".join(texts[:_LISTED]) + (f" and {more} more" if more > 0 else "")
