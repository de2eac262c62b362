"""Small models and a training, which the dashboard shows where there are no others."""

from pathlib import Path

# An autoencoder and a small controller, which `python -m tests.studies.shipped.demo_models` trains.
PHASES, CONTROLLER = (Path(__file__).parent / name for name in ("phases.model", "gaits.controller"))
# A finished training that page Train shows at first.
SAMPLE = Path(__file__).parent / "sample_training"
