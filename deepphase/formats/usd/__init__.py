"""USD files of animated skeletons (UsdSkel)."""
