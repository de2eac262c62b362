"""Program for Blender's Python: writes a small rig with IK, a driver, limits and a root.

python make_small_rig.py FILE.blend [animated]
"""

import os
import sys

import bpy

path, animated = sys.argv[1], "animated" in sys.argv
bpy.ops.wm.read_factory_settings(use_empty=True)
data = bpy.data.armatures.new("rig")
rig = bpy.data.objects.new("rig", data)
bpy.context.scene.collection.objects.link(rig)
bpy.context.view_layer.objects.active = rig
bpy.ops.object.mode_set(mode="EDIT")


def bone(name, head, tail, parent=None, deform=True):
    made = data.edit_bones.new(name)
    made.head, made.tail, made.use_deform = head, tail, deform
    if parent:
        made.parent = data.edit_bones[parent]
    return made


bone("root", (0, 0, 0), (0, 0.3, 0), deform=False)
bone("hips", (0, 0, 0.9), (0, 0, 1.1), "root")
bone("spine", (0, 0, 1.1), (0, 0, 1.4), "hips")
bone("neck", (0, 0, 1.4), (0, 0, 1.5), "spine")
bone("head", (0, 0, 1.5), (0, 0, 1.7), "neck")
for side, sign in (("L", 1), ("R", -1)):
    x = 0.1 * sign
    bone(f"thigh.{side}", (x, 0, 0.9), (x, -0.02, 0.5), "hips")
    bone(f"shin.{side}", (x, -0.02, 0.5), (x, 0, 0.1), f"thigh.{side}")
    bone(f"foot.{side}", (x, 0, 0.1), (x, -0.15, 0.03), f"shin.{side}")
    bone(f"foot_ik.{side}", (x, 0, 0.1), (x, -0.15, 0.03), "root", deform=False)
    bone(f"knee.{side}", (x, -0.6, 0.5), (x, -0.7, 0.5), "root", deform=False)
    x = 0.2 * sign
    bone(f"upper_arm.{side}", (x, 0, 1.4), (x + 0.25 * sign, 0.02, 1.2), "spine")
    bone(
        f"forearm.{side}",
        (x + 0.25 * sign, 0.02, 1.2),
        (x + 0.5 * sign, 0, 1.0),
        f"upper_arm.{side}",
    )
    bone(f"hand.{side}", (x + 0.5 * sign, 0, 1.0), (x + 0.6 * sign, 0, 0.92), f"forearm.{side}")
bone("ornament", (0, 0.5, 1), (0, 0.5, 1.2), "root")
bpy.ops.object.mode_set(mode="POSE")
bones = rig.pose.bones
for side in "LR":
    ik = bones[f"shin.{side}"].constraints.new("IK")
    ik.target, ik.subtarget, ik.chain_count = rig, f"foot_ik.{side}", 2
    ik.pole_target, ik.pole_subtarget, ik.pole_angle = rig, f"knee.{side}", -1.5708
    copy = bones[f"foot.{side}"].constraints.new("COPY_ROTATION")
    copy.target, copy.subtarget = rig, f"foot_ik.{side}"
    bones[f"forearm.{side}"].rotation_mode = "XYZ"
    bones[f"forearm.{side}"].lock_location = (True, True, True)
limit = bones["neck"].constraints.new("LIMIT_ROTATION")
bones["neck"].rotation_mode = "XYZ"
limit.owner_space, limit.use_limit_x, limit.min_x, limit.max_x = "LOCAL", True, -0.5, 0.5
near = bones["knee.L"].constraints.new("LIMIT_LOCATION")
near.owner_space, near.use_min_x, near.min_x, near.use_max_x, near.max_x = "LOCAL", 1, -0.2, 1, 0.4
# A property that the spine bends by, and a value that a driver sets.
bones["hips"]["bend"] = 0.0
bones["hips"].id_properties_ui("bend").update(min=-1.0, max=1.0)
bones["spine"].rotation_mode = "XYZ"
driver = bones["spine"].driver_add("rotation_euler", 0).driver
driver.type = "SUM"
variable = driver.variables.new()
variable.targets[0].id = rig
variable.targets[0].data_path = 'pose.bones["hips"]["bend"]'
# A property with quotes in its name, which a driver sets.
bones["hips"]['a "b"'] = 0.0
bones["hips"].id_properties_ui('a "b"').update(min=-1.0, max=1.0)
bones["hips"].driver_add('["a \\"b\\""]').driver.expression = "0.5"
# A picture beside the file.
picture = bpy.data.images.new("skin", 1, 1)
picture.source, picture.filepath, picture.use_fake_user = "FILE", "//skin.png", True
if animated:
    for frame in range(1, 31):
        bones["hips"].location = (0, -0.005 * frame, 0.002 * frame)
        bones["hips"].keyframe_insert("location", frame=frame)
        bones["hips"]["bend"] = 0.01 * frame
        bones["hips"].keyframe_insert('["bend"]', frame=frame)
        bones["root"].location = (0, 0.02 * frame, 0)
        bones["root"].keyframe_insert("location", frame=frame)
        rig.location = (0.01 * frame, 0, 0)
        rig.keyframe_insert("location", frame=frame)
bpy.ops.object.mode_set(mode="OBJECT")
bpy.ops.wm.save_as_mainfile(filepath=path, check_existing=False)
os._exit(0)
