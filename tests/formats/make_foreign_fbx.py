"""Program for Blender's Python: writes an FBX file as other programs would.

python make_foreign_fbx.py FILE.fbx FOLDER
"""

import os
import sys

import bpy

source, folder = sys.argv[1:3]


def opened(prefix=""):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.fbx(filepath=source, anim_offset=0.0)
    scene = bpy.context.scene
    armature = next(each for each in bpy.data.objects if each.type == "ARMATURE")
    first, last = armature.animation_data.action.frame_range
    scene.frame_start, scene.frame_end = int(first), int(last)
    bpy.context.view_layer.objects.active = armature
    for bone in armature.data.bones:
        bone.name = prefix + bone.name
    return armature


def write(name, **options):
    settings = {
        "object_types": {"ARMATURE"},
        "add_leaf_bones": False,
        "bake_anim_use_nla_strips": False,
        "bake_anim_use_all_actions": False,
        "bake_anim_simplify_factor": 0.0,
    }
    path = os.path.join(folder, f"{name}.fbx")
    bpy.ops.export_scene.fbx(filepath=path, **(settings | options))


def added_bones(armature, names):
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for name in names:
        bone = armature.data.edit_bones.new(name)
        bone.head, bone.tail = (1, 0, 0), (1, 0, 0.2)
    bpy.ops.object.mode_set(mode="OBJECT")


opened("mixamorig:")
write("axes", axis_forward="X", axis_up="Y", primary_bone_axis="X", secondary_bone_axis="Y")
opened()
write("ends", add_leaf_bones=True, axis_forward="Y", axis_up="Z")
opened()
write("large", apply_scale_options="FBX_SCALE_NONE", global_scale=100)
opened("Hero:").scale = (0.01, 0.01, 0.01)
write("small")
added_bones(opened(), ("ik_hand_l", "ik_hand_r"))
data = bpy.data.armatures.new("sword")
sword = bpy.data.objects.new("sword", data)
bpy.context.scene.collection.objects.link(sword)
added_bones(sword, ("blade",))
write("several")
os._exit(0)
