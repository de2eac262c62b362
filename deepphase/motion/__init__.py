"""Skeletons, clips and point tracks, and their kinematics, joint roles, contacts and mirroring."""
