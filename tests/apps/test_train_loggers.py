"""The loggers that training commands offer beside their CSV."""

import importlib.util
import sys
from pathlib import Path

import pytest

from deepphase.apps.options.groups import TrainingOptions
from deepphase.errors import ParameterError

pytestmark = pytest.mark.slow


def test_csv_needs_no_further_logger():
    assert TrainingOptions().trainer(Path("walk.model"))["logger"] is True


@pytest.mark.parametrize("package", ["tensorboard", "wandb"])
def test_a_logger_whose_package_is_missing_says_what_to_install(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ParameterError) as caught:
        TrainingOptions(logger=package).trainer(Path("walk.model"))
    assert f"the package {package} is needed for {package} logs and is not installed" in str(
        caught.value
    )
    assert caught.value.hint == "install it with pip install 'deepphase[loggers]'"


@pytest.mark.skipif(not importlib.util.find_spec("tensorboard"), reason="needs tensorboard")
def test_tensorboard_writes_beside_the_model(tmp_path):
    logger = TrainingOptions(logger="tensorboard").trainer(tmp_path / "walk.model")["logger"]
    logger.log_metrics({"loss": 1.0}, step=1)
    logger.save()
    assert list((tmp_path / "walk.model.logs").rglob("events.*"))
