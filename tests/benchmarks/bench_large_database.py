"""Building and searching of a large database from a store: time, peak memory, size, recall.

OMP_NUM_THREADS=1 python -m tests.benchmarks.bench_large_database [--rows 10000000] \
    [--folder FOLDER]

The store holds made motion, repeated at other speeds and sizes of the body with some noise in every
joint. Each step is a process of its own; peak memory is the largest sum of the resident memory of
the process and its children, sampled 20 times a second, mapped pages of files included.

Queries are asked one at a time: of individuals that are not in the store, and unusual ones
(features of different moments combined, half of them farther from the mean than the data).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.corpus.store import StoreWriter
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.search.faiss_search import unusual_queries
from deepphase.matching.search.searcher import open_searcher
from deepphase.motion.clip import Clip
from deepphase.synthetic.training_set import corpus

_LAYOUT = """features:
  - {name: foot_position, joints: [feet]}
  - {name: foot_velocity, joints: [feet]}
  - {name: hand_position, joints: [LeftHand, RightHand]}
  - {name: hips_velocity, joints: [hips]}
  - {name: trajectory_position, offsets_s: [0.17, 0.33, 0.5, 0.67, 0.83, 1.0]}
  - {name: trajectory_direction, offsets_s: [0.17, 0.33, 0.5, 0.67, 0.83, 1.0]}
"""
_SAMPLE_S = 0.05
_MADE_MINUTES = 60.0
_SPEEDS, _SIZES = (0.7, 1.4), (0.8, 1.2)
_NOISE = 0.01


def varied(clips: list[Clip], frames: int, seed: int = 0) -> Iterator[Clip]:
    """Clips at random speeds and sizes, with noise in every rotation, until there are enough."""
    rng = np.random.default_rng(seed)
    made = number = 0
    while made < frames:
        clip = clips[number % len(clips)]
        speed, size = rng.uniform(*_SPEEDS), rng.uniform(*_SIZES)
        places = np.arange(0, len(clip) - 1, speed)
        before = places.astype(int)
        share = (places - before)[:, None, None].astype(np.float32)
        first, second = clip.rotations[before], clip.rotations[before + 1]
        sign = np.where((first * second).sum(-1, keepdims=True) < 0, -1, 1).astype(np.float32)
        rotations = first * (1 - share) + sign * second * share
        rotations += (_NOISE * rng.standard_normal(4 * rotations.shape[1])).reshape(1, -1, 4)
        rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
        moved = clip.translations[before] * (1 - share) + clip.translations[before + 1] * share
        skeleton = replace(clip.skeleton, offsets=clip.skeleton.offsets * size)
        yield replace(
            clip,
            skeleton=skeleton,
            rotations=rotations.astype(np.float32),
            translations=(size * moved).astype(np.float32),
            name=f"{clip.name}_{number:06d}",
        )
        made += len(places)
        number += 1


def make_store(folder: Path, rows: int) -> None:
    minutes = min(_MADE_MINUTES, max(rows / 3600 / 4, 1.0))
    clips = [motion.clip for motion in corpus(0, minutes)]
    with StoreWriter(folder / "made.store") as writer:
        for clip in varied(clips, rows):
            writer.add(clip)
        writer.finish()


def queries_of(database: MotionDatabase) -> dict[str, Array]:
    """Queries of individuals who are not in the database, and unusual ones."""
    reader = database.reader(None)
    rows = [reader.read(motion.clip) for motion in corpus(1, 5.0)]
    features = np.concatenate([each["features"][each["offered"]] for each in rows])
    chosen = np.random.default_rng(0).choice(len(features), 300, replace=False)
    return {
        "held-out": database.normalised(features[chosen]),
        "unusual": unusual_queries(database)[:300],
    }


def search(database_path: Path, index: str) -> dict[str, object]:
    """Open a database and its index, and ask; times in seconds and milliseconds."""
    began = time.perf_counter()
    database = MotionDatabase.load(database_path, verify=False)
    opened = time.perf_counter()
    searcher = open_searcher(database, index)
    ready = time.perf_counter()
    found: dict[str, object] = {
        "rows": len(database),
        "open s": round(opened - began, 3),
        "index s": round(ready - opened, 1),
        "recall said": getattr(searcher, "recall", 1.0),
        "effort": getattr(searcher, "effort", 0),
    }
    for name, queries in queries_of(database).items():
        spent, distances = [], []
        searcher.search(queries[:1])
        for query in queries:
            start = time.perf_counter()
            distances.append(float(searcher.search(query)[0][0, 0]))
            spent.append(1e3 * (time.perf_counter() - start))
        found[f"{name} ms: median, p95, p99"] = np.percentile(spent, [50, 95, 99]).round(3).tolist()
        truth = database_path.parent / f"{name}.npy"
        if searcher.exact:
            np.save(truth, distances)
        elif truth.exists():
            found[f"{name} recall"] = float((np.array(distances) <= np.load(truth)).mean())
    return found


def rss_of_tree(root: int) -> int:
    """Bytes of resident memory of a process and its descendants."""
    parents, sizes = {}, {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            parents[int(entry.name)], sizes[int(entry.name)] = int(fields[1]), int(fields[21])
        except (OSError, IndexError):
            continue
    total, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        total += sizes.get(process, 0)
        waiting += [child for child, parent in parents.items() if parent == process]
    return total * os.sysconf("SC_PAGE_SIZE")


def measured(title: str, words: list[str]) -> str:
    """Run a Python module as a process and print its time and peak memory; returns its output."""
    began, peak = time.perf_counter(), 0
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([sys.executable, "-m", *words], stdout=subprocess.PIPE, text=True)
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(_SAMPLE_S):
            peak = max(peak, rss_of_tree(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    output, _ = process.communicate()
    done.set()
    watcher.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if process.returncode:
        raise SystemExit(f"{title}: failed\n{output}")
    spent = time.perf_counter() - began
    print(f"{title:28} {spent:8.1f} s  {cpu:8.1f} CPU s  peak {peak / 1e9:6.2f} GB", flush=True)
    return output


def size_of(*paths: Path) -> str:
    return f"{sum(path.stat().st_size for path in paths) / 1e9:.2f} GB"


def bench(folder: Path, options: argparse.Namespace) -> None:
    this = "tests.benchmarks.bench_large_database"
    store, database = folder / "made.store", folder / "made.db"
    (folder / "layout.yaml").write_text(_LAYOUT)
    step = ["--folder", str(folder), "--rows", str(options.rows)]
    if not store.exists():
        measured("made store", [this, *step, "--step", "store"])
    print(f"  {size_of(store)}")
    build = [
        "deepphase.apps.cli",
        "match",
        "build",
        str(store),
        "--config",
        str(folder / "layout.yaml"),
    ]
    if not database.exists():
        measured("built, exact index", [*build, "-o", str(database), "--quiet"])
    print(f"  {size_of(database)}")
    for index in options.index:
        for state in ("new", "kept"):
            words = [this, *step, "--step", "search", "--path", str(database), "--kind", index]
            found = json.loads(measured(f"{index}, {state} index", words))
            if state == "kept":
                for key, value in found.items():
                    print(f"    {key}: {value}", flush=True)
        indices = folder.rglob(f"*.{index}.index")
        print(f"  {index} index: {size_of(*indices)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--index", nargs="*", default=["exact", "IVF4096,Flat"])
    parser.add_argument("--folder", type=Path, help="keep files there; what is there is not built")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--kind", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step == "store":
        make_store(options.folder, options.rows)
    elif options.step == "search":
        print(json.dumps(search(options.path, options.kind)))
    elif options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
        bench(options.folder, options)
    else:
        with tempfile.TemporaryDirectory() as folder:
            bench(Path(folder), options)


if __name__ == "__main__":
    main()
