"""Program that runs inside Blender's Python: FBX to .glb and back.

It is started by `deepphase.formats.fbx` with a folder: `request.json` and `in.glb` are read,
`answer.json` and `out.glb` or `out.fbx` are written. It needs bpy alone, and ends when its standard
input is closed, or the time is over.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import threading
from pathlib import Path

_MAX_BONES, _MAX_FRAMES, _TIME_LIMIT_S = 10_000, 200_000, 330


def main(folder: Path) -> None:
    """Answer the request in a folder."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # In a thread that needs no Python, where Blender holds all others.
    faulthandler.dump_traceback_later(_TIME_LIMIT_S, exit=True)
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    try:
        sys.addaudithook(_refuse_network)
        import bpy

        bpy.ops.wm.read_factory_settings(use_empty=True)
        answer = _read(request, folder) if request["task"] == "read" else _write(request, folder)
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {str(error).strip()[-400:]}"}
    (folder / "answer.json").write_text(json.dumps(answer), encoding="utf-8")
    # Blender's own clean-up may crash after the work is done.
    os._exit(0)


def _end_with_parent() -> None:
    os.read(0, 1)
    os._exit(1)


def _refuse_network(event: str, arguments: tuple) -> None:
    if event in ("socket.connect", "socket.bind", "socket.getaddrinfo"):
        raise PermissionError("no network in this process")


def _read(request: dict, folder: Path) -> dict:
    import bpy

    _import_fbx(request["input"])
    scene = bpy.context.scene
    found = [thing for thing in bpy.data.objects if thing.type == "ARMATURE" and thing.data.bones]
    if not found:
        raise ValueError("no armature in the file")
    armature = max(found, key=lambda each: len(each.data.bones))
    if len(armature.data.bones) > _MAX_BONES:
        raise ValueError(f"{len(armature.data.bones):,} bones")
    notes = [f"armature {armature.name!r}, read by Blender {bpy.app.version_string}"]
    if len(found) > 1:
        notes.append(f"the largest of {len(found)} armatures was read")
    motion = armature.animation_data
    scene.frame_start = scene.frame_end = 0
    if motion is not None and motion.action is not None:
        first, last = motion.action.frame_range
        scene.frame_start, scene.frame_end = round(first), max(round(first), round(last))
    frames = scene.frame_end - scene.frame_start + 1
    if frames > _MAX_FRAMES:
        raise ValueError(f"{frames:,} frames")
    notes += _keep_one_tree(armature)
    _select_with_skin(armature)
    fps = scene.render.fps / scene.render.fps_base
    scene.render.fps_base = 1.0
    bpy.ops.export_scene.gltf(
        filepath=str(folder / "out.glb"),
        use_selection=True,
        export_def_bones=False,
        export_rest_position_armature=True,
        export_animation_mode="ACTIVE_ACTIONS",
        export_force_sampling=True,
        export_optimize_animation_size=False,
        export_frame_range=True,
        export_anim_slide_to_zero=True,
        export_morph=False,
        export_materials="NONE",
    )
    return {"fps": fps, "whole_fps": scene.render.fps, "notes": notes}


def _import_fbx(path: str) -> None:
    """Import an FBX file without the geometric transforms, by which Blender would move joints."""
    import bpy
    from io_scene_fbx import parse_fbx

    parse, settings = parse_fbx.parse, {}

    def parsed(*arguments, **options):
        tree, version = parse(*arguments, **options)
        for section in tree.elems:
            if section.id == b"GlobalSettings":
                settings.update({row.props[0]: row.props[-1] for row in _rows(section)})
            elif section.id == b"Objects":
                for model in section.elems:
                    rows = _rows(model) if model.id == b"Model" else []
                    rows[:] = [row for row in rows if not row.props[0].startswith(b"Geometric")]
        return tree, version

    parse_fbx.parse = parsed
    bpy.ops.import_scene.fbx(
        filepath=path, use_image_search=False, use_custom_normals=False, anim_offset=0.0
    )
    # Y up where the file states no axes.
    coord, up, front = (
        settings.get(name, axis)
        for axis, name in enumerate((b"CoordAxis", b"UpAxis", b"FrontAxis"))
    )
    turned = (up - coord) % 3 == 1 and (front - up) % 3 == 1
    signs = [settings.get(name + b"Sign", 1) for name in (b"CoordAxis", b"UpAxis", b"FrontAxis")]
    if len({coord, up, front}) == 3 and turned == (signs.count(-1) % 2 == 1):
        # Blender would read a mirror image.
        raise ValueError("left-handed axes: export the file again with right-handed ones")


def _rows(node) -> list:
    """The properties of a node of an FBX file."""
    return next((child.elems for child in node.elems if child.id == b"Properties70"), [])


def _keep_one_tree(armature) -> list:
    """Remove all bones but the largest tree's, and let those move; return notes."""
    import bpy

    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    roots = [bone for bone in bones if bone.parent is None]
    sizes = {root.name: 1 + len(root.children_recursive) for root in roots}
    kept = max(roots, key=lambda root: sizes[root.name])
    notes = []
    if len(roots) > 1:
        others = [root.name for root in roots if root != kept]
        listed = ", ".join(others[:4]) + (", ..." if len(others) > 4 else "")
        notes = [
            f"{len(roots)} bones have no parent: the {sizes[kept.name]} bones of {kept.name!r} "
            f"were read, and {len(bones) - sizes[kept.name]} of {listed} left out"
        ]
    for root in roots:
        for bone in (*root.children_recursive, root):
            bone.use_connect = False
            if root != kept:
                bones.remove(bone)
    bpy.ops.object.mode_set(mode="OBJECT")
    return notes


def _select_with_skin(armature) -> None:
    """Select an armature, and a mesh whose skin names its bones as the joints of the .glb."""
    import bpy

    mesh = bpy.data.meshes.new("joints")
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
    skin = bpy.data.objects.new("joints", mesh)
    bpy.context.scene.collection.objects.link(skin)
    skin.parent = armature
    skin.modifiers.new("armature", "ARMATURE").object = armature
    for bone in armature.data.bones:
        skin.vertex_groups.new(name=bone.name).add([0, 1, 2], 1.0, "REPLACE")
    bpy.ops.object.select_all(action="DESELECT")
    armature.select_set(True)
    skin.select_set(True)


def _write(request: dict, folder: Path) -> dict:
    import bpy

    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = request["fps"][0], 1.0
    bpy.ops.import_scene.gltf(filepath=str(folder / "in.glb"), disable_bone_shape=True)
    scene.render.fps_base = request["fps"][1]
    scene.frame_start, scene.frame_end = 0, request["frames"] - 1
    bpy.ops.export_scene.fbx(
        filepath=str(folder / "out.fbx"),
        object_types={"ARMATURE", "MESH"},
        add_leaf_bones=False,
        bake_anim=True,
        bake_anim_use_all_bones=True,
        bake_anim_use_nla_strips=False,
        bake_anim_use_all_actions=False,
        bake_anim_simplify_factor=0.0,
    )
    return {}


if __name__ == "__main__":
    main(Path(sys.argv[-1]))
