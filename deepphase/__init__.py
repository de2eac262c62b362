"""Phase manifolds from unlabelled motion capture, and motion from phase manifolds."""

from deepphase.threads import wait_passively

wait_passively()
