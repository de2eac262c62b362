"""Animation curves and their export, for the programs that run inside Blender's Python."""

from __future__ import annotations


def key_curves(action, owner, path: str, times, values, rows=(), axes=None) -> None:
    """Curves of columns of values (frames, columns), with keys in some rows, or in all if none."""
    import numpy as np

    for column in range(values.shape[1]):
        axis = column if axes is None else axes[column]
        curve = _f_curve(action, owner, path, axis)
        line = values[:, column]
        chosen = rows if len(rows) else np.arange(len(line))
        if np.ptp(line) <= 1e-7:
            chosen = np.array([0])
        curve.keyframe_points.add(len(chosen))
        points = np.stack([times[chosen], line[chosen]], axis=1)
        curve.keyframe_points.foreach_set("co", points.ravel())
        if len(rows) and len(chosen) > 1:
            _set_handles(curve, points, np.gradient(line)[chosen])
        curve.update()


def _set_handles(curve, points, slopes) -> None:
    """Handles at thirds of the way: the curve is a cubic with these slopes at its keys."""
    import numpy as np

    gaps = np.diff(points[:, 0]) / 3.0
    for side, away in (
        ("left", -np.concatenate([gaps[:1], gaps])),
        ("right", np.concatenate([gaps, gaps[-1:]])),
    ):
        handles = np.stack([points[:, 0] + away, points[:, 1] + slopes * away], axis=1)
        curve.keyframe_points.foreach_set(f"handle_{side}", handles.ravel())
        for key in curve.keyframe_points:
            setattr(key, f"handle_{side}_type", "ALIGNED")
    for key in curve.keyframe_points:
        key.interpolation = "BEZIER"


def _f_curve(action, armature, path: str, axis: int):
    """The curve of a property of an armature in an action, made if it has none."""
    if hasattr(action, "fcurve_ensure_for_datablock"):
        return action.fcurve_ensure_for_datablock(armature, path, index=axis)
    return action.fcurves.new(path, index=axis)


def continuous_turns(turns):
    """Quaternions (frames, 4) with the signs that lie nearest to the frames before."""
    import numpy as np

    flips = np.sign(np.einsum("fc,fc->f", turns[1:], turns[:-1]))
    made = turns.copy()
    made[1:] *= np.cumprod(np.where(flips < 0, -1.0, 1.0))[:, None]
    return made


def export_fbx(path: str, **options) -> None:
    """Write the scene as FBX with the motion of every frame."""
    import bpy

    bpy.ops.export_scene.fbx(
        filepath=path,
        add_leaf_bones=False,
        bake_anim=True,
        bake_anim_use_all_bones=True,
        bake_anim_use_nla_strips=False,
        bake_anim_use_all_actions=False,
        bake_anim_simplify_factor=0.0,
        **options,
    )
