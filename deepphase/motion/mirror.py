"""The mirror image of a motion: left and right change places.

Reflecting the world across its plane x = 0, S_w = diag(-1, 1, 1), must send every joint to its
partner's place. With G the global rotations, m(j) the partner of j and o the rest offsets,

    G'_j = S_w G_m(j) S_j    where    S_j o_c = o_m(c) for the children c of j

is a rotation wherever S_j is orthogonal with determinant -1, and then p'_j = S_w p_m(j) exactly.
Locally that is L'_j = S_p^T L_m(j) S_j, with p the parent of j. S_j says how the local axes of a
pair of joints correspond: one reflection serves skeletons modelled in a symmetric rest pose, but
many exporters point the axes of right limbs backwards or along other directions, so S_j is found
for every joint. The offsets fix it at joints with several children; at the rest it is the one
whose mirrored rotations look most like the joint's own, over the clips, with a preference for
one common matrix on the middle line and one on the limbs: a clip may wave with one arm only.

`reflected` mirrors coordinates, without exchanging joints: left-handed ones become right-handed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.joint_names import parse_names
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.skeleton import Skeleton, longest_chains

# How far partners' offsets may differ, as a share of their length: measured people are a few
# percent asymmetric. Offsets shorter than the second share of the body are exempt: toes, eyes.
OFFSET_TOLERANCE = 0.12
_NEGLIGIBLE = 0.01
# Weight of the preference for a common matrix, where the likeness of rotations counts 1.
_COMMON_WEIGHT = 0.8
# Small beside the offsets: rotations decide only what offsets leave open.
_FREEDOM_WEIGHT = 1e-6
_WORLD = np.diag([-1.0, 1.0, 1.0])
_UP = np.array([0.0, 1.0, 0.0])
_GROUND = np.array([1.0, 0.0, 1.0])
_FRAMES_COMPARED = 200
# Mean cosine of the named left and up x front, beyond which coordinates are left-handed.
_MIRRORED = -0.5
# A trunk with a smaller sine of its elevation points to the front, as a quadruped's does.
_UPRIGHT = 0.6


@dataclass(frozen=True, eq=False)
class MirrorMap:
    """Correspondence of a skeleton's joints under mirroring.

    Parameters
    ----------
    pairs
        (joints,) mirror partner of each joint.
    reflections
        (joints, 3, 3) the matrices S_j: orthogonal, determinant -1; of partners each other's
        inverse.
    """

    pairs: Array
    reflections: Array


def mirror_map(clips: Clip | Sequence[Clip], roles: Roles) -> MirrorMap:
    """Correspondence of the joints of a clip's skeleton under mirroring."""
    clips = [clips] if isinstance(clips, Clip) else list(clips)
    skeleton, pairs = clips[0].skeleton, roles.pairs
    _check_pairs(skeleton, pairs)
    means = np.stack([_mean_matrices(clip) for clip in clips]).mean(axis=0)
    negligible = _NEGLIGIBLE * longest_chains(skeleton)[0].max()
    parents = skeleton.parents
    moving = np.unique(np.concatenate([clip.translated_joints for clip in clips]))
    left_out = np.union1d(moving, pairs[moving])
    left_out = np.union1d(left_out, np.flatnonzero(without_partner(skeleton, pairs)))
    hanging = [_children(skeleton, pairs, joint, left_out) for joint in range(len(skeleton))]
    fitting = [
        _fitting(*offsets, negligible, on_middle=pairs[joint] == joint)
        for joint, offsets in enumerate(hanging)
    ]
    common = _common_reflections(skeleton, pairs, means, fitting)
    # If some axes are not axes of a symmetric pose, any may be.
    plain = all(fitting)
    reflections = np.tile(_WORLD, (len(skeleton), 1, 1))
    for joint, partner in enumerate(pairs.tolist()):
        if partner < joint:
            continue
        above = _WORLD if joint == 0 else reflections[parents[joint]]
        own, other = hanging[joint]
        # L'_j = S_p^T L_m(j) S_j should look like L_j: S_j like this, on average.
        wanted = means[partner].T @ above @ means[joint]
        if plain:
            if joint > 0:
                wanted = wanted + _COMMON_WEIGHT * common[int(partner != joint)]
            ends = _ends(skeleton, joint, partner)
            reflection = _likeliest(fitting[joint], own, other, ends, wanted)
        else:
            reflection = _fitted(own, other, wanted, partner == joint)
            _check_fit(skeleton, joint, partner, reflection, own, other, negligible)
        reflections[joint] = reflection
        reflections[partner] = reflection.T
    return MirrorMap(pairs, reflections)


def _common_reflections(
    skeleton: Skeleton, pairs: Array, means: Array, fitting: list[list[Array]]
) -> tuple[Array, Array]:
    """The best common reflections for the joints of the middle line and of the limbs."""
    joints, parents = np.arange(len(skeleton)), skeleton.parents
    middle = joints[(pairs == joints) & (joints > 0)]
    limbs = joints[pairs > joints]

    def score(group: Array, index: int, above_limb: Array | None) -> float:
        total, one = 0.0, _SYMMETRIC[index]
        for joint in group.tolist():
            on_limb = above_limb is None or pairs[parents[joint]] != parents[joint]
            above = one if on_limb else above_limb
            likeness = np.trace(one.T @ means[pairs[joint]].T @ above @ means[joint])
            fits = any(one is candidate for candidate in fitting[joint])
            total += likeness if fits else -1.0
        return total

    indices = range(len(_SYMMETRIC))
    on_middle = _SYMMETRIC[max(indices, key=lambda index: score(middle, index, None))]
    return on_middle, _SYMMETRIC[max(indices, key=lambda index: score(limbs, index, on_middle))]


def mirrored(clip: Clip, mapping: MirrorMap | Roles) -> Clip:
    """The mirror image of a clip across the plane x = 0; mirrored twice it is itself.

    Joints on one side only (a prop in the right hand) stay on it and keep their local motion.

    Parameters
    ----------
    mapping
        The `mirror_map` of its skeleton, or roles, from which one is computed for this clip.

    Raises
    ------
    SkeletonError
        See `mirror_map`.
    """
    from scipy.spatial.transform import Rotation

    if isinstance(mapping, Roles):
        mapping = mirror_map(clip, mapping)
    pairs, parents = mapping.pairs, clip.skeleton.parents
    # S = -R with R a rotation; in L'_j = S_p^T L_m(j) S_j the two signs cancel.
    turns = Rotation.from_matrix(-mapping.reflections).as_quat()
    alone = without_partner(clip.skeleton, pairs)
    turns[alone] = quaternions.IDENTITY
    above = np.concatenate([[Rotation.from_matrix(-_WORLD).as_quat()], turns[parents[1:]]])
    above[alone] = quaternions.IDENTITY
    dtype = clip.rotations.dtype
    before, after = quaternions.conjugate(above).astype(dtype), turns.astype(dtype)
    rotations = quaternions.multiply(quaternions.multiply(before, clip.rotations[:, pairs]), after)
    moving = clip.translated_joints
    joints = np.union1d(moving, pairs[moving])
    local = clip.local_positions()[:, pairs[joints]]
    matrices = np.concatenate([_WORLD[None], mapping.reflections[parents[1:]]])
    matrices[alone] = np.eye(3)
    matrices = matrices[joints]
    translations = np.einsum("jba,fjb->fja", matrices.astype(local.dtype), local)
    return replace(
        clip,
        rotations=quaternions.normalized(rotations),
        translations=translations.astype(clip.translations.dtype),
        translated_joints=joints,
    )


def without_partner(skeleton: Skeleton, pairs: Array) -> Array:
    """(joints,) bool: joints on one side of the body without a partner on the other."""
    alone = np.zeros(len(skeleton), bool)
    for joint, parent in enumerate(skeleton.parents[1:].tolist(), start=1):
        one_sided = pairs[joint] == joint and pairs[parent] != parent
        alone[joint] = alone[parent] or one_sided
    return alone


def _check_pairs(skeleton: Skeleton, pairs: Array) -> None:
    parents = skeleton.parents
    for joint in range(1, len(skeleton)):
        if pairs[joint] != joint and pairs[parents[joint]] != parents[pairs[joint]]:
            raise SkeletonError(
                f"{skeleton.names[joint]!r} and {skeleton.names[pairs[joint]]!r} are mirror "
                "partners, but their parents are not",
                hint="give the pairs in a skeleton description",
            )


def _mean_matrices(clip: Clip) -> Array:
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(quaternions.mean_rotation(clip.rotations)).as_matrix()


def _children(skeleton: Skeleton, pairs: Array, joint: int, left_out: Array) -> tuple[Array, Array]:
    """(children, 3) offsets of a joint's children, and of their partners.

    Translated joints, whose offsets the motion replaces, and joints without a partner are left
    out.
    """
    children = [child for child in skeleton.children(joint) if child not in left_out]
    own = skeleton.offsets[children].reshape(-1, 3)
    return own, skeleton.offsets[pairs[children]].reshape(-1, 3)


def _ends(skeleton: Skeleton, joint: int, partner: int) -> tuple[Array, Array]:
    """(1, 3) offsets of the end sites of a joint and its partner; empty unless each has one."""
    own, other = (skeleton.end_offsets[skeleton.end_parents == one] for one in (joint, partner))
    return (own, other) if len(own) == len(other) == 1 else (own[:0], other[:0])


def _errors(reflection: Array, own: Array, other: Array) -> Array:
    return np.linalg.norm(own @ reflection.T - other, axis=1)


def _within(
    reflection: Array, own: Array, other: Array, negligible: float, share: float = 0.5
) -> bool:
    """Whether all offsets match within a share of the tolerance."""
    allowed = np.maximum(OFFSET_TOLERANCE * np.linalg.norm(own, axis=1), negligible)
    return bool((_errors(reflection, own, other) <= share * allowed).all())


def _fitting(own: Array, other: Array, negligible: float, on_middle: bool) -> list[Array]:
    candidates = _SYMMETRIC if on_middle else _IMPROPER
    return [one for one in candidates if _within(one, own, other, negligible)]


def _likeliest(
    candidates: list[Array], own: Array, other: Array, ends: tuple[Array, Array], wanted: Array
) -> Array:
    # Offsets have priority over rotations. End sites have a small weight: many are placeholders,
    # equal on both sides.
    likeness = np.array([np.trace(one.T @ wanted) for one in candidates])
    misfit = np.array([_misfit(one, own, other) for one in candidates])
    end_misfit = np.array([_misfit(one, *ends) for one in candidates])
    return candidates[int(np.argmax(likeness - 10.0 * misfit - end_misfit))]


def _misfit(reflection: Array, own: Array, other: Array) -> float:
    scale = max(float(np.linalg.norm(own, axis=1).sum()), 1e-9)
    return float(_errors(reflection, own, other).sum()) / scale


def _fitted(own: Array, other: Array, wanted: Array, on_middle: bool) -> Array:
    """The improper orthogonal matrix that maps the offsets best; `wanted` decides the rest.

    Kabsch's solution with determinant -1; on the middle line the matrix has to be its own
    inverse, which makes it the reflection across a plane.
    """
    scale = max(float((own**2).sum()), 1e-12)
    moments = other.T @ own / scale + _FREEDOM_WEIGHT * wanted
    if on_middle:
        # The plane's normal is the eigenvector of the smallest symmetric moment.
        normal = np.linalg.eigh(0.5 * (moments + moments.T))[1][:, 0]
        return np.eye(3) - 2.0 * np.outer(normal, normal)
    u, _, vt = np.linalg.svd(moments)
    return u @ np.diag([1.0, 1.0, -np.sign(np.linalg.det(u @ vt))]) @ vt


def _check_fit(
    skeleton: Skeleton,
    joint: int,
    partner: int,
    reflection: Array,
    own: Array,
    other: Array,
    negligible: float,
) -> None:
    if _within(reflection, own, other, negligible, share=1.0):
        return
    worst = _errors(reflection, own, other) / np.maximum(np.linalg.norm(own, axis=1), negligible)
    between = (
        f"below {skeleton.names[joint]!r}"
        if joint == partner
        else f"below {skeleton.names[joint]!r} and {skeleton.names[partner]!r}"
    )
    raise SkeletonError(
        f"not symmetric: offsets {between} differ by {100 * worst.max():.0f} % in the mirror",
        hint="name the true pairs in a skeleton description, or do not mirror",
    )


def _improper_signed_permutations() -> list[Array]:
    matrices = [
        np.diag(signs)[list(order)]
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
    ]
    return [matrix for matrix in matrices if np.linalg.det(matrix) < 0]


_IMPROPER = _improper_signed_permutations()
_SYMMETRIC = [matrix for matrix in _IMPROPER if (matrix == matrix.T).all()]


def is_left_handed(clip: Clip) -> bool:
    """Whether a clip with Y up was captured in left-handed coordinates, as Unity's are.

    In right-handed ones up x front is the left of the body. Names state which side is left; the
    front is that of a horizontal trunk, else of the feet. False where one of these is missing.
    """
    roles = find_roles(clip.skeleton, clip=clip)
    hips = roles.both("hip")
    sides = [name.side for name in parse_names(clip.skeleton.names)]
    if hips is None or [sides[hip] for hip in hips] != ["left", "right"]:
        return False
    step = max(1, len(clip) // _FRAMES_COMPARED)
    positions = joint_positions(
        replace(clip, rotations=clip.rotations[::step], translations=clip.translations[::step])
    )
    front = _front(positions, roles)
    if front is None:
        return False
    left = np.cross(_UP, front)
    side = (positions[:, hips[0]] - positions[:, hips[1]]) * _GROUND
    size = np.linalg.norm(left, axis=-1) * np.linalg.norm(side, axis=-1)
    clear = size > 1e-9
    cosines = np.einsum("fc,fc->f", left, side)[clear] / size[clear]
    return bool(clear.any() and cosines.mean() < _MIRRORED)


def _front(positions: Array, roles: Roles) -> Array | None:
    """(frames, 3) on the ground."""
    shoulders, feet, toes = roles.both("shoulder"), roles.both("foot"), roles.both("toe")
    if shoulders is not None:
        trunk = positions[:, list(shoulders)].mean(axis=1) - positions[:, roles.hips]
        length = max(float(np.linalg.norm(trunk, axis=-1).sum()), 1e-12)
        if abs(float(trunk[:, 1].sum())) < _UPRIGHT * length:
            return np.asarray(trunk * _GROUND)
    if feet is None or toes is None:
        return None
    return np.asarray((positions[:, list(toes)] - positions[:, list(feet)]).sum(axis=1) * _GROUND)


def reflected(clip: Clip) -> Clip:
    """The motion with every X coordinate negated: left-handed coordinates become right-handed.

    Joints keep their names. To exchange left and right of a body, see `mirrored`.
    """

    def reflect(vectors: Array) -> Array:
        return vectors * np.array([-1.0, 1.0, 1.0], vectors.dtype)

    skeleton = clip.skeleton
    return replace(
        clip,
        skeleton=replace(
            skeleton,
            offsets=reflect(skeleton.offsets),
            end_offsets=reflect(skeleton.end_offsets),
        ),
        rotations=clip.rotations * np.array([1.0, -1.0, -1.0, 1.0], clip.rotations.dtype),
        translations=reflect(clip.translations),
    )
