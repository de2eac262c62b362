"""The array type of annotations."""

import numpy as np

Array = np.ndarray
