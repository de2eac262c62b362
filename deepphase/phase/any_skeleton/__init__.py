"""Phase models that read skeletons which they were not trained on."""
