"""Where things lie in the folder that `deepphase demo` makes, seen from that folder."""

TRAINING, HELD_OUT, TRUTH = "clips/training", "clips/held_out", "truth"
STORE, MODEL, PHASES, REPORT = "clips.store", "phases.model", "phases", "report"
PAGE, PLAYER, PICTURES = "index.html", "player.html", "pictures"
