"""The measures of a controller's run as a page and a report tell them."""

from __future__ import annotations

# Measure -> (unit, definition).
MEASURES = {
    "survived": ("", "share of the frames before the network left all bounds"),
    "joint_rotation": ("deg/s", "mean over joints, of local rotations; jitter raises it too"),
    "jerk": ("m/s3", "mean over joints and frames"),
    "skating": (
        "",
        "mean of v / v_max: v the speed of the slowest point of feet that the controller has in "
        "contact, v_max the data's largest",
    ),
    "contact_speed": ("m/s", "the mean of v"),
    "found_skating": ("", "the same of contacts found on the motion, as the data's are"),
    "found_contact_speed": ("m/s", "the mean of v at those"),
    "weaker": ("", "share of frames with less kinetic energy than 99 % of the data's"),
    "stronger": ("", "share of frames with more kinetic energy than 99 % of the data's"),
    "limb_change": ("", "largest change of a limb's length, as a share of it"),
    "limb_error": ("m", "between joints as predicted and as rotations and limbs have them"),
    "frozen": (
        "",
        "share of seconds wished to move in which the joints, seen from the root, are less than "
        "half as fast as in all but a hundredth of the data's travel",
    ),
    "speed": ("m/s", "mean of the root"),
    "turning_rate": ("rad/s", "mean size of the root's"),
    "path_error": ("m", "mean distance of the root from the nearest place on the path"),
    "largest_path_error": ("m", "its largest"),
    "clock_error": ("m", "mean distance from the path's place at its clock"),
}
