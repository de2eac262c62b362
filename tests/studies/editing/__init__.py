"""The editor on clips of other styles: repair, paths, constraints, styles."""
