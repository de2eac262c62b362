"""Settings of all tests."""

import os

import torch

# Two threads on a busy machine wait for each other longer than one computes; and sums come out
# the same whatever the number of cores.
torch.set_num_threads(1)

# Tests leave nothing in the user's cache; those of the cache set a folder of their own.
os.environ["DEEPPHASE_CACHE"] = ""
