"""A package that is missing is a sentence that says how to install it."""

import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from deepphase.apps.cli import MISTAKE, main
from deepphase.errors import ParameterError
from deepphase.packages import EXTRAS, extra_packages


def test_a_missing_package_is_named_with_the_way_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with (
        pytest.raises(
            ParameterError, match="onnxruntime is needed for ONNX files and is not installed"
        ) as said,
        extra_packages("ONNX files"),
    ):
        import onnxruntime  # noqa: F401
    assert str(said.value.hint).startswith("install it with pip install 'deepphase[onnx]'")


def test_a_command_without_the_package_of_an_extra_names_the_extra(monkeypatch, tmp_path, capsys):
    # Whole before a part of it is hidden: it cannot be imported a second time.
    import streamlit  # noqa: F401

    monkeypatch.setitem(sys.modules, "streamlit.web", None)
    assert main(["app", str(tmp_path)]) == MISTAKE
    said = capsys.readouterr().err
    assert "the package streamlit is needed for deepphase app and is not installed" in said
    assert "pip install 'deepphase[app]'" in said


def test_a_package_that_cannot_be_imported_is_named_with_the_reason():
    with (
        pytest.raises(
            ParameterError, match="librosa is needed for maps and cannot be imported: no symbol"
        ),
        extra_packages("maps"),
    ):
        raise ImportError("no symbol", name="librosa.beat")


def test_packages_of_no_extra_are_not_for_the_user_to_install():
    with pytest.raises(ModuleNotFoundError), extra_packages("deepphase inspect"):
        import no_package_of_this_name  # noqa: F401


def test_every_extra_lists_its_packages():
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())[
        "project"
    ]
    extras = project["optional-dependencies"]
    distributions = {
        "faiss": "faiss-cpu",
        "sklearn": "scikit-learn",
        "PIL": "pillow",
    }
    for package, extra in EXTRAS.items():
        names = [Requirement(each).name for each in extras[extra]]
        assert distributions.get(package, package) in names
        assert not any(
            Requirement(each).name == distributions.get(package, package)
            for each in project["dependencies"]
        )


def test_what_is_there_and_other_errors_pass():
    with extra_packages("arrays"):
        import numpy  # noqa: F401
    with pytest.raises(KeyError), extra_packages("arrays"):
        raise KeyError
