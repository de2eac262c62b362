"""Players of the demo's page: a body with its ring, matches, a steered character, a dance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from apps.demo.controller import CONTROLLER
from apps.demo.dances import SONGS, made_dances
from apps.demo.model import PHASES as SHIPPED_MODEL
from apps.reports.player_takes import takes_of_clips
from deepphase.corpus.clip_store import ClipStore
from deepphase.motion.clip import Clip
from deepphase.phase.model import ClipPhases, PhaseModel
from deepphase.progress import Progress
from deepphase.temporary_files import temporary_folder
from deepphase.viewer.take import Take

_MATCHES, _MATCH_S = 4, 4.0
_PATH, _PATH_S = "circle", 12.0
# Tempo and metre of the song that is danced to; the database has none of that tempo.
_SONG = (110.0, 4)
_SONG_SEED, _SONG_S, _DANCE_S = 77, 14.0, 12.0
_LAYOUT = "phase"
# Moments of the query's own clip are no matches.
_OWN_S, _ALONE_S = 3600.0, 1.0


@dataclass(frozen=True)
class Played:
    """A take of the page with its heading and explanation."""

    heading: str
    words: str
    take: Take


def ring_take(clips: Sequence[Clip], phases: Sequence[ClipPhases], model: PhaseModel) -> Take:
    """The first clip with its ring: the frames of one clip, as its steps repeat."""
    (take,) = takes_of_clips(clips[:1], phases[:1], model)
    return replace(take, channels=None, curves=())


def chain(
    clips: Sequence[Clip],
    phases: Sequence[ClipPhases],
    model: PhaseModel,
    *,
    toy: bool,
    progress: Progress,
) -> list[Played]:
    """The links of the chain after the ring, in order.

    Parameters
    ----------
    clips, phases
        Held-out clips with their phases.
    model
        The model that read them.
    toy
        Make less of everything.
    """
    (first,) = takes_of_clips(clips[:1], phases[:1], model)
    return [
        Played(
            "Phases",
            "The wheels are the phase channels: the angle of a hand is the phase, its length the "
            "amplitude. In the strips below, each phase rises once per cycle. Click anywhere in "
            "them, and body, wheels and ring go to that moment.",
            replace(first, manifold=None),
        ),
        _matches(clips, phases, model, progress),
        _steered(toy, progress),
        _danced(toy, progress),
    ]


def _matches(
    clips: Sequence[Clip], phases: Sequence[ClipPhases], model: PhaseModel, progress: Progress
) -> Played:
    """The nearest moments to one moment, found by phases among all held-out clips."""
    from apps.reports.matches_page import match_terms, matches_take
    from matching.database.database import MotionDatabase
    from matching.database.queries import query_moment
    from matching.search.moments import nearest_moments
    from matching.search.searcher import open_searcher

    progress("looking for similar moments", 0, 1, "")
    store = ClipStore.from_clips(clips)
    database = MotionDatabase.build(store, _LAYOUT, model, progress=progress)
    query = query_moment(database, clips[0].name, len(clips[0]) // 2)
    searcher = open_searcher(database, "exact", progress=progress)
    assert query.row is not None, "the query is a clip of the database"
    own = database.neighbourhood(query.row, _OWN_S if len(clips) > 1 else _ALONE_S)
    found = nearest_moments(database, searcher, query.query, _MATCHES, excluded=own)
    terms = match_terms(database, query, found)
    take = matches_take(database, query, found, terms, _MATCH_S)
    return Played(
        "Moments that match",
        "In the middle a moment of one clip; beside it, the moments of other clips that are "
        "nearest in phase. No label says what a step is: equal phases are equal places in the "
        "cycle.",
        take,
    )


def _steered(toy: bool, progress: Progress) -> Played:
    """The shipped controller along a path."""
    from apps.runs.request import RunRequest, goals_of, measured_run
    from apps.runs.take import run_take
    from controllers.runtime.controller import Controller
    from controllers.runtime.frame import CharacterSettings
    from controllers.runtime.start import CharacterSource

    source = CharacterSource(Controller.load(CONTROLLER), None, {}, CharacterSettings(), None, 0)
    request = RunRequest(seconds=_PATH_S / 2 if toy else _PATH_S)
    (goal,) = goals_of((_PATH,), {}, request, source.travelling_speed).values()
    run = measured_run(source, request, goal, progress)
    return Played(
        "A controller on a path",
        "A network that reads its own phases moves this character frame by frame, along the path "
        "on the ground. It ships with the program and learnt from synthetic gaits.",
        run_take(run, "controller"),
    )


def _danced(toy: bool, progress: Progress) -> Played:
    """A dance to a song that no recorded dance belongs to."""
    import soundfile

    from apps.dances.makers import DatabaseDanceMaker
    from apps.dances.report import dance_take
    from deepphase.music.dance_request import DanceRequest
    from deepphase.music.features import features_of
    from deepphase.synthetic.song import make_song

    shipped = PhaseModel.load(SHIPPED_MODEL)
    database = made_dances(shipped, progress, SONGS[:2] if toy else SONGS[:5])
    song = make_song(_SONG_SEED, _SONG_S, tempo_bpm=_SONG[0], beats_per_bar=_SONG[1])
    features = features_of(song.samples, name="a made song")
    request = DanceRequest(seconds=_DANCE_S / 2 if toy else _DANCE_S)
    dance = DatabaseDanceMaker(database, "made dances").dance(features, request, progress)
    with temporary_folder() as folder:
        sound = folder / "song.wav"
        soundfile.write(sound, song.samples, song.sample_rate)
        take = dance_take(dance, sound)
    return Played(
        "A dance",
        "Motion matching with music: passages of recorded dances follow each other, chosen and "
        "timed so that steps fall on the beats of a song they were never danced to. It "
        "plays with the sound of the song.",
        replace(take, note=f"{_SONG[0]:g} beats a minute, {_SONG[1]} in a bar"),
    )
