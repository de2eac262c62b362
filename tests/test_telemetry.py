"""Libraries that are imported with ours send nothing to their makers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_VARIABLE = "ORT_DISABLE_TELEMETRY"


def imported(tmp_path, **variables):
    environment = {name: value for name, value in os.environ.items() if name != _VARIABLE}
    code = "import deepphase, os, onnxruntime; print(os.environ['ORT_DISABLE_TELEMETRY'])"
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment | {"TMPDIR": str(tmp_path)} | variables,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_onnx_runtime_begins_no_session(tmp_path):
    pytest.importorskip("onnxruntime")
    assert imported(tmp_path) == "1\n"
    # The file with the number of a session, which it writes before it sends anything.
    assert not (tmp_path / ".ses").exists()


def test_a_setting_of_the_user_is_kept(tmp_path):
    pytest.importorskip("onnxruntime")
    assert imported(tmp_path, **{_VARIABLE: "0"}) == "0\n"
