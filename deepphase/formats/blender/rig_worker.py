"""Program that runs inside Blender's Python: evaluates the rig of a .blend file for its controls.

It is started by `deepphase.formats.blender.session`, reads requests from the standard input and
answers on the standard output (`array_messages`). It needs bpy and NumPy alone.
"""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import BinaryIO

# Distance of joints, in metres, by which a rig without its other parts may differ from the whole.
_SAME_M = 1e-4


def main() -> None:
    """Answer requests until the pipe is closed."""
    # What Blender prints must not be among the answers.
    answers = os.fdopen(os.dup(1), "wb")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    requests = os.fdopen(os.dup(0), "rb")
    sys.path.insert(0, str(Path(__file__).parent))
    if hasattr(os, "sched_setaffinity"):
        # One pose has too little work to share among threads: they would only wait for each other.
        # Several of these processes have a core each.
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})
    import array_messages
    from armature import refuse_network

    sys.addaudithook(refuse_network)
    try:
        _serve(requests, answers, array_messages)
    finally:
        # Blender's own clean-up may crash after the work is done.
        os._exit(0)


def _serve(requests: BinaryIO, answers: BinaryIO, messages) -> None:
    scene = None
    content: dict
    made: dict
    messages.begin(answers)
    while True:
        try:
            request, arrays = messages.receive(requests)
        except EOFError:
            return
        try:
            if request["task"] == "make":
                content, made = make_rig(request), {}
            elif scene is None:
                scene = RigScene(request["path"])
                content, made = scene.description()
            else:
                content, made = getattr(scene, request["task"])(request, arrays)
        except Exception as error:
            content, made = {"error": f"{type(error).__name__}: {str(error).strip()[-400:]}"}, {}
        messages.send(answers, content, made)


def make_rig(request: dict) -> dict:
    """Generate the rig of one of Rigify's own skeletons and save it."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    # Registered as the user would: its properties exist only then, and rigs need them.
    bpy.ops.preferences.addon_enable(module="rigify")
    getattr(bpy.ops.object, f"armature_{request['kind']}_metarig_add")()
    skeleton = bpy.context.object
    bpy.ops.pose.rigify_generate()
    bpy.data.objects.remove(skeleton)
    bpy.ops.wm.save_as_mainfile(filepath=request["path"], check_existing=False, compress=True)
    rig = max(
        (each for each in bpy.data.objects if each.type == "ARMATURE"),
        key=lambda each: len(each.data.bones),
    )
    return {"bones": len(rig.data.bones), "version": bpy.app.version_string}


class RigScene:
    """The armature with the most bones in a .blend file."""

    def __init__(self, path: str) -> None:
        import bpy
        from armature import largest_armature, rigify_parameters

        bpy.ops.wm.read_factory_settings(use_empty=True)
        rigify_parameters()
        bpy.ops.wm.open_mainfile(filepath=path, load_ui=False, use_scripts=False)
        self.rig, self.armatures = largest_armature()
        self.layer = bpy.context.view_layer
        self.layer.update()
        self.rest_world = self.rig.matrix_world.copy()
        self.controls: list = []
        self.columns: dict = {}
        self.root = None

    def description(self) -> tuple[dict, dict]:
        """Deforming bones, all of whose parents are before them, and their places at rest."""
        import bpy
        import numpy as np
        from armature import deforming_bones

        bones = self.rig.data.bones
        ordered, parents = deforming_bones(bones)
        world = self.rig.matrix_world
        rest = [np.array(world @ bones[name].matrix_local) for name in ordered]
        tails = [np.array(world @ bones[name].tail_local) for name in ordered]
        render = bpy.context.scene.render
        content = {
            "armature": self.rig.name,
            "armatures": self.armatures,
            "version": bpy.app.version_string,
            "names": ordered,
            "parents": parents,
            "fps": render.fps / render.fps_base,
        }
        return content, {
            "rest": np.array(rest),
            "tails": np.array(tails),
            "world": np.array(self.rest_world),
        }

    def use(self, request: dict, arrays: dict) -> tuple[dict, dict]:
        """Choose the joints to evaluate, read the motion of the file, and find the controls."""
        from controls import influences
        from mathutils import Matrix

        self.joints = list(request["joints"])
        if "world" in arrays:
            # A copy of the file may stand elsewhere in the frame that it was saved in.
            self.rest_world = Matrix(arrays["world"].tolist())
        kept = influences(self.rig, self.joints)
        self._find_controls(kept)
        data = self.rig.animation_data
        action = None if data is None else data.action
        self.root = self._root_bone()
        if self.root is not None:
            # It has the place of the character, and is not a control of the pose.
            self.controls = [
                each
                for each in self.controls
                if each["bone"] != self.root.name or each["channel"] == "property"
            ]
            self._order_controls()
        motion = None
        if request.get("motion") and action is not None:
            data.action = action
            motion = self.motion()
        self._at_rest()
        if request.get("prune", True):
            self._prune(kept)
        self._index()
        content = {
            "controls": [
                {key: each[key] for key in ("name", "unit", "rest", "lower", "upper", "group")}
                for each in self.controls
            ],
            "root": "" if self.root is None else self.root.name,
            "bones": len(self.rig.data.bones),
        }
        return content, {} if motion is None else {"motion": motion}

    def evaluate(self, request: dict, arrays: dict) -> tuple[dict, dict]:
        """(poses, joints, 3, 4) matrices of the joints in the world."""
        import numpy as np

        values = arrays["values"]
        made = np.empty((len(values), len(self.joints), 3, 4))
        for row, pose in enumerate(values):
            self._pose(pose)
            made[row] = self._matrices()
        return {}, {"matrices": made}

    def save(self, request: dict, arrays: dict) -> tuple[dict, dict]:
        """Key curves on the controls, and write the file, or the armature as FBX."""
        import bpy
        import numpy as np
        from curves import export_fbx

        values, root = arrays["values"], arrays["root"]
        scene = bpy.context.scene
        scene.render.fps, scene.render.fps_base = request["fps"]
        scene.frame_start, scene.frame_end = 1, len(values)
        path = request["path"]
        with_rest = path.lower().endswith(".fbx")
        self._at_rest()
        # Without a mesh, FBX takes the pose of the current frame as the rest pose.
        times = np.arange(0 if with_rest else 1, len(values) + 1, dtype=np.float64)
        rest = np.array([each["rest"] for each in self.controls])
        if with_rest:
            values = np.concatenate([rest[None], values])
            root = np.concatenate([np.eye(4)[None], root])
        action = bpy.data.actions.new(request["clip"][:60] or "motion")
        if self.rig.animation_data is None:
            self.rig.animation_data_create()
        self.rig.animation_data.action = action
        # Keys of each control and of the root; none for a key in every frame.
        starts = np.cumsum(arrays["counts"]).astype(int)[:-1]
        rows = np.split(arrays["rows"].astype(int), starts)
        if with_rest:
            rows = [each[:0] for each in rows]
        self._key_root(action, times, root, rows[-1])
        self._key_controls(action, times, values, rest, rows)
        if with_rest:
            scene.frame_set(0)
            self._select_body()
            deforms = any(bone.use_deform for bone in self.rig.data.bones)
            export_fbx(
                path,
                use_selection=True,
                object_types={"ARMATURE", "MESH"},
                use_armature_deform_only=deforms,
            )
        else:
            scene.frame_set(1)
            # The file is moved from here: paths to pictures that begin at its folder would break.
            bpy.ops.file.make_paths_absolute()
            bpy.ops.wm.save_as_mainfile(
                filepath=path, check_existing=False, compress=True, relative_remap=False
            )
        return {}, {}

    def _select_body(self) -> None:
        """Select the armature and the objects that it deforms."""
        import bpy

        bpy.ops.object.select_all(action="DESELECT")
        for each in bpy.data.objects:
            bound = any(
                modifier.type == "ARMATURE" and modifier.object is self.rig
                for modifier in each.modifiers
            )
            if each is self.rig or bound:
                each.hide_set(False)
                each.select_set(True)
        bpy.context.view_layer.objects.active = self.rig

    def motion(self):
        """(frames, controls and 16) values of the file's own action, and the root's matrices."""
        import bpy
        import numpy as np
        from armature import MAX_FRAMES, frame_range

        scene = bpy.context.scene
        first, last = frame_range(self.rig, scene)
        if last - first + 1 > MAX_FRAMES:
            raise ValueError(f"{last - first + 1:,} frames")
        rows = []
        for frame in range(first, last + 1):
            scene.frame_set(frame)
            values = [self._value(each) for each in self.controls]
            rows.append([*values, *np.array(self._root_matrix()).ravel()])
        made = np.array(rows)
        for (name, channel), (columns, axes) in self.columns.items():
            mode = self.rig.pose.bones[name].rotation_mode
            if channel == "rotation" and mode == "QUATERNION" and len(axes) == 3:
                _continue_vectors(made, columns)
        return made

    def _find_controls(self, kept: set) -> None:
        from controls import found_controls

        self.controls = found_controls(self.rig, kept)
        self._order_controls()

    def _order_controls(self) -> None:
        # Values of one property of Blender are set together.
        self.channel_of = [(each["bone"], each["channel"]) for each in self.controls]
        self.columns = {name: ([], []) for name in self.channel_of}
        for column, (each, name) in enumerate(zip(self.controls, self.channel_of, strict=True)):
            columns, axes = self.columns[name]
            columns.append(column)
            axes.append(each["axis"])

    def _root_bone(self):
        """The control that carries all joints without turning or bending any, if there is one."""
        import numpy as np
        from mathutils import Matrix

        names = {each["bone"] for each in self.controls if each["channel"] == "rotation"}
        moved = Matrix.Translation((0.3, -0.2, 0.1)) @ Matrix.Rotation(0.4, 4, "Z")
        for bone in self.rig.pose.bones:
            if bone.name not in names or bone.parent is not None or bone.constraints:
                continue
            self._at_rest()
            before, basis = self._world_places(), bone.matrix_basis.copy()
            self._place_root(bone, moved)
            after = self._world_places()
            # What is locked is not a control, and would not go back to rest.
            bone.matrix_basis = basis
            self._at_rest()
            wanted = before @ np.array(moved)[:3, :3].T + np.array(moved)[:3, 3]
            if np.abs(after - wanted).max() < 1e-3:
                return bone
        return None

    def _world_places(self):
        import numpy as np

        world = self.rig.matrix_world
        bones = self.rig.pose.bones
        return np.array([(world @ bones[name].matrix).translation[:] for name in self.joints])

    def _place_root(self, bone, moved) -> None:
        """Move a bone without parent as the whole rig would move in the world."""
        world, rest = self.rig.matrix_world, bone.bone.matrix_local
        basis = rest.inverted() @ world.inverted() @ moved @ world @ rest
        bone.location = basis.translation
        _set_turn(bone, basis.to_quaternion())
        self.layer.update()

    def _root_matrix(self):
        """How the whole rig is moved in the world, by its root and as an object."""
        world, back = self.rig.matrix_world, self.rest_world.inverted()
        if self.root is None:
            return world @ back
        rest = self.root.bone.matrix_local
        return world @ rest @ self.root.matrix_basis @ rest.inverted() @ back

    def _at_rest(self) -> None:
        """Leave the file's motion, and put all controls to rest."""
        data = self.rig.animation_data
        if data is not None:
            data.action = None
            for track in data.nla_tracks:
                track.mute = True
        self.rig.matrix_world = self.rest_world
        rest = [each["rest"] for each in self.controls]
        for (bone, channel), (columns, axes) in self.columns.items():
            values = [rest[column] for column in columns]
            _set_channel(self.rig.pose.bones[bone], channel, axes, values)
        self.last = None
        self.rig.update_tag()
        self.layer.update()

    def _prune(self, kept: set) -> None:
        """Remove what the joints do not depend on: poses are evaluated several times faster.

        The whole rig is loaded again if the joints are not where they were.
        """
        import bpy
        import numpy as np
        from controls import bone_of

        trials = self._trial_poses()
        before = [self._trial(pose) for pose in trials]
        used = {
            target
            for bone in self.rig.pose.bones
            if bone.name in kept
            for constraint in bone.constraints
            for target in [
                getattr(constraint, "target", None),
                getattr(constraint, "pole_target", None),
                *(each.target for each in getattr(constraint, "targets", [])),
            ]
        }
        if used - {None, self.rig}:
            # Other objects may depend on any bone.
            return
        path = bpy.data.filepath
        for each in list(bpy.data.objects):
            if each is not self.rig and each is not self.rig.parent:
                bpy.data.objects.remove(each)
        self.layer.objects.active = self.rig
        self.rig.hide_set(False)
        bpy.ops.object.mode_set(mode="EDIT")
        for bone in list(self.rig.data.edit_bones):
            if bone.name not in kept:
                self.rig.data.edit_bones.remove(bone)
        bpy.ops.object.mode_set(mode="OBJECT")
        data = self.rig.animation_data
        for curve in [] if data is None else list(data.drivers):
            name = bone_of(curve.data_path)
            if name and name not in kept:
                data.drivers.remove(curve)
        if not any(
            getattr(constraint, "use_bbone_shape", False)
            for bone in self.rig.pose.bones
            for constraint in bone.constraints
        ):
            for bone in self.rig.data.bones:
                bone.bbone_segments = 1
        self.root = None if self.root is None else self.rig.pose.bones[self.root.name]
        after = [self._trial(pose) for pose in trials]
        self._at_rest()
        if np.abs(np.array(after) - before).max() > _SAME_M:
            controls, root = self.controls, self.root and self.root.name
            self.__init__(path)  # type: ignore[misc]
            self.controls, self.root = controls, root and self.rig.pose.bones[root]
            self._order_controls()
            self._at_rest()

    def _trial_poses(self) -> list:
        import numpy as np

        rng = np.random.default_rng(0)
        rest = np.array([each["rest"] for each in self.controls])
        spread = np.array([0.3 if each["unit"] == "rad" else 0.1 for each in self.controls])
        return [rest, *(rest + spread * rng.standard_normal(len(rest)) for _ in range(3))]

    def _trial(self, pose):
        import numpy as np

        limits = [(each["lower"], each["upper"]) for each in self.controls]
        self.last = None
        self._pose(np.clip(pose, *np.array(limits).T))
        return self._world_places()

    def _index(self) -> None:
        import numpy as np

        bones = self.rig.pose.bones
        row = {bone.name: place for place, bone in enumerate(bones)}
        self.rows = np.array([row[name] for name in self.joints])
        self.buffer = np.empty(16 * len(bones), np.float32)
        self.world = np.array(self.rig.matrix_world)

    def _matrices(self):
        self.rig.pose.bones.foreach_get("matrix", self.buffer)
        # Matrices are given by columns.
        local = self.buffer.reshape(-1, 4, 4)[self.rows].swapaxes(1, 2)
        return (self.world @ local)[:, :3]

    def _pose(self, values) -> None:
        changed = range(len(values)) if self.last is None else (values != self.last).nonzero()[0]
        properties = self.last is None
        channels = {self.channel_of[column] for column in changed}
        for bone, channel in channels:
            columns, axes = self.columns[bone, channel]
            properties |= channel == "property"
            _set_channel(self.rig.pose.bones[bone], channel, axes, values[columns])
        self.last = values.copy()
        if properties:
            # Blender does not notice that drivers have to be evaluated.
            self.rig.update_tag()
        self.layer.update()

    def _value(self, control: dict) -> float:
        bone = self.rig.pose.bones[control["bone"]]
        channel, axis = control["channel"], control["axis"]
        if channel == "property":
            return float(bone[axis])
        if channel == "rotation":
            if bone.rotation_mode in ("QUATERNION", "AXIS_ANGLE"):
                return float(_turn_vector(bone)[axis])
            return float(bone.rotation_euler[axis])
        return float(getattr(bone, channel)[axis])

    def _key_root(self, action, times, moved, rows) -> None:
        """Key the path of the character on the root control, else on the armature."""
        import numpy as np
        from controls import escaped
        from curves import key_curves
        from mathutils import Matrix

        world = np.array(self.rest_world)
        if self.root is None:
            base, target = "", self.rig
            self.rig.rotation_mode = "QUATERNION"
            matrices = moved @ world
        else:
            base, target = f'pose.bones["{escaped(self.root.name)}"].', self.root
            rest = world @ np.array(self.root.bone.matrix_local)
            matrices = np.linalg.inv(rest) @ moved @ rest
        key_curves(action, self.rig, f"{base}location", times, matrices[:, :3, 3], rows)
        turns = np.array([Matrix(each[:3, :3]).to_quaternion() for each in matrices])
        self._key_turns(action, target, base, times, turns, rows)

    def _key_turns(self, action, target, base: str, times, turns, rows) -> None:
        """Curves of turns (frames, 4) in the mode of a bone or object."""
        import numpy as np
        from curves import continuous_turns, key_curves
        from mathutils import Quaternion

        turns = continuous_turns(turns)
        mode = target.rotation_mode
        if mode == "QUATERNION":
            key_curves(action, self.rig, f"{base}rotation_quaternion", times, turns, rows)
        elif mode == "AXIS_ANGLE":
            pairs = [Quaternion(each).to_axis_angle() for each in turns]
            four = np.array([[angle, *axis] for axis, angle in pairs])
            key_curves(action, self.rig, f"{base}rotation_axis_angle", times, four, rows)
        else:
            angles, last = [], None
            for each in turns:
                quaternion = Quaternion(each)
                last = (
                    quaternion.to_euler(mode) if last is None else quaternion.to_euler(mode, last)
                )
                angles.append(last[:])
            key_curves(action, self.rig, f"{base}rotation_euler", times, np.array(angles), rows)

    def _key_controls(self, action, times, values, rest, rows) -> None:
        """Curves of all channels that move or do not rest."""
        import numpy as np
        from controls import escaped, turn_path
        from curves import key_curves
        from mathutils import Quaternion

        for (name, channel), (columns, axes) in self.columns.items():
            bone = self.rig.pose.bones[name]
            if self.root is not None and name == self.root.name and channel != "property":
                continue
            base = f'pose.bones["{escaped(name)}"]'
            if np.abs(values[:, columns] - rest[columns]).max() < 1e-6:
                continue
            if channel == "property":
                for column, key in zip(columns, axes, strict=True):
                    path = f'{base}["{escaped(key)}"]'
                    key_curves(
                        action, self.rig, path, times, values[:, [column]], rows[column], [0]
                    )
                continue
            if channel != "rotation" or bone.rotation_mode not in ("QUATERNION", "AXIS_ANGLE"):
                path = turn_path(bone) if channel == "rotation" else channel
                moved, keyed = values[:, columns], rows[columns[0]]
                key_curves(action, self.rig, f"{base}.{path}", times, moved, keyed, axes)
                continue
            vectors = np.zeros((len(values), 3))
            vectors[:, axes] = values[:, columns]
            angles = np.linalg.norm(vectors, axis=1)
            turns = np.array(
                [
                    Quaternion(vector / angle if angle > 1e-9 else (0, 0, 1), angle)
                    for vector, angle in zip(vectors, angles.tolist(), strict=True)
                ]
            )
            self._key_turns(action, bone, f"{base}.", times, turns, rows[columns[0]])


def _continue_vectors(rows, columns: list) -> None:
    """Choose of the two vectors of each turn the one that is nearer to the frame before."""
    import numpy as np

    for row in range(1, len(rows)):
        vector = rows[row, columns]
        angle = float(np.linalg.norm(vector))
        if angle > 1e-6:
            other = vector * (1.0 - 2.0 * np.pi / angle)
            last = rows[row - 1, columns]
            if np.linalg.norm(other - last) < np.linalg.norm(vector - last):
                rows[row, columns] = other


def _turn_vector(bone) -> list:
    """Rotation vector of a bone that has no angles."""
    if bone.rotation_mode == "AXIS_ANGLE":
        angle, *axis = bone.rotation_axis_angle
        return [angle * each for each in axis]
    # Not by the cosine of the angle, which does not show small ones in single precision.
    cosine, *axis = bone.rotation_quaternion
    sine = math.hypot(*axis)
    share = 2.0 * math.atan2(sine, cosine) / sine if sine > 1e-12 else 2.0
    return [share * each for each in axis]


def _set_channel(bone, channel: str, axes: list, values) -> None:
    """Set some axes of a channel; the others are at rest."""
    from controls import CHANNELS

    if channel == "property":
        for key, value in zip(axes, values, strict=True):
            bone[key] = float(value)
        return
    vector = [CHANNELS[channel][2]] * 3
    for axis, value in zip(axes, values, strict=True):
        vector[axis] = float(value)
    if channel != "rotation":
        setattr(bone, channel, vector)
    elif bone.rotation_mode in ("QUATERNION", "AXIS_ANGLE"):
        _set_turn_vector(bone, vector)
    else:
        bone.rotation_euler = vector


def _set_turn_vector(bone, vector: list) -> None:
    from mathutils import Quaternion, Vector

    if bone.rotation_mode == "AXIS_ANGLE":
        angle = Vector(vector).length
        axis = Vector(vector) / angle if angle > 1e-9 else Vector((0.0, 1.0, 0.0))
        bone.rotation_axis_angle = (angle, *axis)
    else:
        bone.rotation_quaternion = Quaternion(Vector(vector))


def _set_turn(bone, quaternion) -> None:
    if bone.rotation_mode == "QUATERNION":
        bone.rotation_quaternion = quaternion
    elif bone.rotation_mode == "AXIS_ANGLE":
        axis, angle = quaternion.to_axis_angle()
        bone.rotation_axis_angle = (angle, *axis)
    else:
        bone.rotation_euler = quaternion.to_euler(bone.rotation_mode)


if __name__ == "__main__":
    main()
