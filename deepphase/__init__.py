"""Phase manifolds from unlabelled motion capture, and motion from phase manifolds."""
