"""A package that is missing is a sentence that says how to install it."""

import sys

import pytest

from deepphase.errors import ParameterError
from deepphase.extras import packages_for


def test_a_missing_package_is_named_with_the_way_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with (
        pytest.raises(ParameterError, match="not installed: onnxruntime") as said,
        packages_for("ONNX files", "deepphase[onnx]"),
    ):
        import onnxruntime  # noqa: F401
    assert said.value.hint == "install it with pip install 'deepphase[onnx]'"


def test_what_is_there_and_other_errors_pass():
    with packages_for("arrays", "numpy"):
        import numpy  # noqa: F401
    with pytest.raises(KeyError), packages_for("arrays", "numpy"):
        raise KeyError
