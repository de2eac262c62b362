"""Synthetic motion, small models and the page of the demo."""

from pathlib import Path

# The periodic autoencoder, the embedding it is compared with (Starke et al. 2022, fig. 6), and a
# small controller; `python -m tests.studies.shipped.demo_models` trains them again.
PHASES, EMBEDDING, CONTROLLER = (
    Path(__file__).parent / name for name in ("phases.model", "embedding.model", "gaits.controller")
)
# A finished training that page Train shows at first.
SAMPLE = Path(__file__).parent / "sample_training"
