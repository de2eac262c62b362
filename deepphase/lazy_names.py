"""Public names of a package that are imported when they are first used (PEP 562)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def lazy_names(
    package: str, names: Mapping[str, Iterable[str]], topics: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package: names by module, and packages inside."""
    modules = {name: module for module, defined in names.items() for name in defined}
    topics = set(topics)
    public = sorted({*modules, *topics})

    def attribute(name: str) -> Any:
        if name in topics:
            return importlib.import_module(f"{package}.{name}")
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(modules[name]), name)
        # The next access finds it without this function.
        setattr(sys.modules[package], name, value)
        return value

    def listing() -> list[str]:
        own = (name for name in vars(sys.modules[package]) if name.startswith("__"))
        return sorted({*own, *public})

    return attribute, listing, public
