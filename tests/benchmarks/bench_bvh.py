"""How fast BVH files are read, against pybvh, bvhio and bvh in the same run.

    python -m tests.benchmarks.bench_bvh [FILE] [--rounds N]

Without a file, one of about 5 MB is made. The readers take turns and the medians are compared.
The compiled code of the reader is loaded before: a process does so after 64 MB of text. The
readers do not do the same work, so each line says what it leaves in memory:

- `bvh` splits the text and leaves strings; its second line turns them to floats, as a user must.
- `pybvh` leaves Euler angles in radians and infers the up axis; no rotations are computed. Its
  third line adds quaternions with SciPy, to be compared with `load_bvh`.
- `bvhio` leaves one pose object (position and quaternion) for each frame and joint.
"""

from __future__ import annotations

import argparse
import importlib
import io
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.formats.bvh.reader import load_bvh, load_scan, parse_motion
from tests.formats.bvh_text import JOINT_CHANNELS, ROOT_CHANNELS, bvh_text

Reader = Callable[[Path], object]


def made_file(folder: Path) -> Path:
    """A skeleton of 24 joints that every reader knows, 75 channels, about 5 MB."""
    joints = [("Hips", -1, (0.0, 90.0, 0.0), ROOT_CHANNELS)]
    joints += [(f"Joint{i}", i - 1, (0.0, 10.0, 0.0), JOINT_CHANNELS) for i in range(1, 24)]
    rows = np.random.default_rng(0).uniform(-180, 180, (6200, 75)).round(6)
    path = folder / "made.bvh"
    path.write_text(bvh_text(joints, rows))
    return path


def our_table(path: Path) -> np.ndarray:
    content = path.read_bytes().replace(b"\r\n", b"\n")
    width = len(content[content.rindex(b"\n", 0, -1) :].split())
    return parse_motion(content, content.index(b"MOTION") + 6, width, path).values


def loadtxt(path: Path) -> np.ndarray:
    content = path.read_bytes()
    table = content[content.index(b"\n", content.index(b"Frame Time")) + 1 :]
    return np.loadtxt(io.BytesIO(table), comments=None, ndmin=2)


def readers() -> list[tuple[str, str, Reader]]:
    """Name, what it leaves, and the reader, of every package that is installed."""
    found: list[tuple[str, str, Reader]] = [
        ("deepphase load_bvh", "clip: metres, Y up inferred", load_bvh),
        ("deepphase table only", "numbers, checked", our_table),
        ("numpy loadtxt", "numbers, unchecked", loadtxt),
    ]
    try:
        pybvh = importlib.import_module("pybvh")
        parse = importlib.import_module("pybvh.io")._extract_bvh_file_info
    except (ImportError, AttributeError):
        print("pybvh is not installed")
    else:

        def with_quaternions(path: Path) -> np.ndarray:
            motion = pybvh.read_bvh_file(path, world_up="+y")
            return np.stack(
                [
                    Rotation.from_euler("ZXY", motion.joint_angles[:, joint]).as_quat()
                    for joint in range(motion.joint_angles.shape[1])
                ],
                axis=1,
            )

        found += [
            ("pybvh parse only", "numbers, degrees", parse),
            ("pybvh read_bvh_file", "Euler angles, up axis", pybvh.read_bvh_file),
            ("pybvh + scipy", "quaternions", with_quaternions),
        ]
    try:
        bvh = importlib.import_module("bvh")
    except ImportError:
        print("bvh is not installed")
    else:
        found += [
            ("bvh", "strings", lambda path: bvh.Bvh(path.read_text())),
            (
                "bvh + numpy",
                "numbers",
                lambda path: np.array(bvh.Bvh(path.read_text()).frames, np.float64),
            ),
        ]
    try:
        bvhio = importlib.import_module("bvhio")
    except ImportError:
        print("bvhio is not installed")
    else:
        found.append(("bvhio readAsBvh", "a pose object each", lambda p: bvhio.readAsBvh(str(p))))
    return found


def measure(path: Path, rounds: int) -> dict[str, tuple[str, float | None]]:
    """Name -> what it leaves and the median of its seconds, None where it cannot read the file."""
    entries = readers()
    seconds: dict[str, list[float]] = {name: [] for name, _, _ in entries}
    failed = set()
    for _ in range(rounds):
        for name, _, reader in entries:
            if name in failed:
                continue
            start = time.perf_counter()
            try:
                reader(path)
            except Exception as error:  # A rival may raise anything.
                print(f"{name} does not read it: {str(error).splitlines()[0][:90]}")
                failed.add(name)
                continue
            seconds[name].append(time.perf_counter() - start)
    return {
        name: (leaves, statistics.median(seconds[name]) if seconds[name] else None)
        for name, leaves, _ in entries
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    start = time.process_time()
    if load_scan() is None:
        print("the compiled code cannot be loaded")
    loading = time.process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or made_file(Path(folder))
        megabytes = path.stat().st_size / 1e6
        results = measure(path, options.rounds)
    ours = results["deepphase load_bvh"][1]
    print(f"loading the compiled code: {loading:.2f} s of processor time")
    print(f"{path.name}: {megabytes:.1f} MB, medians of {options.rounds} rounds")
    print(f"{'reader':22} {'leaves':28} {'MB/s':>7} {'time / load_bvh':>16}")
    for name, (leaves, median) in results.items():
        if median is not None and ours is not None:
            print(f"{name:22} {leaves:28} {megabytes / median:7.1f} {median / ours:15.2f}x")


if __name__ == "__main__":
    main()
