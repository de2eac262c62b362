"""Styles of dance that fit a song: a vote of known songs by metre, tempo and timbre."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import CheckpointError, ParameterError
from deepphase.music.features import SongFeatures
from deepphase.music.spectra import MFCC
from deepphase.short_repr import short_repr

# Frames quieter than this below the song's loudest band are pauses, without timbre.
_SOUNDING_DB = -60.0
# Typical difference of two songs: of the probability of bars of three, of tempo in octaves, and of
# all means of MFCCs but the first, in dB.
_METRE, _TEMPO, _TIMBRE_DB = 0.5, 0.25, 10.0
# Tempo and metre of a song without a beat.
_NEUTRAL_BPM = 110.0


@dataclass(frozen=True, eq=False)
class SongSummary:
    """Metre, tempo and timbre of a song.

    Parameters
    ----------
    beats_per_bar
        3 or 4; None where no bars are reliable.
    triple_probability
        Probability that bars have 3 beats and not 4; 0.5 without reliable beats.
    tempo_bpm
        Beats a minute, the median; 0 without reliable beats.
    beat_confidence
        0 to 1, see `SongFeatures`.
    timbre, timbre_deviation
        (20,) mean and standard deviation in dB of the MFCCs over the frames with sound. The first
        is the mean level below the song's loudest.
    """

    beats_per_bar: int | None
    triple_probability: float
    tempo_bpm: float
    beat_confidence: float
    timbre: Array
    timbre_deviation: Array

    def __repr__(self) -> str:
        tempo = f"{self.tempo_bpm:.0f} beats/min" if self.tempo_bpm else "no beat"
        return short_repr(self, tempo, f"bars of 3 with probability {self.triple_probability:.2f}")

    def vector(self) -> Array:
        """(21,) float64: the summary as a point whose Euclidean distances compare songs.

        Columns are metre, tempo in octaves, and 19 of timbre (the MFCCs' means without the first),
        each block scaled so that a typical difference between songs is 1. A song without a beat
        has the neutral metre 0.5 and 110 beats a minute.
        """
        tempo = np.log2((self.tempo_bpm or _NEUTRAL_BPM) / _NEUTRAL_BPM) / _TEMPO
        metre = (self.triple_probability - 0.5) / _METRE
        timbre = self.timbre[1:] / (_TIMBRE_DB * np.sqrt(MFCC - 1))
        return np.concatenate([[metre, tempo], timbre]).astype(np.float64)


def song_summary(song: SongFeatures) -> SongSummary:
    """The summary of a song, out of its features (which `song_features` keeps in a cache).

    It takes less than a millisecond. Raises ParameterError for a song without frames.
    """
    mfcc = song.blocks["mfcc"]
    if not len(mfcc):
        raise ParameterError(f"{song.name}: a song without frames has no summary")
    sounding = song.blocks["mel"].max(axis=1) > _SOUNDING_DB
    loud = mfcc[sounding] if sounding.any() else mfcc
    beat = song.has_beat
    return SongSummary(
        song.beats_per_bar if beat else None,
        song.triple_probability if beat else 0.5,
        song.tempo_bpm if beat else 0.0,
        song.beat_confidence,
        loud.mean(axis=0, dtype=np.float64),
        loud.std(axis=0, dtype=np.float64),
    )


STYLE_LABELS = ("style", "dance", "genre", "action")
"""Labels that name the style of a dance, the first that clips have."""

# A known song at this distance, in units of `SongSummary.vector`, has a weight of exp(-1/2).
_WIDTH = 0.7
# Most values that a label of styles has.
_MOST_STYLES = 24
# Songs farther from all known ones than this many times the usual distance between neighbours have
# no dance; never less than the second number.
_FAR, _LEAST_FAR = 2.5, 1.5


@dataclass(frozen=True)
class StyleChoice:
    """Style of dance for a song.

    Parameters
    ----------
    style
        Name of the style.
    probability
        0 to 1; 1 if the style was asked for.
    fits
        Whether a known song is near; there is no dance for other songs.
    nearest
        The nearest known song.
    """

    style: str
    probability: float
    fits: bool
    nearest: str

    def words(self) -> str:
        """The choice as a sentence."""
        if not self.fits:
            return (
                f"no known dance fits this song by metre, tempo and timbre: it is danced as "
                f"{self.style}, like {self.nearest}"
            )
        return f"danced as {self.style} (probability {self.probability:.2f})"


@dataclass(frozen=True, eq=False)
class SongStyles:
    """Known songs with the style that each is danced in.

    Parameters
    ----------
    songs
        Names of the songs.
    styles
        Style of each.
    vectors
        (songs, 21) their summaries, see `SongSummary.vector`.
    clips
        Clip -> style.
    """

    songs: tuple[str, ...]
    styles: tuple[str, ...]
    vectors: Array
    clips: Mapping[str, str]

    @classmethod
    def of(
        cls, songs: Mapping[str, SongFeatures], clips: Sequence[tuple[str, str, Mapping[str, str]]]
    ) -> SongStyles:
        """Styles of clips and of the songs that they are danced to.

        Parameters
        ----------
        songs
            File -> features.
        clips
            Name, song's file and labels of each clip. The first label of `STYLE_LABELS` that
            all clips have names the style, or else the first that all have with several values
            that repeat. Without one, styles are "bars of 3", "bars of 4" and "no bars".
        """
        label = _style_label([labels for _, _, labels in clips])
        metre = {
            file: "no bars" if song.beats_per_bar is None else f"bars of {song.beats_per_bar}"
            for file, song in songs.items()
        }
        of_clip = {name: labels[label] if label else metre[file] for name, file, labels in clips}
        of_song = {file: of_clip[name] for name, file, _ in clips}
        vectors = [song_summary(songs[file]).vector() for file in of_song]
        return cls(tuple(of_song), tuple(of_song.values()), np.array(vectors), of_clip)

    def with_more(self, other: SongStyles) -> SongStyles:
        """These songs and clips with others; a song of both is that of the other."""
        kept = [index for index, song in enumerate(self.songs) if song not in other.songs]
        return SongStyles(
            (*(self.songs[index] for index in kept), *other.songs),
            (*(self.styles[index] for index in kept), *other.styles),
            np.concatenate([self.vectors[kept], other.vectors]),
            {**self.clips, **other.clips},
        )

    @property
    def names(self) -> list[str]:
        """The styles, sorted."""
        return sorted(set(self.styles))

    def columns(self, style: str | None) -> Array:
        """(styles,) float32: 1 at a style's place in `names`, all 0 for any other."""
        return np.array([name == style for name in self.names], np.float32)

    def choose(self, song: SongFeatures, style: str | None = None) -> StyleChoice:
        """The style that known songs like this one are danced in, or the one that is asked for.

        Raises
        ------
        ParameterError
            If there is no such style.
        """
        if style is not None and style not in self.styles:
            raise ParameterError(
                f"there is no style {style!r}", hint=f"known styles: {', '.join(self.names)}"
            )
        distances = np.linalg.norm(self.vectors - song_summary(song).vector(), axis=1)
        nearest = int(distances.argmin())
        weights = np.exp(-0.5 * (distances**2 - distances[nearest] ** 2) / _WIDTH**2)
        votes = {name: float(weights[self._of(name)].sum()) for name in self.names}
        # Large styles have more songs, near or not: votes are divided by the root of their number.
        votes = {name: vote / np.sqrt(self._of(name).sum()) for name, vote in votes.items()}
        chosen = max(votes, key=lambda name: votes[name]) if style is None else style
        probability = votes[chosen] / sum(votes.values()) if style is None else 1.0
        fits = bool(distances[nearest] <= self._far())
        return StyleChoice(chosen, float(probability), fits, self.songs[nearest])

    def _of(self, style: str) -> Array:
        return np.array(self.styles) == style

    def _far(self) -> float:
        """Distance from which on a song is like no known one."""
        if len(self.vectors) < 2:
            return _LEAST_FAR
        apart = np.linalg.norm(self.vectors[:, None] - self.vectors, axis=-1)
        np.fill_diagonal(apart, np.inf)
        return max(_LEAST_FAR, _FAR * float(np.median(apart.min(axis=1))))

    def as_mapping(self) -> dict[str, Any]:
        """What `from_mapping` reads, and a file's header holds."""
        return {
            "songs": list(self.songs),
            "styles": list(self.styles),
            "vectors": self.vectors.tolist(),
            "clips": dict(self.clips),
        }

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> SongStyles:
        """The styles that `as_mapping` wrote; raises CheckpointError if they are invalid."""
        try:
            songs, styles = (tuple(map(str, content[name])) for name in ("songs", "styles"))
            vectors = np.array(content["vectors"], np.float64)
            clips = {str(name): str(style) for name, style in content["clips"].items()}
            if vectors.ndim != 2 or not len(songs) == len(styles) == len(vectors) > 0:
                raise ValueError(f"{len(songs)} songs and vectors of shape {vectors.shape}")
            if not np.isfinite(vectors).all():
                raise ValueError("vectors that are not finite")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(
                f"these are invalid styles of songs: {' '.join(str(error).split())[:200]}",
                hint="make the file again",
            ) from None
        return cls(songs, styles, vectors, clips)


def _style_label(labels: Sequence[Mapping[str, str]]) -> str | None:
    """The label that names styles; None if no label of all clips does."""
    shared = [name for name in labels[0] if all(name in each for each in labels)] if labels else []
    named = [name for name in STYLE_LABELS if name in shared]
    several = [
        name
        for name in shared
        if 1 < len({each[name] for each in labels}) <= min(_MOST_STYLES, len(labels) // 2)
    ]
    return next(iter([*named, *several]), None)
