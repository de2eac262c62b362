"""Study of a codebook that several skeletons share."""
