"""The C++ header that was written by docs/engines.md, against deepphase."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.apps.demo import CONTROLLER
from deepphase.controllers.runtime.controller import Controller
from tests.export.test_engine_examples import DOCS, Constant, characters_of

COMPILER = shutil.which("g++") or shutil.which("clang++")
# Reads raw inputs and gates from a file, and writes outputs, shares of the experts and the root.
_PROGRAM = """
#include <cstdio>
#include <iostream>
#include "engine_network.hpp"

int main(int, char** arguments) {
    try {
        engine::Network network(arguments[1]);
        size_t inputs = network.file["inputs_mean"].values.size();
        size_t gate = network.file["gate_mean"].values.size();
        std::vector<float> row(inputs + gate);
        std::ifstream rows(arguments[2], std::ios::binary);
        engine::Root root;
        while (rows.read(reinterpret_cast<char*>(row.data()), 4 * row.size())) {
            auto middle = row.begin() + inputs;
            auto outputs = network.step({row.begin(), middle}, {middle, row.end()});
            root.move(network.file.header, outputs);
            for (float value : outputs) std::printf("%.9g ", value);
            for (float value : network.shares) std::printf("%.9g ", value);
            std::printf("%.9g %.9g %.9g\\n", root.x, root.z, root.facing);
        }
    } catch (const std::exception& problem) {
        std::cerr << problem.what() << "\\n";
        return 2;
    }
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    if COMPILER is None:
        pytest.skip("no C++ compiler on this machine")
    folder = tmp_path_factory.mktemp("cpp")
    (folder / "main.cpp").write_text(_PROGRAM)
    options = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{DOCS / 'examples'}"]
    words = [COMPILER, *options, str(folder / "main.cpp"), "-o", str(folder / "main")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "main"


@pytest.mark.slow
def test_a_step_in_cpp_is_ours(program, tmp_path):
    flat = tmp_path / "walk.flat"
    words = ["export", str(CONTROLLER), "--flat", "--weights", "float32", "-o", str(flat)]
    assert main(words) == 0
    controller = Controller.load(CONTROLLER)
    characters = characters_of(controller)
    schema, rows, outputs = controller.schema, [], []
    for _ in range(30):
        frame = characters.step(Constant((0.4, 1.5), 0.3))
        rows.append(np.concatenate([each[0] for each in characters.network_inputs]))
        outputs.append(characters._outputs[0].copy())
    (tmp_path / "rows").write_bytes(np.array(rows, "<f4").tobytes())
    done = subprocess.run(
        [program, flat, tmp_path / "rows"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    theirs = np.loadtxt(done.stdout.splitlines())
    scale = controller.network.get_buffer("outputs_unit").numpy()
    dims = schema.outputs.dims
    assert np.abs((theirs[:, :dims] - outputs) / np.maximum(scale, 1e-3)).max() < 1e-5
    assert theirs[:, dims:-3].sum(axis=1) == pytest.approx(1.0, abs=1e-6)
    assert theirs[-1, -3:-1] == pytest.approx(frame.positions[0], abs=1e-4)
    assert theirs[-1, -1] == pytest.approx(frame.angles[0], abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("cut", [4, 100, -8])
def test_damaged_files_are_refused_in_cpp(program, tmp_path, cut):
    flat = tmp_path / "walk.flat"
    assert main(["export", str(CONTROLLER), "--flat", "-o", str(flat)]) == 0
    flat.write_bytes(flat.read_bytes()[:cut])
    done = subprocess.run([program, flat, flat], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "ends" in done.stderr or "not a flat file" in done.stderr
