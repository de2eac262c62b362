"""What is measured of a motion, the same on captured clips and on a controller's runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from controllers.schema import ControllerSchema
from deepphase.evaluation.runs import foot_speeds, joint_jerks, joint_rotation_rates
from deepphase.evaluation.survival import kinetic_energies
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import GRAVITY, foot_contacts
from deepphase.motion.kinematics import end_positions, global_transforms, velocities
from deepphase.motion.limbs import below, path_length
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory, to_root_space

Array = np.ndarray

FEWEST_FRAMES = 5
# Share of sqrt(g * leg length), at which bodies of all sizes move alike: slower is standing.
_STANDING = 0.12
# An end site of less than this is where its joint is.
_LEAST_TIP_M = 1e-4


@dataclass(frozen=True, eq=False)
class MeasuredMotion:
    """A motion's measures at every frame; joints and feet are the schema's.

    Parameters
    ----------
    fps
        Frames a second.
    rotation_rates
        (frames - 1, joints) degrees a second, of local rotations.
    jerks
        (frames,) m/s^3, mean over joints.
    energies
        (frames,) m^2/s^2.
    poses
        (frames, joints, 3) metres, root space.
    pose_speeds
        (frames, joints) m/s, seen from the root.
    root_positions
        (frames, 2) metres: x and z.
    root_angles
        (frames,) radians.
    contacts
        (frames, feet) bool: feet on the floor, as `foot_contacts` finds them.
    feet
        (frames, feet, 3) metres: the feet's joints.
    foot_speeds
        (frames - 1, feet) m/s over the ground of each foot's slowest point.
    standing_speed
        m/s: what goes slower, stands.
    """

    fps: float
    rotation_rates: Array
    jerks: Array
    energies: Array
    poses: Array
    pose_speeds: Array
    root_positions: Array
    root_angles: Array
    contacts: Array
    feet: Array
    foot_speeds: Array
    standing_speed: float

    def __len__(self) -> int:
        return len(self.energies)

    @classmethod
    def of_clip(cls, clip: Clip, schema: ControllerSchema) -> MeasuredMotion:
        """Measure a clip of `FEWEST_FRAMES` or more.

        Raises
        ------
        SkeletonError, ParameterError
            Where the clip has another skeleton or rate than the schema.
        """
        schema.check_clip(clip)
        skeleton, fps = clip.skeleton, clip.fps
        names = skeleton.names
        roles = find_roles(skeleton, description=dict(schema.body), clip=clip)
        transforms = global_transforms(clip)
        root = root_trajectory(clip, roles, positions=transforms[1])
        joints = [names.index(name) for name in schema.joints]
        feet = [names.index(name) for name in schema.feet]
        positions = transforms[1][:, joints].astype(np.float64)
        poses = to_root_space(positions, root)
        contacts = foot_contacts(clip, roles, transforms=transforms)
        columns = {joint: i for i, joint in enumerate(contacts.joints)}
        legs = [
            path_length(skeleton, *leg)
            for leg in zip(roles.both("hip") or (), roles.both("foot") or (), strict=False)
        ]
        return cls(
            fps=fps,
            rotation_rates=joint_rotation_rates(clip.rotations[:, joints], fps),
            jerks=joint_jerks(positions, fps),
            energies=kinetic_energies(positions, fps),
            poses=poses,
            pose_speeds=np.linalg.norm(velocities(poses, fps), axis=-1),
            root_positions=root.positions[:, ::2].astype(np.float64),
            root_angles=root.angles.astype(np.float64),
            contacts=contacts.flags[:, [columns[foot] for foot in feet]],
            feet=transforms[1][:, feet].astype(np.float64),
            foot_speeds=foot_speeds(_foot_points(clip, feet, transforms), fps),
            standing_speed=_STANDING * float(np.sqrt(GRAVITY * max(legs, default=0.0))),
        )

    @property
    def speeds(self) -> Array:
        """(frames,) m/s of the root over the ground."""
        return np.linalg.norm(velocities(self.root_positions, self.fps), axis=-1)

    @property
    def turn_rates(self) -> Array:
        """(frames,) rad/s of the facing."""
        return velocities(self.root_angles, self.fps)

    def contact_speeds(self, contacts: Array | None = None) -> Array:
        """(n,) m/s of feet that are on the floor in two frames that follow each other.

        `contacts` (frames, feet) bool are the motion's own where left out.
        """
        flags = self.contacts if contacts is None else contacts
        return self.foot_speeds[flags[1:] & flags[:-1]]


def _foot_points(clip: Clip, feet: list[int], transforms: tuple[Array, Array]) -> list[Array]:
    """Of each foot the (frames, points, 3) joints and tips from the ankle on."""
    skeleton = clip.skeleton
    ends = end_positions(clip, transforms)
    long = np.linalg.norm(skeleton.end_offsets, axis=1) > _LEAST_TIP_M
    found = []
    for foot in feet:
        inside = below(skeleton, foot)
        tips = inside[skeleton.end_parents] & long
        found.append(np.concatenate([transforms[1][:, inside], ends[:, tips]], axis=1))
    return found
