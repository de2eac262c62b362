"""BVH files in the form of the programs and data sets that write them.

Each is written here, after its form, of a walk whose joints are known, and read back: places and
sides of joints, unit, up axis, rate and travel must be those of the walk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.formats.load import load
from deepphase.motion.clip import Clip, global_transforms, joint_positions
from deepphase.motion.glitches import find_glitches
from deepphase.motion.roles import find_roles
from deepphase.synthetic.gait_motion import locomotion

# The joints of the walk in its order; names of programs are in programs.yaml.
_TRUNK = "Hips Spine Spine1 Spine2 Neck Neck1 Head"
_ARM, _LEG = "Shoulder Arm ForeArm Hand HandMiddle1", "UpLeg Leg Foot ToeBase"
_SIDES = [f"{side}{part}" for side in ("Left", "Right") for part in f"{_ARM} {_LEG}".split()]
OURS = [*_TRUNK.split(), *_SIDES]


@dataclass(frozen=True)
class Form:
    """The form of a program's files."""

    order: str = "ZXY"
    unit_m: float = 0.01
    up: str = "y"
    fps: float = 30.0
    prefix: str = ""
    everywhere: bool = False  # Whether every joint has channels of positions
    above: str = ""  # Joint above the hips; the hips then have positions
    stance: bool = False  # Whether a frame of the rest pose at the origin comes first
    along_x: bool = False  # Whether all bones of the rest pose lie along one axis
    end: str = "\n"
    changed: Callable[[str], str] = field(default=lambda text: text)


FORMS = {
    # Ubisoft's set: bones along x, the root's offset is its first place.
    "LAFAN1": Form("ZYX", along_x=True),
    "100STYLE": Form("YXZ", fps=60.0),
    # Hahne's conversions of CMU: a T-pose first, and a unit of 5.6 cm.
    "CMU, cgspeed": Form("ZYX", unit_m=0.0254 / 0.45, fps=120.0, stance=True),
    # Through Blender: a prefix, and places of all joints.
    "Mixamo": Form("XYZ", prefix="mixamorig:", everywhere=True),
    "Rokoko": Form("YXZ", fps=100.0),
    "Xsens": Form("YXZ", fps=240.0, everywhere=True, end="\r\n"),
    # Shogun: the subject's name, millimetres, Z up.
    "Vicon": Form("XYZ", unit_m=0.001, up="z", fps=120.0, prefix="Actor01:"),
    # A reference above the hips that stays, a namespace, and tabs.
    "MotionBuilder": Form(
        prefix="BVH:", above="BVH:reference", changed=lambda text: text.replace("  ", "\t")
    ),
}


@pytest.fixture(scope="module")
def walk() -> Clip:
    return locomotion(3, 4.0).clip


def file_of(walk: Clip, form: Form) -> str:
    """The walk as a file of that form."""
    step = round(walk.fps / form.fps) or 1
    rotations, places = (each[::step] for each in global_transforms(walk))
    parents, offsets = walk.skeleton.parents.tolist(), walk.skeleton.offsets
    turned = Rotation.from_quat(rotations.reshape(-1, 4)).as_matrix()
    turned = turned.reshape(*rotations.shape[:2], 3, 3)
    bases = np.tile(np.eye(3), (len(OURS), 1, 1))
    if form.along_x:
        for joint in range(len(OURS)):
            below = [child for child, parent in enumerate(parents) if parent == joint]
            if below:
                bone = offsets[below[len(below) > 1 and joint == 0]]
                bases[joint] = Rotation.align_vectors([bone], [[1.0, 0, 0]])[0].as_matrix()
    # Axes of the file: y becomes z, z becomes -y.
    axes = np.eye(3) if form.up == "y" else np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
    bases = bases @ axes.T
    turned = axes @ turned @ bases
    places = places @ axes.T / form.unit_m
    lines, indent = ["HIERARCHY"], 0
    rows = [np.empty((len(places), 0))]
    if form.above:
        lines += [f"ROOT {form.above}", "{", "  OFFSET 0 0 0"]
        lines += ["  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation"]
        rows.append(np.zeros((len(places), 6)))
        indent = 1

    def write(joint: int, depth: int) -> None:
        pad, parent = "  " * depth, parents[joint]
        base = np.eye(3) if parent < 0 else bases[parent]
        offset = base.T @ offsets[joint] / form.unit_m
        if parent < 0:
            offset = places[0, joint]
        word = "ROOT" if parent < 0 and not form.above else "JOINT"
        lines.append(f"{pad}{word} {form.prefix}{OURS[joint]}")
        lines.append(f"{pad}{{")
        lines.append(f"{pad}  OFFSET " + " ".join(f"{value:.6f}" for value in offset))
        moves = parent < 0 or form.everywhere
        channels = [f"{axis}position" for axis in "XYZ"] if moves else []
        channels += [f"{axis}rotation" for axis in form.order]
        lines.append(f"{pad}  CHANNELS {len(channels)} {' '.join(channels)}")
        if moves:
            rows.append(places[:, joint] if parent < 0 else np.tile(offset, (len(places), 1)))
        local = turned[:, joint]
        if parent >= 0:
            local = turned[:, parent].swapaxes(-1, -2) @ local
        rows.append(Rotation.from_matrix(local).as_euler(form.order, degrees=True))
        below = [child for child, above in enumerate(parents) if above == joint]
        for child in below:
            write(child, depth + 1)
        if not below:
            lines.extend([f"{pad}  End Site", f"{pad}  {{", f"{pad}    OFFSET 0 0 0", f"{pad}  }}"])
        lines.append(f"{pad}}}")

    write(0, indent)
    lines += ["}"] * indent
    values = np.concatenate(rows, axis=1)
    if form.stance:
        values = np.concatenate([np.zeros((1, values.shape[1])), values])
    lines += ["MOTION", f"Frames: {len(values)}", f"Frame Time: {1.0 / form.fps:.7f}"]
    lines += [" ".join(f"{value:.6f}" for value in row) for row in values]
    return form.end.join(form.changed(line) for line in lines) + form.end


@pytest.mark.parametrize("everywhere", [False, True])
def test_positions_relative_to_offsets_are_added(walk, tmp_path, everywhere):
    """As three.js reads them: OFFSETs and positions are added up."""
    path = tmp_path / "walk.bvh"
    path.write_text(file_of(walk, Form(everywhere=everywhere)))
    head, motion = path.read_text().split("Frame Time: 0.0333333\n")
    offset = np.array(head.split("OFFSET", 2)[1].split()[:3], np.float64)
    rows = np.loadtxt(motion.splitlines())
    rows[:, :3] -= offset
    if everywhere:
        rows[:, 6:].reshape(len(rows), -1, 6)[:, :, :3] = 0.0
    lines = [" ".join(f"{value:.6f}" for value in row) for row in rows]
    path.write_text(f"{head}Frame Time: 0.0333333\n" + "\n".join(lines) + "\n")
    clip = load(path)
    expected = joint_positions(walk)[::2]
    columns = [clip.skeleton.index(name) for name in OURS]
    np.testing.assert_allclose(joint_positions(clip)[:, columns], expected, atol=2e-3)
    assert any("OFFSET was added" in note for note in clip.source.notes)


@pytest.mark.parametrize("program", list(FORMS))
def test_a_file_of_the_program_is_the_walk(walk, tmp_path, program):
    form = FORMS[program]
    path = tmp_path / "walk.bvh"
    path.write_bytes(file_of(walk, form).encode())
    clip = load(path)
    step = round(walk.fps / form.fps) or 1
    expected = joint_positions(walk)[::step]
    columns = [clip.skeleton.index(f"{form.prefix}{name}") for name in OURS]
    found = joint_positions(clip)[:, columns]
    assert clip.fps == pytest.approx(form.fps, rel=1e-3)
    if form.stance:
        (stray,) = find_glitches(clip)
        assert (stray.first, stray.last) == (0, 0)
        found = found[1:]
    assert len(found) == len(expected)
    found, expected = (each - each[:1, :1] * [1, 0, 1] for each in (found, expected))
    assert np.abs(found - expected).max() < 2e-3
    roles = find_roles(clip.skeleton, clip=clip)
    assert roles.kind == "biped"
    for role, joint in {"left_hip": 12, "right_knee": 22, "left_shoulder": 8, "head": 6}.items():
        assert clip.skeleton.names[getattr(roles, role)].endswith(OURS[joint]), role
