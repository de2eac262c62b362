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
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.limbs import level_trunk
from deepphase.motion.orientation import thinned
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.skeleton import Skeleton, longest_chains, parse_names

# How far partners' offsets may differ, as a share of their length: measured people are a few
# percent asymmetric. Offsets shorter than the second share of the body are exempt: toes, eyes.
_OFFSET_TOLERANCE, _NEGLIGIBLE = 0.12, 0.01
# Weight of the preference for a common matrix, where the likeness of rotations counts 1.
_COMMON_WEIGHT = 0.8
# Small beside the offsets: rotations decide only what offsets leave open.
_FREEDOM_WEIGHT = 1e-6
_WORLD = np.diag([-1.0, 1.0, 1.0])
_UP, _GROUND = np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0])
_FRAMES_COMPARED = 200
# Mean cosine of the named left and up x front, beyond which coordinates are left-handed.
_MIRRORED = -0.5


@dataclass(frozen=True, eq=False)
class MirrorMap:
    """Correspondence of a skeleton's joints under mirroring."""

    pairs: Array  # (joints,) mirror partner of each joint
    # (joints, 3, 3) the matrices S_j: orthogonal, determinant -1; of partners each other's inverse.
    reflections: Array


def mirror_map(clips: Clip | Sequence[Clip], roles: Roles) -> MirrorMap:
    """How joints of a clip correspond under mirroring; SkeletonError if they are not symmetric."""
    from scipy.spatial.transform import Rotation

    clips = [clips] if isinstance(clips, Clip) else list(clips)
    skeleton, pairs = clips[0].skeleton, roles.pairs
    parents = skeleton.parents
    for joint in range(1, len(skeleton)):
        if pairs[joint] != joint and pairs[parents[joint]] != parents[pairs[joint]]:
            raise SkeletonError(
                f"{skeleton.names[joint]!r} and {skeleton.names[pairs[joint]]!r} are mirror "
                "partners, but their parents are not",
                hint="give the pairs in a skeleton description",
            )
    turns = [quaternions.mean_rotation(clip.rotations) for clip in clips]
    means = np.mean([Rotation.from_quat(turn).as_matrix() for turn in turns], axis=0)
    negligible = _NEGLIGIBLE * longest_chains(skeleton)[0].max()
    # Left out are translated joints, whose offsets the motion replaces, and joints without partner.
    moving = np.unique(np.concatenate([clip.translated_joints for clip in clips]))
    left_out = {*moving, *pairs[moving], *np.flatnonzero(without_partner(skeleton, pairs))}
    hanging = []
    for joint in range(len(skeleton)):
        children = [child for child in skeleton.children(joint) if child not in left_out]
        hanging.append((skeleton.offsets[children], skeleton.offsets[pairs[children]]))
    joints = np.arange(len(skeleton))
    # (joints, matrices) whether a matrix of `_IMPROPER` maps a joint's offsets to its partner's.
    fits = np.array([_fits(_IMPROPER, *offsets, negligible, 0.5) for offsets in hanging])
    fits &= _SYMMETRIC | (pairs != joints)[:, None]
    # If some axes are not axes of a symmetric pose, any may be.
    plain = bool(fits.any(axis=1).all())
    common = _common_reflections(skeleton, pairs, means, fits) if plain else None
    reflections = np.tile(_WORLD, (len(skeleton), 1, 1))
    for joint, partner in enumerate(pairs.tolist()):
        if partner < joint:
            continue
        above = _WORLD if joint == 0 else reflections[parents[joint]]
        # L'_j = S_p^T L_m(j) S_j should look like L_j: S_j like this, on average.
        wanted = means[partner].T @ above @ means[joint]
        if common is not None:
            if joint > 0:
                wanted = wanted + _COMMON_WEIGHT * common[int(partner != joint)]
            candidates = _IMPROPER[fits[joint]]
            ends = _ends(skeleton, joint, partner)
            # Offsets have priority over rotations. End sites have a small weight: many are
            # placeholders, equal on both sides.
            likeness = np.einsum("cij,ij->c", candidates, wanted)
            likeness -= 10.0 * _misfit(candidates, *hanging[joint]) + _misfit(candidates, *ends)
            reflection = candidates[int(np.argmax(likeness))]
        else:
            reflection = _fitted(*hanging[joint], wanted, partner == joint)
            if not _fits(reflection, *hanging[joint], negligible, 1.0):
                names = " and ".join(repr(skeleton.names[j]) for j in sorted({joint, partner}))
                own, other = hanging[joint]
                size = np.maximum(np.linalg.norm(own, axis=1), negligible)
                worst = 100 * (_errors(reflection, own, other) / size).max()
                raise SkeletonError(
                    f"not symmetric: offsets below {names} differ by {worst:.0f} % in the mirror",
                    hint="name the true pairs in a skeleton description, or do not mirror",
                )
        reflections[joint] = reflection
        reflections[partner] = reflection.T
    return MirrorMap(pairs, reflections)


def _common_reflections(
    skeleton: Skeleton, pairs: Array, means: Array, fits: Array
) -> tuple[Array, Array]:
    """The best common reflections for the joints of the middle line and of the limbs."""
    joints = np.arange(len(skeleton))
    on_limb = pairs != joints

    def best(group: Array, above: Array) -> Array:
        turned = means[pairs[group]] @ _IMPROPER[:, None]
        likeness = (turned * (above @ means[group])).sum(axis=(2, 3))
        total = np.where(fits[group].T, likeness, -1.0).sum(axis=1)
        return _IMPROPER[int(np.argmax(np.where(_SYMMETRIC, total, -np.inf)))]

    middle = best(joints[~on_limb & (joints > 0)], _IMPROPER[:, None])
    limbs = joints[pairs > joints]
    below_limb = on_limb[skeleton.parents[limbs]][:, None, None]
    return middle, best(limbs, np.where(below_limb, _IMPROPER[:, None], middle))


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


def _ends(skeleton: Skeleton, joint: int, partner: int) -> tuple[Array, Array]:
    """(1, 3) offsets of the end sites of a joint and its partner; empty unless each has one."""
    own, other = (skeleton.end_offsets[skeleton.end_parents == one] for one in (joint, partner))
    return (own, other) if len(own) == len(other) == 1 else (own[:0], other[:0])


def _errors(reflections: Array, own: Array, other: Array) -> Array:
    """(..., offsets) distances of offsets that (..., 3, 3) matrices map from those wanted."""
    return np.linalg.norm(own @ np.swapaxes(reflections, -1, -2) - other, axis=-1)


def _fits(reflections: Array, own: Array, other: Array, negligible: float, share: float) -> Array:
    """(...) whether all offsets match within a share of the tolerance."""
    allowed = np.maximum(_OFFSET_TOLERANCE * np.linalg.norm(own, axis=1), negligible)
    return np.asarray((_errors(reflections, own, other) <= share * allowed).all(axis=-1))


def _misfit(reflections: Array, own: Array, other: Array) -> Array:
    scale = max(float(np.linalg.norm(own, axis=1).sum()), 1e-9)
    return np.asarray(_errors(reflections, own, other).sum(axis=-1) / scale)


def _fitted(own: Array, other: Array, wanted: Array, on_middle: bool) -> Array:
    """The improper orthogonal matrix that maps the offsets best, by Kabsch; `wanted` decides the
    rest."""
    scale = max(float((own**2).sum()), 1e-12)
    moments = other.T @ own / scale + _FREEDOM_WEIGHT * wanted
    if on_middle:
        # The plane's normal is the eigenvector of the smallest symmetric moment.
        normal = np.linalg.eigh(0.5 * (moments + moments.T))[1][:, 0]
        return np.eye(3) - 2.0 * np.outer(normal, normal)
    u, _, vt = np.linalg.svd(moments)
    return u @ np.diag([1.0, 1.0, -np.sign(np.linalg.det(u @ vt))]) @ vt


# All signed permutations of the axes that turn a left hand into a right one.
_ORDERS, _SIGNS = list(permutations(range(3))), list(product((1.0, -1.0), repeat=3))
_SIGNED = (np.eye(3)[_ORDERS][:, None] * np.array(_SIGNS)[:, None]).reshape(-1, 3, 3)
_IMPROPER = _SIGNED[np.linalg.det(_SIGNED) < 0]
_SYMMETRIC = (_IMPROPER.swapaxes(1, 2) == _IMPROPER).all(axis=(1, 2))


def is_left_handed(clip: Clip) -> bool:
    """Whether a clip was captured in left-handed coordinates: up x front is not its left."""
    roles = find_roles(clip.skeleton, clip=clip)
    hips, shoulders = roles.both("hip"), roles.both("shoulder")
    feet, toes = roles.both("foot"), roles.both("toe")
    sides = [name.side for name in parse_names(clip.skeleton.names)]
    if hips is None or [sides[hip] for hip in hips] != ["left", "right"]:
        return False
    positions = joint_positions(thinned(clip, _FRAMES_COMPARED))
    front = None
    if shoulders is not None:
        front = level_trunk(positions[:, list(shoulders)].mean(axis=1) - positions[:, roles.hips])
    if front is None and feet is not None and toes is not None:
        front = (positions[:, list(toes)] - positions[:, list(feet)]).sum(axis=1) * _GROUND
    if front is None:
        return False
    left = np.cross(_UP, front)
    side = (positions[:, hips[0]] - positions[:, hips[1]]) * _GROUND
    size = np.linalg.norm(left, axis=-1) * np.linalg.norm(side, axis=-1)
    clear = size > 1e-9
    cosines = np.vecdot(left, side)[clear] / size[clear]
    return bool(clear.any() and cosines.mean() < _MIRRORED)


def reflected(clip: Clip) -> Clip:
    """The motion with every X coordinate negated, joints keeping their names: see `mirrored`."""

    def reflect(vectors: Array) -> Array:
        return vectors * np.array([-1.0, 1.0, 1.0], vectors.dtype)

    skeleton = clip.skeleton
    return replace(
        clip,
        skeleton=replace(
            skeleton, offsets=reflect(skeleton.offsets), end_offsets=reflect(skeleton.end_offsets)
        ),
        rotations=clip.rotations * np.array([1.0, -1.0, -1.0, 1.0], clip.rotations.dtype),
        translations=reflect(clip.translations),
    )
