"""Labels as a command line tells them."""

from __future__ import annotations

from deepphase.errors import ParameterError


def labels_told(text: str) -> dict[str, list[str]]:
    """Label -> values, of "style=old+happy,action=walk".

    Raises ParameterError where a part is no label=value.
    """
    told = {}
    for part in text.split(","):
        name, equals, values = part.partition("=")
        if not equals or not name.strip() or not values.strip():
            raise ParameterError(
                f"{part.strip()!r} is no label=value",
                hint="write labels as in style=old+happy,action=walk",
            )
        told[name.strip()] = [value.strip() for value in values.split("+")]
    return told
