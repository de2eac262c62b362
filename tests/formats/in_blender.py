"""What Blender plays: python in_blender.py, with a JSON list of [file, fps, frames] as its input.

Its last line is JSON, of each file: the bones, their positions (frames, bones, 3) in metres, Y up,
and how much farther any vertex of the skinned mesh gets from its bone than at rest, or null.
"""

import json
import sys

import bpy
import numpy as np


def played(file, fps, frames):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps, first = round(fps), 0
    if file.endswith(".bvh"):
        first = 1  # The importer begins no earlier.
        bpy.ops.import_anim.bvh(filepath=file, frame_start=first)
    elif file.endswith(".fbx"):
        bpy.ops.import_scene.fbx(filepath=file, anim_offset=0.0)
    else:
        bpy.ops.import_scene.gltf(filepath=file)
    armatures = [each for each in bpy.data.objects if each.type == "ARMATURE"]
    armature = max(armatures, key=lambda each: len(each.data.bones))
    names = list(armature.data.bones.keys())
    mesh = next((each for each in armature.children if each.vertex_groups), None)
    places, gaps = [[armature.matrix_world @ bone.head_local for bone in armature.data.bones]], []
    for frame in (None, *frames):
        vertices = mesh.data.vertices if mesh else ()
        if frame is not None:
            scene.frame_set(first + frame)
            places.append([armature.matrix_world @ bone.head for bone in armature.pose.bones])
            if mesh:
                now = bpy.context.evaluated_depsgraph_get()
                vertices = mesh.evaluated_get(now).data.vertices
        if mesh:
            owners = [names.index(group.name) for group in mesh.vertex_groups]
            owners = [owners[each.groups[0].group] for each in mesh.data.vertices]
            corners = np.array([mesh.matrix_world @ each.co for each in vertices])
            gaps.append(np.linalg.norm(corners - np.array(places[-1])[owners], axis=-1))
    x, y, z = np.moveaxis(np.array(places[1:]), -1, 0)
    torn = float((np.array(gaps[1:]) - gaps[0]).max()) if gaps else None
    return {"bones": names, "positions": np.stack([x, z, -y], axis=-1).tolist(), "torn": torn}


answers = [played(*asked) for asked in json.load(sys.stdin)]
print("\n" + json.dumps(answers))
