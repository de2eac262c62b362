"""Armatures, for the programs that run inside Blender's Python; needs bpy alone."""

from __future__ import annotations

MAX_BONES, MAX_FRAMES = 10_000, 200_000


def refuse_network(event: str, arguments: tuple) -> None:
    """Hook of the audit that refuses connections."""
    if event in ("socket.connect", "socket.bind", "socket.getaddrinfo"):
        raise PermissionError("no network in this process")


def rigify_parameters() -> None:
    """Rigs of Rigify have properties that exist only while the add-on is registered."""
    try:
        import bpy

        bpy.ops.preferences.addon_enable(module="rigify")
    except Exception:
        # Other rigs are read without it.
        return


def largest_armature() -> tuple:
    """The armature object with the most bones, and the number of armatures with bones.

    Raises ValueError if there is none, or it has too many bones.
    """
    import bpy

    found = [each for each in bpy.data.objects if each.type == "ARMATURE" and each.data.bones]
    if not found:
        raise ValueError("no armature in the file")
    largest = max(found, key=lambda each: len(each.data.bones))
    if len(largest.data.bones) > MAX_BONES:
        raise ValueError(f"{len(largest.data.bones):,} bones")
    return largest, len(found)


def deforming_bones(bones) -> tuple[list, list]:
    """Names of the deforming bones, each after the one above it, and the places of those in it.

    All bones if none deforms.
    """
    deforming = [bone for bone in bones if bone.use_deform] or list(bones)
    above = deforming_parents(deforming)
    below: dict = {}
    for bone in deforming:
        below.setdefault(above[bone.name], []).append(bone.name)
    ordered = list(below.get(None, []))
    for name in ordered:
        ordered.extend(below.get(name, []))
    index = {name: row for row, name in enumerate(ordered)}
    return ordered, [-1 if above[name] is None else index[above[name]] for name in ordered]


def deforming_parents(deforming: list) -> dict:
    """Name -> name of the next deforming bone above, which a helper may stand for.

    Helpers of a rig often lie on the deforming bones that follow them.
    """
    names = {bone.name for bone in deforming}

    def place(bone) -> tuple:
        ends = (*bone.head_local, *bone.tail_local)
        return tuple(round(each, 4) for each in ends)

    at = {place(bone): bone.name for bone in deforming}
    found = {}
    for bone in deforming:
        each, name = bone.parent, None
        while each is not None and name is None:
            name = each.name if each.name in names else at.get(place(each))
            name = None if name == bone.name else name
            each = each.parent
        found[bone.name] = name
    for name in found:
        # Helpers that lie on bones of another chain must not close a circle.
        seen, each = {name}, found[name]
        while each is not None:
            if each in seen:
                found[name] = None
                break
            seen.add(each)
            each = found[each]
    return found


def frame_range(armature, scene) -> tuple[int, int]:
    """First and last frame of the motion of an armature."""
    data = armature.animation_data
    if data is not None and data.action is not None:
        first, last = data.action.frame_range
        return round(first), max(round(first), round(last))
    if data is not None and any(track.strips for track in data.nla_tracks):
        return scene.frame_start, scene.frame_end
    return scene.frame_start, scene.frame_start
