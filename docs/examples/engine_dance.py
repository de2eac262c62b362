"""A dance of an exported dancer to a song, by docs/engines.md: NumPy and ONNX Runtime."""

import json

import numpy as np
from engine_controller import Character


class Dancer(Character):
    """A dancer's file, and the music of a song that `deepphase export --song` wrote."""

    def __init__(self, path, song, style=None, start=0, start_s=0.0):
        super().__init__(path, start=start)
        facts = json.loads(self.session.get_modelmeta().custom_metadata_map["dance"])
        with np.load(song, allow_pickle=False) as file:
            self.music = file["music"]
            style = style or str(file["style"])
        if style:
            # One style over the whole dance: a one-hot number at every sample.
            hot = [float(name == style) for name in facts["styles"]]
            self.block("inputs", self.inputs, "style")[:] = hot * len(self.offsets)
        self.seconds = start_s

    def dance(self):
        """One frame; what it returns is what `step` of a character returns.

        The network reads the music at all offsets around the frame before.
        """
        frames = np.rint((self.seconds - 1 / self.fps + self.offsets) * 60).astype(int)
        samples = self.music[np.clip(frames, 0, len(self.music) - 1)]
        self.block("inputs", self.inputs, "music")[:] = samples.ravel()
        self.seconds += 1 / self.fps
        # Nobody steers: the future is the predicted one.
        self.fill(self.future)
        return self.advance()
