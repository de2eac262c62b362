"""Rigs of .blend files: armatures with constraints and drivers, evaluated by Blender."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write, check_writable
from deepphase.errors import FormatError, ParameterError
from deepphase.formats.blender.bridge import TIME_LIMIT_S, TO_Y_UP
from deepphase.formats.blender.session import BlenderSession
from deepphase.motion import quaternions
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.rigs.blender_body import BlenderBody, body_of_armature
from deepphase.rigs.character_rig import CharacterRig
from deepphase.rigs.keys import RigKeys, key_groups
from deepphase.rigs.rig_function import Control
from deepphase.temporary_files import temporary_folder

# Blender computes in single precision, so that smaller differences would be noise.
_STEP = 1e-3
# Poses of one request: each has to be answered within the time limit.
_POSES = 500
# A derivative below this share of the largest is none.
_NO_EFFECT = 1e-4
CURVE_FILES = (".blend", ".fbx")
"""Suffixes of files with a rig and its curves."""


class BlenderRig(CharacterRig):
    """The armature with the most bones of a .blend file as a rig function.

    Its controls are the places, turns and scales of the bones that an animator can select and that
    nothing else drives, where they can move the body, and their custom properties: `BONE.tx`,
    `BONE.rz`, `BONE.sy`, `BONE.PROPERTY`. Turns are angles in the bone's own order, or rotation
    vectors of bones with quaternions. A bone that carries the whole rig is not a control: it has
    the place of the character.

    Blender runs as a process of its own, from the first evaluation until `close`.

    Parameters
    ----------
    path
        The .blend file.
    digest
        SHA-256 of its content.
    body
        See `BlenderBody`.
    controls
        As Blender finds them.
    groups
        Name of each control's bone.
    root
        Name of the bone that carries the whole rig; "" if there is none.
    pattern
        (joints, controls) whether a control moves a joint; None if that is not known.
    seconds
        Time limit of each request.
    """

    def __init__(
        self,
        path: Path,
        digest: str,
        body: BlenderBody,
        controls: Sequence[Control],
        groups: Sequence[str],
        root: str = "",
        pattern: Array | None = None,
        seconds: float = TIME_LIMIT_S,
    ) -> None:
        self.path, self.digest, self.body = path, digest, body
        self.skeleton, self.roles = body.skeleton, body.roles
        self.groups, self.root = tuple(groups), root
        self.pattern, self.seconds = pattern, seconds
        self.rest_turns = np.tile(quaternions.IDENTITY, (len(body.skeleton), 1))
        self._session: BlenderSession | None = None
        ends = [f"{self.skeleton.names[joint]}_end" for joint in self.skeleton.end_parents]
        ends = [name if row % 2 == 0 else f"{name[:-4]}_side" for row, name in enumerate(ends)]
        super().__init__(controls, [*self.skeleton.names, *ends])

    @classmethod
    def open(
        cls,
        path: str | Path,
        description: Mapping[str, Any] | None = None,
        seconds: float = TIME_LIMIT_S,
    ) -> BlenderRig:
        """The rig of a .blend file.

        Parameters
        ----------
        description
            A skeleton description (`load_description`) of the deforming bones, where roles are not
            found by names.
        seconds
            Time limit of each request.

        Raises
        ------
        ParameterError
            If Blender is not installed.
        FormatError
            If Blender cannot read the file, or it has no armature with controls.
        SkeletonError
            If the deforming bones have no legs.
        """
        path = Path(path)
        digest = _digest(path)
        session = BlenderSession(path, seconds)
        try:
            answer, arrays = session.ask({"task": "open", "path": str(path.resolve())})
            body = body_of_armature(answer, arrays, description, path)
            found, _ = session.ask({"task": "use", "joints": list(body.skeleton.names)})
            controls, groups, root = _controls(found, path)
        except BaseException:
            session.close()
            raise
        rig = cls(path, digest, body, controls, groups, root, seconds=seconds)
        rig._session = session
        return rig

    def for_own_rest(self) -> BlenderRig:
        """The rig itself: its clips have its rest pose."""
        return self

    def close(self) -> None:
        """End the process of Blender."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _positions(self, values: Array) -> Array:
        return self.transforms(values)[1]

    def transforms(self, values: Array) -> tuple[Array, Array]:
        """See `CharacterRig.transforms`."""
        made = [
            self._opened().ask(
                {"task": "evaluate"}, {"values": self._limited(values[start : start + _POSES])}
            )[1]["matrices"]
            for start in range(0, len(values), _POSES)
        ]
        count = len(self.skeleton)
        matrices = np.concatenate(made) if made else np.empty((0, count, 3, 4))
        if matrices.shape != (len(values), count, 3, 4) or not np.isfinite(matrices).all():
            raise FormatError(
                "Blender gives no places for some poses of the rig",
                hint="look for constraints and drivers that fail in Blender",
                path=self.path,
            )
        turn, place = self.body.to_character[:3, :3], self.body.to_character[:3, 3]
        linear = turn @ matrices[..., :3]
        heads = matrices[..., 3] @ turn.T + place
        parents = self.skeleton.end_parents
        tips = heads[:, parents] + np.einsum("peij,ej->pei", linear[:, parents], self.body.tips)
        lengths = np.linalg.norm(linear, axis=-2, keepdims=True)
        turns = linear / np.maximum(lengths, 1e-9) @ self.body.rest.swapaxes(-1, -2)
        return turns, np.concatenate([heads, tips], axis=1)

    def _limited(self, values: Array) -> Array:
        return np.clip(np.asarray(values, np.float64), self.lower, self.upper)

    def jacobian(
        self,
        values: Array,
        columns: Array | None = None,
        *,
        step: float = _STEP,
        positions: Array | None = None,
    ) -> Array:
        """Derivatives by differences ahead; controls that move other joints share a pose.

        Parameters and result are those of `RigFunction.jacobian`.

        References
        ----------
        Curtis, Powell and Reid 1974, On the estimation of sparse Jacobian matrices.
        """
        values = np.asarray(values, np.float64)
        columns = np.arange(len(self.controls)) if columns is None else np.asarray(columns)
        base = self.evaluate(values) if positions is None else np.asarray(positions)
        base = base.reshape(len(values), len(self.joints), 3)
        together = self._together(columns)
        moves = np.zeros((len(values), len(together), len(self.controls)))
        # Away from the nearer limit.
        signs = np.where(values > 0.5 * (self.lower + self.upper), -step, step)
        for row, group in enumerate(together):
            moves[:, row, columns[group]] = signs[:, columns[group]]
        there = self.evaluate((values[:, None] + moves).reshape(-1, len(self.controls)))
        change = there.reshape(len(values), len(together), len(self.joints), 3) - base[:, None]
        found = np.zeros((len(values), len(self.joints), 3, len(columns)))
        for row, group in enumerate(together):
            for column in group.tolist():
                control = columns[column]
                moved = slice(None) if self.pattern is None else self.pattern[:, control]
                found[..., column][:, moved] = change[:, row, moved] / signs[:, control, None, None]
        return found.reshape(len(values), 3 * len(self.joints), len(columns))

    def _together(self, columns: Array) -> list[Array]:
        """Columns in groups that move no joint in common, by greedy colouring."""
        if self.pattern is None:
            return [np.array([column]) for column in range(len(columns))]
        moved = self.pattern[:, columns]
        groups: list[list[int]] = []
        taken: list[Array] = []
        for column in np.argsort(-moved.sum(axis=0), kind="stable").tolist():
            for row, joints in enumerate(taken):
                if not (joints & moved[:, column]).any():
                    groups[row].append(column)
                    joints |= moved[:, column]
                    break
            else:
                groups.append([column])
                taken.append(moved[:, column].copy())
        return [np.array(group) for group in groups]

    def learn_pattern(self, values: Array) -> Array:
        """Find which controls move which joints, from poses; returns their Jacobians.

        Parameters
        ----------
        values : (poses, controls)

        Returns
        -------
        (poses, 3 joints, controls)
        """
        self.pattern = None
        found = self.jacobian(values)
        sizes = np.abs(found).reshape(len(values), len(self.joints), 3, -1).max(axis=(0, 2))
        self.pattern = sizes > _NO_EFFECT * sizes.max(initial=1e-12)
        return found

    def own_motion(self, path: Path | None = None) -> tuple[Array, RootTrajectory, float]:
        """Values of the controls in every frame of the action in a file, placement and rate.

        Parameters
        ----------
        path
            A copy of the rig's file with other curves; the rig's file by default.

        Raises
        ------
        ParameterError
            If the file has no action.
        FormatError
            If it has another rig.
        """
        path = self.path if path is None else path
        with BlenderSession(path, self.seconds) as session:
            opened, arrays = self._prepared(session, path, motion=True, prune=False)
        rows = arrays.get("motion", np.empty((0, 0)))
        if not rows.size:
            raise ParameterError(
                "the rig in this file has no motion",
                path=path,
                hint="animate the rig, or give another file",
            )
        if not np.isfinite(rows).all():
            raise FormatError(
                "curves of the rig have values that are not numbers",
                hint="delete these keys in Blender's graph editor",
                path=path,
            )
        values, root = rows[:, :-16].copy(), rows[:, -16:].reshape(-1, 4, 4)
        # The place of the character over the ground, which is that of its hips at rest.
        there = TO_Y_UP @ root @ TO_Y_UP.T @ self._at_rest
        angles = np.unwrap(np.arctan2(there[:, 0, 2], there[:, 2, 2]))
        return (
            values,
            RootTrajectory.of_ground(there[:, [0, 2], 3], angles, there[:, 1, 3]),
            float(opened["fps"]),
        )

    @property
    def _at_rest(self) -> Array:
        """(4, 4) placement of the character in the world, Y up, at rest."""
        return np.asarray(TO_Y_UP @ np.linalg.inv(self.body.to_character))

    def save_keys(self, keys: RigKeys, path: str | Path, name: str = "motion") -> None:
        """Write the file of the rig with curves on its controls, or its armature as FBX.

        The placement of the character is keyed on the bone that carries the rig, else on the
        armature.

        Parameters
        ----------
        path
            A .blend or .fbx file. FBX has the deforming bones, with the motion of every frame, and
            their meshes.
        name
            Of the action.

        Raises
        ------
        FormatError
            If Blender cannot write the file.
        FormatError, ParameterError, CheckpointError
            As `check_curves_file`, and if the rig lacks a control.
        """
        path = Path(path)
        self.check_curves_file(path)
        if path.suffix.lower() == ".fbx":
            keys = keys.every_frame()
        values = replace(keys, rows=None).values_of(self)
        placement = replace(keys, placement_rows=None).trajectory()
        placed = np.tile(np.eye(4), (len(values), 1, 1))
        placed[:, :3, :3] = Rotation.from_quat(placement.rotations).as_matrix()
        placed[:, :3, 3] = placement.positions
        root = TO_Y_UP.T @ placed @ np.linalg.inv(self._at_rest) @ TO_Y_UP
        rate = max(1, round(keys.fps))
        nothing = np.empty(0, np.int64)
        group_of = {column: group for group, own in key_groups(self.names) for column in own}
        listed = [
            nothing if keys.rows is None else keys.rows.get(group_of[row], np.arange(len(values)))
            for row in range(len(self.names))
        ]
        listed.append(nothing if keys.placement_rows is None else keys.placement_rows)
        with temporary_folder() as folder:
            output = folder / f"curves{path.suffix.lower()}"
            with BlenderSession(self.path, self.seconds) as session:
                self._prepared(session, prune=False)
                session.ask(
                    {
                        "task": "save",
                        "path": str(output),
                        "fps": [rate, rate / keys.fps],
                        "clip": name,
                    },
                    {
                        "values": self._limited(values),
                        "root": root,
                        "rows": np.concatenate(listed),
                        "counts": np.array([len(each) for each in listed]),
                    },
                )
            content = output.read_bytes()
        with atomic_write(path) as file:
            file.write(content)

    def check_curves_file(self, path: Path) -> None:
        """Check before long work that `save_keys` can write a file.

        Raises
        ------
        FormatError
            If its suffix is neither .blend nor .fbx.
        ParameterError
            If it is the file of the rig itself.
        CheckpointError
            If it cannot be written.
        """
        if path.suffix.lower() not in CURVE_FILES:
            raise FormatError(
                f"curves of a rig cannot be written as {path.suffix or path.name}",
                hint=f"give a file name that ends in {' or '.join(CURVE_FILES)}",
                path=path,
            )
        if path.resolve() == self.path.resolve():
            raise ParameterError(
                "the curves would be written over the rig itself",
                hint="choose another file",
                path=path,
            )
        check_writable(path)

    def _opened(self) -> BlenderSession:
        if self._session is None or self._session.ended:
            session = BlenderSession(self.path, self.seconds)
            try:
                self._prepared(session)
            except BaseException:
                session.close()
                raise
            self._session = session
        return self._session

    def _prepared(
        self, session: BlenderSession, path: Path | None = None, **options: bool
    ) -> tuple[dict[str, Any], dict[str, Array]]:
        """Open the file in a session, or a copy of it; it must have the rig that this one is."""
        if path is None and _digest(self.path) != self.digest:
            raise FormatError(
                "the file of the rig was changed since the rig was trained",
                hint="train it again: deepphase train rig",
                path=self.path,
            )
        path = self.path if path is None else path
        opened, _ = session.ask({"task": "open", "path": str(path.resolve())})
        request = {"task": "use", "joints": list(self.skeleton.names), **options}
        world = {"world": self.body.world}
        missing = set(self.skeleton.names) - set(opened["names"])
        nothing: tuple[dict[str, Any], dict[str, Array]] = {"controls": []}, {}
        found, arrays = nothing if missing else session.ask(request, world)
        if [each["name"] for each in found["controls"]] != list(self.names):
            raise FormatError(
                "this is another rig than the one that was trained",
                hint="bones and constraints must be those of the trained rig, and Blender of the "
                "same version; else train again: deepphase train rig",
                path=path,
            )
        return opened, arrays


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FormatError(
            f"the rig cannot be read: {error.strerror or error}",
            hint="it must lie where it was when the rig was trained, or beside the .rig file",
            path=path,
        ) from None


def _controls(found: Mapping[str, Any], path: Path) -> tuple[list[Control], list[str], str]:
    if not found["controls"]:
        raise FormatError(
            "no bone of the armature is a control",
            hint="controls are bones that can be selected and are not locked or driven",
            path=path,
        )
    controls = [
        Control(each["name"], each["unit"], each["rest"], each["lower"], each["upper"])
        for each in found["controls"]
    ]
    groups = [str(each["group"]) for each in found["controls"]]
    return controls, groups, str(found["root"])
