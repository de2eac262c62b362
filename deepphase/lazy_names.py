"""Public names of a package that are imported when they are first used (PEP 562)."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package: the names that type checkers see.

    They are the imports below ``if TYPE_CHECKING:`` in the package's source, where each name and
    its module stand once.
    """
    here = sys.modules[package]
    body = ast.parse(inspect.getsource(here)).body
    guarded = next(node for node in body if isinstance(node, ast.If))
    imports = [node for node in guarded.body if isinstance(node, ast.ImportFrom)]
    modules = {alias.name: str(node.module) for node in imports for alias in node.names}
    public = sorted(modules)

    def attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if modules[name] == package:
            return importlib.import_module(f"{package}.{name}")
        value = getattr(importlib.import_module(modules[name]), name)
        # The next access finds it without this function.
        setattr(here, name, value)
        return value

    def listing() -> list[str]:
        return sorted({*(name for name in vars(here) if name.startswith("__")), *public})

    return attribute, listing, public
