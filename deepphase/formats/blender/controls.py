"""Controls of rigs and bones that joints depend on, for the program inside Blender's Python."""

from __future__ import annotations

_AXES = "xyz"
# Rest value and limits of places (metres), turns (radians) and scales.
CHANNELS = {
    "location": ("t", "m", 0.0, -100.0, 100.0),
    "rotation": ("r", "rad", 0.0, -6.3, 6.3),
    "scale": ("s", "1", 1.0, 0.01, 10.0),
}


def found_controls(rig, kept: set) -> list:
    """The controls of the kept bones that an animator can set, as dictionaries."""
    bones = [bone for bone in rig.pose.bones if bone.name in kept]
    shaped = [bone for bone in bones if bone.custom_shape is not None]
    seen = [bone for bone in (shaped or bones) if _visible(bone.bone)]
    driven = _driven_paths(rig)
    controls = []
    for bone in seen:
        base = f'pose.bones["{escaped(bone.name)}"]'
        turn = turn_path(bone)
        locks = {
            "location": list(bone.lock_location),
            "rotation": list(bone.lock_rotation),
            "scale": list(bone.lock_scale),
        }
        if bone.bone.use_connect and bone.parent is not None:
            locks["location"] = [True] * 3
        for channel, (letter, unit, rest, lower, upper) in CHANNELS.items():
            path = turn if channel == "rotation" else channel
            if f"{base}.{path}" in driven:
                continue
            # Limits of turns are those of angles, and not of rotation vectors.
            by_angles = channel != "rotation" or turn == "rotation_euler"
            limits = _limits(bone, channel) if by_angles else {}
            for axis in range(3):
                if locks[channel][axis] or (f"{base}.{path}", axis) in driven:
                    continue
                low, high = limits.get(axis, (lower, upper))
                controls.append(
                    {
                        "name": f"{bone.name}.{letter}{_AXES[axis]}",
                        "unit": unit,
                        "rest": rest,
                        "lower": min(low, rest),
                        "upper": max(high, rest),
                        "group": bone.name,
                        "bone": bone.name,
                        "channel": channel,
                        "axis": axis,
                    }
                )
    for bone in bones:
        controls += _properties(bone, driven)
    return controls


def _driven_paths(rig) -> set:
    data = rig.animation_data
    found: set = set()
    for curve in [] if data is None else data.drivers:
        found.add((curve.data_path, curve.array_index))
        if curve.data_path.endswith('"]'):
            found.add(curve.data_path)
    return found


def influences(rig, joints: list) -> set:
    """Names of all bones that the places of the joints may depend on."""
    bones = rig.pose.bones
    depends = {bone.name: _sources(bone) for bone in bones}
    for bone in bones:
        for constraint in bone.constraints:
            count = getattr(constraint, "chain_count", None)
            if constraint.type not in ("IK", "SPLINE_IK") or count is None:
                continue
            # A constraint on the last bone moves all bones of its chain.
            above, length = bone.parent, 1
            while above is not None and (count == 0 or length < count):
                depends[above.name].add(bone.name)
                above, length = above.parent, length + 1
    data = rig.animation_data
    for curve in [] if data is None else data.drivers:
        name = bone_of(curve.data_path)
        if name in depends:
            for variable in curve.driver.variables:
                for target in variable.targets:
                    depends[name] |= {target.bone_target, bone_of(target.data_path)} - {""}
    kept, waiting = set(), [name for name in joints if name in depends]
    while waiting:
        name = waiting.pop()
        if name in kept or name not in depends:
            continue
        kept.add(name)
        waiting.extend(depends[name])
    return kept


def _sources(bone) -> set:
    found = set() if bone.parent is None else {bone.parent.name}
    for handle in (bone.bone.bbone_custom_handle_start, bone.bone.bbone_custom_handle_end):
        if handle is not None:
            found.add(handle.name)
    for constraint in bone.constraints:
        targets = [constraint, *getattr(constraint, "targets", [])]
        for target in targets:
            for field in ("subtarget", "pole_subtarget"):
                name = getattr(target, field, "")
                if name:
                    found.add(name)
    return found


def _visible(bone) -> bool:
    """Whether an animator can select the bone."""
    if bone.hide or bone.hide_select:
        return False
    collections = getattr(bone, "collections", None)
    if collections is None or not len(collections):
        return True
    return any(each.is_visible_effectively for each in collections)


def _properties(bone, driven: set) -> list:
    found = []
    for key in bone.keys():  # noqa: SIM118 (no mapping)
        value = bone[key]
        path = f'pose.bones["{escaped(bone.name)}"]["{escaped(key)}"]'
        if not isinstance(value, float) or path in driven:
            continue
        limits = bone.id_properties_ui(key).as_dict()
        low, high = float(limits.get("min", 0.0)), float(limits.get("max", 1.0))
        # Neither endless nor no number.
        if not all(abs(each) < 1e6 for each in (low, high, value)):
            continue
        found.append(
            {
                "name": f"{bone.name}.{key}",
                "unit": "1",
                "rest": value,
                "lower": min(low, value),
                "upper": max(high, value),
                "group": bone.name,
                "bone": bone.name,
                "channel": "property",
                "axis": key,
            }
        )
    return found


def _limits(bone, channel: str) -> dict:
    """Axis -> limits that a constraint of the bone sets on its own values."""
    found = {}
    kind = {"location": "LIMIT_LOCATION", "rotation": "LIMIT_ROTATION"}.get(channel)
    for constraint in bone.constraints:
        if constraint.type != kind or constraint.owner_space != "LOCAL" or constraint.mute:
            continue
        for axis, name in enumerate(_AXES):
            low, high = -1e3, 1e3
            if channel == "rotation" and getattr(constraint, f"use_limit_{name}"):
                low, high = (getattr(constraint, f"{end}_{name}") for end in ("min", "max"))
            if channel == "location":
                if getattr(constraint, f"use_min_{name}"):
                    low = getattr(constraint, f"min_{name}")
                if getattr(constraint, f"use_max_{name}"):
                    high = getattr(constraint, f"max_{name}")
            if (low, high) != (-1e3, 1e3):
                found[axis] = (max(low, -100.0), min(high, 100.0))
    return found


def turn_path(bone) -> str:
    """Name of the property that turns a bone in its mode."""
    modes = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
    return modes.get(bone.rotation_mode, "rotation_euler")


def bone_of(path: str) -> str:
    """Name of the bone that a path of data leads through; empty if it is none."""
    import bpy

    for start in ('pose.bones["', 'bones["'):
        if path.startswith(start):
            return bpy.utils.unescape_identifier(path[len(start) :].split('"]')[0])
    return ""


def escaped(name: str) -> str:
    """A name as it stands in paths of data."""
    import bpy

    return bpy.utils.escape_identifier(name)
