"""Weights of a network of body points, rearranged for the joints of one body."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from deepphase.phase.any_skeleton.body_points import POINTS


def bound_weights(weights: Mapping[str, Tensor], read: Tensor, write: Tensor) -> dict[str, Tensor]:
    """Weights that read and reconstruct joints in place of body points.

    Interpolation is linear, as is the first convolution of the encoder and the last of the decoder,
    so that both are one convolution. The derivatives with respect to `weights` are kept.

    Parameters
    ----------
    weights
        State of an autoencoder with three signals per body point.
    read : (points, joints)
        Weights of `BodyPlan.points_from_joints`.
    write : (joints, points)
        Weights of `BodyPlan.joints_from_points`.
    """
    bound = dict(weights)
    encoder, decoder = weights["encoder_in.weight"], weights["decoder_out.weight"]
    kernel, _, hidden = encoder.shape
    points = len(POINTS)
    by_point = encoder.view(kernel, points, 3 * hidden).transpose(0, 1).reshape(points, -1)
    # (joints, kernel, 3, hidden) -> (kernel, joints, 3, hidden)
    by_joint = (read.T @ by_point).view(-1, kernel, 3 * hidden).transpose(0, 1)
    bound["encoder_in.weight"] = by_joint.reshape(kernel, -1, hidden)
    taps = decoder.view(kernel * hidden, points, 3).transpose(1, 2)
    bound["decoder_out.weight"] = (taps @ write.T).transpose(1, 2).reshape(kernel, hidden, -1)
    bound["decoder_out.bias"] = (write @ weights["decoder_out.bias"].view(points, 3)).reshape(-1)
    return bound
