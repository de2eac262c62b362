"""Reader of USD files: the animated skeleton (UsdSkel) of a stage as a clip, by usd-core."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.extras import extra_packages
from deepphase.formats.body_checks import in_metres_y_up
from deepphase.formats.file_content import foreign_content, read_front
from deepphase.formats.frame_rates import is_plausible_rate
from deepphase.formats.joint_checks import check_joint_count, unique_names
from deepphase.formats.joint_matrices import clip_of_matrices
from deepphase.formats.joint_trees import one_tree, parents_in_tree
from deepphase.formats.key_times import allowed_poses, frame_count, sampling_rate
from deepphase.formats.units import checked_options
from deepphase.motion.clip import Clip, Source

# First bytes of text, of crate files and of archives.
_SIGNATURES = (b"#usda", b"PXR-USDC", b"PK\x03\x04")
# Of a sample, 30 years.
_LATEST_S = 1e9


def load_usd(
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    fps: float | None = None,
) -> Clip:
    """Read the animated skeleton of a .usda, .usdc, .usd or .usdz as a clip: metres, Y up.

    Of several skeletons with an animation the one with the most joints is read. Transforms above
    the skeleton are folded into its roots; the rest pose is the file's, or its bind pose.

    Parameters
    ----------
    unit
        Metres in a unit; None takes `metersPerUnit`, or infers it where the file has none.
    up
        The up axis; None takes `upAxis`.
    fps
        Frames a second at which the animation is sampled; None infers it from the times of its
        samples.

    Raises
    ------
    FormatError
        If the file cannot be read or has no animated skeleton.
    ParameterError
        If an option is invalid, or usd-core is not installed.
    """
    path = Path(path)
    unit_m = checked_options(unit, up, fps)
    front = read_front(path)
    if not front.startswith(_SIGNATURES):
        found = foreign_content(front)
        raise FormatError(
            f"this is not a USD file{': ' if found else ''}{found}",
            hint="export it as .usda, .usdc or .usdz",
            path=path,
        )
    with extra_packages("USD files"), _as_format_error(path):
        return _read(path, unit_m, up, fps)


def _read(path: Path, unit_m: float | None, up: str | None, fps: float | None) -> Clip:
    """The clip of `load_usd`; usd-core's own errors may come from every value that is asked for."""
    from pxr import Usd, UsdGeom

    stage = Usd.Stage.Open(str(path.resolve()))
    skeletons = _animated_skeletons(stage)
    if not skeletons:
        raise FormatError(
            "no skeleton with an animation is in the file",
            hint="export the Skeleton and its SkelAnimation into one file",
        )
    chosen = max(skeletons, key=lambda each: len(each.joints))
    check_joint_count(len(chosen.joints), path)
    notes = []
    if len(skeletons) > 1:
        notes.append(f"{chosen.place} was read; {len(skeletons) - 1} other skeletons are animated")
    per_second = float(stage.GetTimeCodesPerSecond())
    if not (np.isfinite(per_second) and per_second > 0):
        raise FormatError(
            f"timeCodesPerSecond is {per_second:g}, which places no frame in time",
            hint="set it to the frame rate",
        )
    stated = stage.GetFramesPerSecond() if stage.HasAuthoredMetadata("framesPerSecond") else None
    codes = np.array(chosen.animation.GetJointTransformTimeSamples(), np.float64)
    latest = np.abs(codes).max(initial=0.0)
    if not latest <= _LATEST_S * per_second:
        raise FormatError(
            f"a sample at time code {latest:g}, of {per_second:g} a second, is beyond any motion",
            hint="check timeCodesPerSecond, and the times of the samples",
        )
    rate, note = sampling_rate([codes / per_second], stated)
    if fps is not None:
        rate, note = float(fps), f"sampled at {fps:g} frames a second as given"
    elif not is_plausible_rate(rate):
        raise FormatError(
            f"samples at {rate:.6g} frames a second: no body is captured at such a rate",
            hint="give the rate: fps=, or --file-fps on the command line",
        )
    notes.append(note)
    times = _sampled(codes, per_second, rate, len(chosen.joints), path)
    rest, poses = chosen.transforms(times)
    names, renamed = unique_names(chosen.names)
    if renamed:
        notes.append(f"joints of one name were numbered: {', '.join(renamed[:4])}")
    parents = chosen.parents
    tree, tree_notes = one_tree(names, parents)
    clip = clip_of_matrices(
        tuple(names[joint] for joint in tree),
        parents_in_tree(parents, tree),
        rest[tree],
        poses[:, tree],
        rate,
        path,
    )
    notes += tree_notes
    if unit_m is None and UsdGeom.StageHasAuthoredMetersPerUnit(stage):
        unit_m = float(UsdGeom.GetStageMetersPerUnit(stage))
    if up is None:
        up = str(UsdGeom.GetStageUpAxis(stage)).lower()
    return in_metres_y_up(clip, unit_m, up, Source(str(path), fps=rate, notes=tuple(notes)))


@dataclass(frozen=True, eq=False)
class _AnimatedSkeleton:
    """A skeleton of a stage, with the query of its animation."""

    prim: Any
    query: Any
    animation: Any

    @property
    def place(self) -> str:
        return str(self.prim.GetPath())

    @property
    def joints(self) -> tuple[str, ...]:
        return tuple(map(str, self.query.GetJointOrder()))

    @property
    def names(self) -> tuple[str, ...]:
        from pxr import UsdSkel, Vt

        given = UsdSkel.Skeleton(self.prim).GetJointNamesAttr().Get()
        # A file may declare another type.
        known = isinstance(given, Vt.TokenArray) and len(given) == len(self.joints)
        if known and all(given):
            return tuple(map(str, given))
        return tuple(joint.rpartition("/")[2] for joint in self.joints)

    @property
    def parents(self) -> Array:
        return np.array(self.query.GetTopology().GetParentIndices(), np.int64)

    def transforms(self, times: Array) -> tuple[Array, Array]:
        """(joints, 4, 4) and (frames, joints, 4, 4) at rest and at times, with axes in columns."""
        from pxr import Usd, UsdGeom

        shape = (len(self.joints), 4, 4)
        poses, worlds = np.empty((len(times), *shape)), np.empty((len(times), 4, 4))
        for row, time in enumerate(times.tolist()):
            code = Usd.TimeCode(time)
            pose = np.array(self.query.ComputeJointSkelTransforms(code))
            worlds[row] = UsdGeom.XformCache(code).GetLocalToWorldTransform(self.prim)
            if (
                pose.shape != shape
                or not np.isfinite(pose).all()
                or not np.isfinite(worlds[row]).all()
            ):
                raise FormatError(
                    f"time code {time:g}: {self.place} has no pose of {len(self.joints)} joints",
                    hint="its SkelAnimation needs a finite rotation, translation and scale of each",
                )
            poses[row] = pose
        if self.query.HasRestPose():
            rest = np.array(self.query.ComputeJointSkelTransforms(Usd.TimeCode(0), atRest=True))
        elif self.query.HasBindPose():
            bind = np.array(self.query.GetJointWorldBindTransforms())
            rest = bind @ np.linalg.inv(worlds[0])
        else:
            rest = poses[0]
        if rest.shape != shape or not np.isfinite(rest).all():
            raise FormatError(
                f"{self.place} has no rest pose of {len(self.joints)} joints",
                hint="export its restTransforms or bindTransforms",
            )
        # USD multiplies rows by matrices. The rest pose is turned as in the first frame.
        rest, poses = rest @ worlds[0], poses @ worlds[:, None]
        return rest.swapaxes(-1, -2), poses.swapaxes(-1, -2)


def _animated_skeletons(stage: Any) -> list[_AnimatedSkeleton]:
    from pxr import Usd, UsdSkel

    cache = UsdSkel.Cache()
    instances = Usd.TraverseInstanceProxies()
    found = []
    for prim in stage.Traverse(instances):
        if prim.IsA(UsdSkel.Root):
            cache.Populate(UsdSkel.Root(prim), instances)
        elif prim.IsA(UsdSkel.Skeleton):
            query = cache.GetSkelQuery(UsdSkel.Skeleton(prim))
            animation = query.GetAnimQuery() if query else None
            if animation and len(query.GetJointOrder()):
                found.append(_AnimatedSkeleton(prim, query, animation))
    return found


def _sampled(codes: Array, per_second: float, rate: float, joints: int, path: Path) -> Array:
    """(frames,) time codes at a rate, from the first sample to the last."""
    if not len(codes):
        return np.zeros(1)
    seconds = float(codes[-1] - codes[0]) / per_second
    frames = frame_count(seconds, rate, float(codes[-1]) / per_second)
    size = path.stat().st_size
    if frames * joints > allowed_poses(size):
        raise FormatError(
            f"{seconds:.6g} s at {rate:.6g} frames a second are {frames:,} frames of {joints} "
            f"joints, in a file of {size:,} bytes",
            hint="give a lower rate (fps=), or check the times of the samples",
        )
    return codes[0] + np.arange(frames) * (per_second / rate)


@contextmanager
def _as_format_error(path: Path) -> Iterator[None]:
    from pxr import Tf

    try:
        yield
    except FormatError as error:
        raise FormatError(error.fact, hint=error.hint, path=path) from None
    except (Tf.ErrorException, UnicodeDecodeError) as error:
        raise FormatError(
            f"usd-core cannot read it: {_reason(error)}", hint="export the file again", path=path
        ) from None


def _reason(error: Exception) -> str:
    try:
        return " ".join(str(error).split())[:300]
    except UnicodeDecodeError:
        # usd-core repeats bytes of the file that are not UTF-8.
        return "it holds text that is not UTF-8"
