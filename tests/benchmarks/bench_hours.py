"""Hours of a small body in shards: time, memory and bytes of each step, by array tasks and by Ray.

python -m tests.benchmarks.bench_hours [--hours 10,100] [--ray 10] [--folder hours]

The body has 18 joints. Clips of three minutes at 30 frames a second are synthetic gaits; after the
first three hours they are the same, with a frame less at their start each time. Every size is
prepared, trained on, encoded and built in four array tasks, one after the other, as a scheduler's
array runs them on machines that share only the files; the results are merged and searched. Sizes of
--ray are also done by Ray with two workers, and all files of both are compared byte by byte.

The folder needs 170 MB for each hour, and 100 MB more where Ray runs as well. RESULTS in it has a
line for each step that is done; a run goes on after the last one. Time and memory are measured as
in bench_scale.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from deepphase.formats.load import save
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.search.searcher import open_searcher
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import global_transforms
from deepphase.motion.skeleton import Skeleton
from deepphase.phase.extractor import load_extractor
from deepphase.synthetic.training_set import corpus
from tests.benchmarks.bench_scale import RESULTS, measured, shortened

_FPS, _CLIP_S, _CLIPS_AN_HOUR, _BASE_CLIPS = 30.0, 180.0, 20, 60
_TASKS = 4
_WINDOWS, _MEMORY = 25_600, "200MB"
_LEFT_OUT = ("Spine", "Spine1", "Neck1", "Shoulder", "HandMiddle1")
_QUERIES = 300


def small_body(clip: Clip) -> Clip:
    """The clip with 18 of its joints, in their orientations; bones have their lengths at rest."""
    whole = clip.skeleton
    kept = [i for i, name in enumerate(whole.names) if not name.endswith(_LEFT_OUT)]
    above = {-1: -1}
    for joint, parent in enumerate(whole.parents.tolist()):
        above[joint] = joint if joint in kept else above[parent]
    parents = [above[int(whole.parents[joint])] for joint in kept]
    rest = whole.rest_positions
    offsets = rest[kept]
    offsets[1:] -= rest[parents[1:]]
    world, _ = global_transforms(clip)
    local = world[:, kept].copy()
    local[:, 1:] = quaternions.multiply(quaternions.conjugate(world[:, parents[1:]]), local[:, 1:])
    ends = [end for end, parent in enumerate(whole.end_parents.tolist()) if parent in kept]
    skeleton = Skeleton(
        tuple(whole.names[joint] for joint in kept),
        np.array([kept.index(parent) if parent >= 0 else -1 for parent in parents]),
        offsets,
        np.array([kept.index(int(whole.end_parents[end])) for end in ends]),
        whole.end_offsets[ends],
    )
    return replace(clip, skeleton=skeleton, rotations=local)


def write_corpus(base: Path, folder: Path, hours: int) -> None:
    """A folder of folders of an hour each."""
    base.mkdir(parents=True, exist_ok=True)
    minutes = _BASE_CLIPS * _CLIP_S / 60.0
    if len(list(base.glob("*.bvh"))) < _BASE_CLIPS:
        motions = corpus(0, minutes, fps=_FPS, clip_seconds=_CLIP_S)
        for number, motion in enumerate(motions):
            save(small_body(motion.clip), base / f"{number:03d}.bvh")
    contents = [path.read_bytes() for path in sorted(base.glob("*.bvh"))]
    for number in range(hours * _CLIPS_AN_HOUR):
        path = folder / f"{number // _CLIPS_AN_HOUR:03d}" / f"clip_{number:05d}.bvh"
        path.parent.mkdir(parents=True, exist_ok=True)
        variant, clip = divmod(number, _BASE_CLIPS)
        path.write_bytes(shortened(contents[clip], variant))


def bytes_of(*paths: Path) -> int:
    """Bytes of files and of all files in folders."""
    each = (path.rglob("*") if path.is_dir() else [path] for path in paths)
    return sum(file.stat().st_size for files in each for file in files if file.is_file())


class Steps:
    """Steps of a benchmark: each is run once, and its line written to RESULTS."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / RESULTS
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.done = {(line["hours"], line["step"]) for line in map(json.loads, lines)}

    def run(self, hours: int, step: str, words: list[str | Path], *made: Path) -> None:
        """Run words of the program `deepphase`, or of this one if they begin with --."""
        module = __spec__.name if str(words[0]).startswith("--") else "deepphase.apps.cli"
        if (hours, step) not in self.done:
            command = [sys.executable, "-m", module, *map(str, words)]
            numbers = measured(command)
            self.write(hours, step, **numbers, bytes=bytes_of(*made))

    def write(self, hours: int, step: str, **numbers: object) -> None:
        """A line of results."""
        line = json.dumps({"hours": hours, "step": step, **numbers})
        print(line, flush=True)
        with self.path.open("a") as file:
            file.write(line + "\n")


def run_size(steps: Steps, folder: Path, hours: int) -> None:
    """All steps of a corpus by array tasks."""
    work = folder / str(hours)
    captures, store, model = work / "captures", work / "store", work / "phase.model"
    quiet = "--quiet"
    if not captures.exists():
        write_corpus(folder / "base", captures, hours)
    shards = [work / f"{task}.shard" for task in range(1, _TASKS + 1)]
    for task, shard in enumerate(shards, 1):
        words = ["prepare", captures, "-o", shard, "--fps", "30", "--shard", f"{task}/{_TASKS}"]
        steps.run(hours, f"prepare, task {task}", [*words, "--workers", "1", quiet], shard)
    words = ["prepare", captures, "-o", store, "--fps", "30", "--merge", *shards, quiet]
    steps.run(hours, "prepare, merge", words, store)
    for shard in shards:
        shard.unlink(missing_ok=True)
    words = ["train", "phase", store, "-o", model, "--memory", _MEMORY, "--devices", "1"]
    words += ["--set", f"training.windows={_WINDOWS}", quiet]
    steps.run(hours, "train phase", words, model)
    databases = work / "databases"
    databases.mkdir(exist_ok=True)
    for task in range(1, _TASKS + 1):
        shard = databases / f"{task}.shard"
        words = ["match", "build", store, "-o", shard, "--model", model, "--workers", "1", quiet]
        steps.run(
            hours, f"match build, task {task}", [*words, "--shard", f"{task}/{_TASKS}"], shard
        )
    for state in ("new", "kept"):
        words = ["--search", databases, model]
        steps.run(hours, f"search, {state} index", words, *databases.glob("*.index"))
    phases = work / "phases"
    for task in range(1, _TASKS + 1):
        words = ["encode", model, store, "-o", phases, "--workers", "1", quiet]
        steps.run(hours, f"encode, task {task}", [*words, "--shard", f"{task}/{_TASKS}"], phases)


def compare_with_ray(steps: Steps, folder: Path, hours: int) -> None:
    """The steps of a corpus by Ray with two workers, and their files against those of the tasks."""
    work, ray = folder / str(hours), folder / str(hours) / "ray"
    ray.mkdir(exist_ok=True)
    model, captures = work / "phase.model", work / "captures"
    by = ["--workers", "2", "--cluster", "ray", "--quiet"]
    words = ["prepare", captures, "-o", ray / "store", "--fps", "30", *by]
    steps.run(hours, "prepare, Ray", words, ray / "store")
    words = ["encode", model, work / "store", "-o", ray / "phases", *by]
    steps.run(hours, "encode, Ray", words, ray / "phases")
    words = ["match", "build", work / "store", "-o", work / "ray.db", "--model", model, *by]
    steps.run(hours, "match build, Ray", words, work / "ray.db")
    words = ["match", "merge", work / "databases", "-o", work / "motion.db", "--quiet"]
    steps.run(hours, "match build, merge", words, work / "motion.db")
    for name, other in (("store", ray / "store"), ("motion.db", work / "ray.db")):
        same = filecmp.cmp(work / name, other, shallow=False)
        steps.write(hours, f"{name} of tasks and of Ray", same_bytes=same)
    files = sorted(path.relative_to(work / "phases") for path in (work / "phases").rglob("*.npz"))
    others = sorted(path.relative_to(ray / "phases") for path in (ray / "phases").rglob("*.npz"))
    same = files == others and all(
        filecmp.cmp(work / "phases" / name, ray / "phases" / name, shallow=False) for name in files
    )
    steps.write(hours, "phases of tasks and of Ray", same_bytes=same, files=len(files))


def search(databases: Path, model: Path) -> None:
    """Open a folder of shards as one database and search it for moments of other individuals."""
    began = time.perf_counter()
    database = MotionDatabase.load(databases, verify=False)
    searcher = open_searcher(database, "exact")
    ready = time.perf_counter() - began
    reader = database.reader(load_extractor(model))
    others = corpus(1, 5.0, fps=_FPS)
    rows = [reader.read(small_body(motion.clip)) for motion in others]
    features = np.concatenate([each["features"][each["offered"]] for each in rows])
    chosen = np.random.default_rng(0).choice(len(features), _QUERIES, replace=False)
    spent = []
    for query in database.normalised(features[chosen]):
        start = time.perf_counter()
        searcher.search(query)
        spent.append(1e3 * (time.perf_counter() - start))
    median, most = np.percentile(spent, [50, 95])
    print(
        f"{len(database):,} rows, ready after {ready:.1f} s; a query takes {median:.2f} ms in the "
        f"median, {most:.2f} ms at the 95th percentile",
        flush=True,
    )


def main() -> None:
    """Run what is not done yet."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hours", default="10,100")
    parser.add_argument("--ray", default="10", help="those of the hours that Ray does as well")
    parser.add_argument("--folder", type=Path, default=Path("hours"))
    parser.add_argument("--keep", action="store_true", help="keep all files but the captures")
    parser.add_argument("--search", type=Path, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.search:
        search(*given.search)
        return
    os.environ["OMP_NUM_THREADS"] = "1"
    given.folder.mkdir(parents=True, exist_ok=True)
    steps = Steps(given.folder)
    by_ray = given.ray.split(",")
    for hours in given.hours.split(","):
        run_size(steps, given.folder, int(hours))
        if hours in by_ray:
            compare_with_ray(steps, given.folder, int(hours))
    if not given.keep:
        for size in given.folder.iterdir():
            if size.is_dir():
                shutil.rmtree(size)


if __name__ == "__main__":
    main()
