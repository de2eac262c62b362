"""Settings of all tests."""

import torch

# Two threads on a busy machine wait for each other longer than one computes; and sums come out
# the same whatever the number of cores.
torch.set_num_threads(1)
