"""Program that runs inside Blender's Python: reads and writes files of armatures.

It is started by `deepphase.formats.blender.bridge` with a folder: `request.json` and `in.npz` are
read, `answer.json` and `out.npz`, or the file, are written. It needs bpy and NumPy alone.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

# Axes of FBX files that state none: Y up.
_AXES = {
    b"CoordAxis": 0,
    b"CoordAxisSign": 1,
    b"UpAxis": 1,
    b"UpAxisSign": 1,
    b"FrontAxis": 2,
    b"FrontAxisSign": 1,
}


def main(folder: Path) -> None:
    """Answer the request in a folder."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    try:
        sys.path.insert(0, str(Path(__file__).parent))
        from armature import refuse_network

        sys.addaudithook(refuse_network)
        import bpy

        bpy.ops.wm.read_factory_settings(use_empty=True)
        answer = _read(request, folder) if request["task"] == "read" else _write(request, folder)
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {str(error).strip()[-400:]}"}
    (folder / "answer.json").write_text(json.dumps(answer), encoding="utf-8")
    sys.stdout.flush()
    # Blender's own clean-up may crash after the work is done.
    os._exit(0)


def _read(request: dict, folder: Path) -> dict:
    import bpy
    import numpy as np
    from armature import (
        MAX_FRAMES,
        deforming_bones,
        frame_range,
        largest_armature,
        rigify_parameters,
    )

    path, axes = request["path"], []
    if path.lower().endswith(".blend"):
        rigify_parameters()
        bpy.ops.wm.open_mainfile(filepath=path, load_ui=False, use_scripts=False)
    else:
        axes = _import_fbx(path)
    armature, armatures = largest_armature()
    if not path.lower().endswith(".blend"):
        _free_bones(armature)
    # Controls and helpers of a rig carry no body.
    names, parents = deforming_bones(armature.data.bones)
    bones = [armature.data.bones[name] for name in names]
    scene = bpy.context.scene
    first, last = frame_range(armature, scene)
    if last - first + 1 > MAX_FRAMES:
        return {"error": f"{last - first + 1:,} frames", "kind": "content"}
    object_world = armature.matrix_world.copy()
    rest = np.array([np.array(object_world @ bone.matrix_local) for bone in bones])
    poses = np.empty((last - first + 1, len(bones), 4, 4))
    pose_bones = [armature.pose.bones[name] for name in names]
    for row, frame in enumerate(range(first, last + 1)):
        scene.frame_set(frame)
        world = np.array(armature.matrix_world)
        for column, bone in enumerate(pose_bones):
            poses[row, column] = world @ np.array(bone.matrix)
    np.savez(folder / "out.npz", rest=rest, poses=poses, parents=np.array(parents))
    return {
        "names": names,
        "fps": scene.render.fps / scene.render.fps_base,
        "axes": axes,
        "armature": armature.name,
        "armatures": armatures,
        "bones": len(armature.data.bones),
        "version": bpy.app.version_string,
    }


def _import_fbx(path: str) -> list:
    """Import an FBX file as if it had Y up, and return its axes, see `load_blender`.

    Blender's importer has no left-handed axes, and moves the joints below an object by its
    geometric transform, which by the format is that of its mesh alone.
    """
    import bpy
    from io_scene_fbx import parse_fbx

    parse, found = parse_fbx.parse, dict(_AXES)

    def parsed(*arguments, **options):
        tree, version = parse(*arguments, **options)
        for section in tree.elems:
            if section.id == b"GlobalSettings":
                for row in _rows(section):
                    if row.props[0] in found:
                        found[row.props[0]], row.props[4] = row.props[4], _AXES[row.props[0]]
            elif section.id == b"Objects":
                for each in section.elems:
                    if each.id == b"Model":
                        rows = _rows(each)
                        rows[:] = [row for row in rows if not row.props[0].startswith(b"Geometric")]
        return tree, version

    parse_fbx.parse = parsed
    bpy.ops.import_scene.fbx(
        filepath=path, use_image_search=False, use_custom_normals=False, anim_offset=0.0
    )
    return [int(each) for each in found.values()]


def _rows(node) -> list:
    """The properties of a node of an FBX file."""
    return next((each.elems for each in node.elems if each.id == b"Properties70"), [])


def _free_bones(armature) -> None:
    """Let bones move: the importer connects those at their parents' tails, which holds them."""
    import bpy

    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in armature.data.edit_bones:
        bone.use_connect = False
    bpy.ops.object.mode_set(mode="OBJECT")


def _write(request: dict, folder: Path) -> dict:
    import bpy
    import numpy as np
    from curves import continuous_turns, export_fbx, key_curves
    from mathutils import Matrix

    arrays = np.load(folder / "in.npz", allow_pickle=False)
    names, parents = request["names"], arrays["parents"].tolist()
    heads, tails = arrays["heads"], arrays["tails"]
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = request["fps"]
    scene.frame_start, scene.frame_end = 1, len(arrays["positions"])
    data = bpy.data.armatures.new("Armature")
    armature = bpy.data.objects.new("Armature", data)
    scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    made: list = []
    for name, parent, head, tail in zip(names, parents, heads, tails, strict=True):
        bone = data.edit_bones.new(name)
        bone.head, bone.tail = head, tail
        if parent >= 0:
            bone.parent = made[parent]
        made.append(bone)
    kept = [bone.name for bone in made]
    bpy.ops.object.mode_set(mode="OBJECT")
    if kept != names or len(data.bones) != len(names):
        return {"error": "Blender renamed or removed bones: names are too long or alike"}
    rest = np.array([np.array(data.bones[name].matrix_local) for name in names])
    poses = np.zeros((len(arrays["positions"]), len(names), 4, 4))
    poses[..., :3, :3] = arrays["rotations"] @ rest[:, :3, :3]
    poses[..., :3, 3], poses[..., 3, 3] = arrays["positions"], 1.0
    action = bpy.data.actions.new(request["clip"][:60] or "motion")
    armature.animation_data_create().action = action
    # Without a mesh, FBX takes the pose of the current frame as the rest pose: that of frame 0,
    # before the motion.
    with_rest = request["output"].endswith(".fbx")
    times = np.arange(0 if with_rest else 1, len(poses) + 1, dtype=np.float64)
    back = np.linalg.inv(rest)
    for column, (name, parent) in enumerate(zip(names, parents, strict=True)):
        pose_bone = armature.pose.bones[name]
        pose_bone.rotation_mode = "QUATERNION"
        if parent < 0:
            basis = back[column] @ poses[:, column]
        else:
            local = np.linalg.inv(poses[:, parent]) @ poses[:, column]
            basis = np.linalg.inv(back[parent] @ rest[column]) @ local
        turns = np.array([Matrix(each[:3, :3]).to_quaternion() for each in basis])
        turns = continuous_turns(turns)
        places = basis[:, :3, 3]
        if with_rest:
            turns = np.concatenate([[[1.0, 0.0, 0.0, 0.0]], turns])
            places = np.concatenate([np.zeros((1, 3)), places])
        base = f'pose.bones["{bpy.utils.escape_identifier(name)}"].'
        for path, values in (("rotation_quaternion", turns), ("location", places)):
            key_curves(action, armature, base + path, times, values)
    path = str(folder / request["output"])
    if path.endswith(".blend"):
        bpy.ops.wm.save_as_mainfile(filepath=path, check_existing=False)
    else:
        scene.frame_set(0)
        export_fbx(path, object_types={"ARMATURE"})
    return {"version": bpy.app.version_string}


if __name__ == "__main__":
    main(Path(sys.argv[-1]))
