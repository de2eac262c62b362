"""`deepphase train`: one function for each task that learns from clips."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import deepphase as dp
from deepphase.apps import options, training, verdicts
from deepphase.apps.edit_files import load_editor
from deepphase.apps.input_checks import claim_file
from deepphase.apps.terminal import next_step, note, progress, read_corpus, table, warn
from deepphase.arrays import counted
from deepphase.errors import ParameterError
from deepphase.work import Progress

_RUN = options.TrainingOptions()


def phase_command(
    stores: list[Path],
    output: Path,
    config: Any = options.ConfigOption("phase", "default"),  # noqa: B008
    features: str | None = None,
    start: Path | None = None,
    memory: str | None = None,
    skeleton: str | None = None,
    run: options.TrainingOptions = _RUN,
) -> None:
    """Train a phase model on clips or songs, without labels, and report how well it works.

    Parameters
    ----------
    stores
        A store, a folder of motion files, or one motion file; or a folder of songs, or one song.
        Several of them, with different skeletons, for --config any_skeleton.
    output
        Model file to write.
    features
        Audio features to train on, separated by commas, as in mel,chroma,onset_strength. The songs
        in the folder are then used even if it contains motion as well.
    start
        Phase model whose weights the training starts from, such as a model for any skeleton. Its
        network replaces that of the config.
    memory
        Memory for the signals of each process, such as 2GB or 500MB. Larger signals are kept in a
        temporary file, from which windows are drawn. No limit if not given.
    """
    limit = None if memory is None else options.parse_size(memory)
    several = config.any_skeleton
    if several and any(option is not None for option in (features, start, memory)):
        raise ParameterError(
            "--features, --start and --memory apply to models of one skeleton or of songs",
            hint="leave them out, or choose another --config",
        )
    if not several and len(stores) > 1:
        raise ParameterError(
            f"{len(stores)} stores, but a model of one skeleton is trained on one",
            hint="--config any_skeleton trains one model on several",
        )
    names = None if features is None else tuple(options.parse_names(features))
    corpora: list[Any] = []

    def train(progress: Progress, **how: Any) -> dp.PhaseModel | None:
        corpora.extend(
            training.read_corpora(stores, names, skeleton, progress, any_skeleton=several)
        )
        description = getattr(corpora[0], "description", None)
        own, first = config, None
        if start is not None:
            first = training.start_model(start, corpora[0])
            own = dp.PhaseConfig(first.config.network, config.training)
        how |= {"description": description, "memory": limit, "start": first}
        return dp.train_phase(corpora if several else corpora[0], own, progress=progress, **how)

    training.run_training(
        "model", output, run, train,
        lines=training.model_lines,
        verdict=training.model_verdict,
        pages=lambda trained: training.model_pages(trained, corpora, output),
        then=("encode", output, "CLIPS" if several else stores[0], "-o", "phases"),
    )  # fmt: skip


def controller_command(
    store: Path,
    output: Path,
    model: Path | None = None,
    terrain: list[Path] | None = None,
    ball: list[Path] | None = None,
    config: Any = options.ConfigOption("controller", "experts"),  # noqa: B008
    skeleton: str | None = None,
    run: options.TrainingOptions = _RUN,
) -> None:
    """Train a controller on clips and their phases, and report how well it follows paths.

    Parameters
    ----------
    output
        Controller file to write.
    model
        Phase model of `deepphase train phase`, or a baseline of `deepphase fit phases`. Networks
        without phases need none.
    terrain
        Folders and files of ground under the clips, from `deepphase fit ground` on the same store.
        The controller then has the heights of the ground among its inputs.
    ball
        Folders and files of balls of the clips, from `deepphase fit ball` on the same store. The
        controller then dribbles.
    """
    from dataclasses import replace

    from deepphase.controllers.ball.ball_track import ClipBalls
    from deepphase.controllers.data.label_choice import chosen_label
    from deepphase.controllers.training.health import health_lines
    from deepphase.terrain.grounded_clip import ClipGrounds

    added = {"heights": terrain is not None, "ball": ball is not None}
    own = {name: True for name, given in added.items() if given}
    config = replace(config, schema=replace(config.schema, **own))

    def train(progress: Progress, **how: Any) -> dp.controllers.Controller | None:
        loaded = None if model is None else dp.load_model(model)
        grounds = None if terrain is None else ClipGrounds.read(terrain)
        balls = None if ball is None else ClipBalls.read(ball)
        joints = () if loaded is None else loaded.signals.joints
        corpus = read_corpus(store, joints=joints, skeleton=skeleton, progress=progress)
        choice = chosen_label(corpus, config.schema)
        if choice.sentence:
            note(choice.sentence)
        data = dp.controllers.ControllerData.read(
            corpus,
            config,
            None if loaded is None else loaded.bound(corpus, corpus.description),
            grounds=grounds,
            balls=balls,
            description=corpus.description,
            progress=progress,
        )
        return dp.controllers.train_controller(data, config, progress=progress, **how)

    training.run_training(
        "controller", output, run, train,
        lines=lambda trained: health_lines(trained.health),
        verdict=lambda trained: verdicts.controller_verdict(trained.health),
        then=("control", output, "--path", "square", "-o", "run"),
    )  # fmt: skip


def matching_command(
    database: Path,
    output: Path,
    include: str | None = None,
    latents: int = 80,
    spacing: float = 0.05,
) -> None:
    """Compress a motion database to a matcher, in seconds: learned motion matching.

    A file of a few megabytes plays the motion of the database, whose store is not needed any more.
    `match run` takes the file as it takes the database; `live` and `export` take it, too.

    Parameters
    ----------
    database
        Motion database of `deepphase match build`, with a trajectory among its features.
    output
        Matcher file to write.
    include
        Play actions, too, not only idle and locomotion; as of `deepphase match run`.
    latents
        Values of a kept moment, beside its features, that make its pose.
    spacing
        Seconds from one kept moment to the next; others are interpolated. More latents and a
        smaller spacing make poses more exact and the file larger.
    """
    from deepphase.apps.commands.match import played_moments
    from deepphase.matching.learned.training import matcher_lines

    moments = played_moments(include)
    claim_file(output, example="walk.matcher")
    with progress() as shown:
        own = dp.matching.MotionDatabase.load(database)
        matcher = dp.matching.train_matcher(
            own, latents=latents, spacing_s=spacing, moments=moments, progress=shown
        )
    matcher.save(output)
    for line in matcher_lines(matcher.health):
        note(line)
    note(f"matcher: {output}")
    note(verdicts.matcher_verdict(matcher.health))
    next_step("match", "run", output, "--path", "square", "-o", "run")


def dance_command(
    dances: Path,
    output: Path,
    model: Path | None = None,
    config: Any = options.ConfigOption("dance", "experts"),  # noqa: B008
    songs: Path | None = None,
    skeleton: str | None = None,
    run: options.TrainingOptions = _RUN,
) -> None:
    """Train a dancer on clips with their songs, and report how well it dances.

    Each song lies beside its clip under the same name (.wav, .flac, .ogg, .mp3, .m4a). A skeleton
    is solved for clips that are point tracks, as `deepphase solve` does.

    Parameters
    ----------
    dances
        A folder of motion files with their songs, or a store made of it.
    output
        Dancer file to write.
    model
        Phase model of `deepphase train phase`. Networks without phases need none.
    songs
        Folder that holds the songs, if the store lies elsewhere.
    """
    from deepphase.controllers.dance.dance_set import DanceSet
    from deepphase.controllers.dance.health import dance_words
    from deepphase.controllers.training.health import health_lines

    def train(progress: Progress, **how: Any) -> dp.controllers.Dancer | None:
        loaded = None if model is None else dp.load_model(model)
        joints = () if loaded is None else loaded.signals.joints
        corpus = read_corpus(dances, joints=joints, skeleton=skeleton, progress=progress)
        about: dict[str, Any] = {"description": corpus.description, "progress": progress}
        learnt = DanceSet.from_store(corpus, songs, **about)
        for clip, why in learnt.left_out:
            warn(f"{clip}: left out: {why}")
        own = learnt.store
        if learnt.residual_m is not None:
            mean, high = (100.0 * each for each in learnt.residual_m)
            residual = f"{mean:.2f} cm on average, {high:.2f} cm at the 95th percentile"
            solved = f"skeleton of {len(own.skeleton)} joints solved from points"
            note(f"{solved}: residual {residual}")
        sung = counted(len(learnt.songs), "song")
        note(f"{counted(len(own), 'clip')}, {own.minutes:.1f} minutes, to {sung}")
        phases = None if loaded is None else loaded.bound(own, corpus.description)
        data = dp.controllers.DanceData.read(learnt, config, phases, **about)
        for line in data.clocks.words() if data.clocks else ():
            note(line)
        return dp.controllers.train_dance(data, config, progress=progress, **how)

    def lines(trained: dp.controllers.Dancer) -> list[str]:
        health = trained.controller.health
        words = dance_words(health["dance"], trained.reference.values)
        path = f"paths of dances are scaled by {trained.path_share:.2f} to the recorded speed"
        return [*health_lines(health), *words, path]

    def worked(trained: dp.controllers.Dancer) -> str:
        health = trained.controller.health
        return verdicts.controller_verdict(health, health["dance"]["findings"])

    then = ("dance", "SONG", "--dancer", output, "-o", "dance")
    training.run_training("dancer", output, run, train, lines=lines, verdict=worked, then=then)


def editor_command(
    store: Path,
    output: Path,
    config: Any = options.ConfigOption("editor", "masked"),  # noqa: B008
    skeleton: str | None = None,
    run: options.TrainingOptions = _RUN,
) -> None:
    """Train an editor of motion on clips, and report how well it repairs held-out clips.

    Parameters
    ----------
    output
        Editor file to write. OUTPUT.report.json is the report.
    config
        Config of the network and its training; inbetween is for gaps before a target pose.
    """
    from deepphase.edit.report import report_lines

    def train(progress: Progress, **how: Any) -> dp.edit.MotionEditor | None:
        corpus = read_corpus(store, skeleton=skeleton, progress=progress)
        how |= {"description": corpus.description, "progress": progress}
        return dp.edit.train_editor(corpus, config, **how)

    training.run_training(
        "editor", output, run, train,
        lines=lambda trained: report_lines(trained.report),
        verdict=lambda trained: verdicts.editor_verdict(trained.report),
        json_report=True,
    )  # fmt: skip


def path_command(
    store: Path,
    output: Path,
    editor: Path | None = None,
    labels: str | None = None,
    effectors: bool = False,
    windows: int = 16_000,
    skeleton: str | None = None,
    run: options.TrainingOptions = _RUN,
) -> None:
    """Train the networks that lead from paths, or from hands and feet, to the motion of an editor.

    Parameters
    ----------
    store
        A store, a folder of motion files, or one motion file. Clips that walk or run are taken; all
        with --effectors.
    output
        Editor file to write: the editor with path networks. It may be the editor's own file.
    editor
        Editor of `deepphase train editor`, of the clips' skeleton.
    labels
        Take only clips with these labels, as in style=normal,action=walk+run. One style gives
        livelier motion than the mean of many.
    effectors
        Train networks from the paths of hands and feet instead.
    windows
        Number of windows of 3.2 s to train on.
    """
    import numpy as np

    from deepphase.edit.effector_motion import effector_networks
    from deepphase.edit.path_motion import path_networks
    from deepphase.training.folder import metrics_beside, read_metrics

    wanted = options.parse_labels(labels)
    given = load_editor(editor)

    def train(progress: Progress, **how: Any) -> dp.edit.MotionEditor | None:
        joints = given.space.skeleton.names
        clips = read_corpus(store, joints=joints, skeleton=skeleton, progress=progress)
        how |= {"windows": windows, "effectors": effectors, "labels": wanted}
        return dp.edit.train_path(clips, given, progress=progress, **how)

    def lines(trained: dp.edit.MotionEditor) -> list[str]:
        if effectors:
            moving = effector_networks(trained).limits
            return [f"paths of {', '.join(moving.joints)}, of {moving.clips} clips"]
        limits = path_networks(trained).limits
        return [f"paths up to {limits.speed:.1f} m/s, of {limits.clips} clips"]

    part = "effectors" if effectors else "path"

    def worked(trained: dp.edit.MotionEditor) -> str:
        explained = read_metrics(metrics_beside(output, part))["explained_variance"]
        good = f"the editor has networks of {lines(trained)[0]}"
        return verdicts.path_verdict(explained[np.isfinite(explained)][-1], good)

    training.run_training("editor", output, run, train, lines=lines, verdict=worked, part=part)


def rig_command(
    rig: Path,
    output: Path,
    poses: Path | None = None,
    config: Any = options.ConfigOption("rig", "default"),  # noqa: B008
    skeleton: str | None = None,
    run: options.TrainingOptions = _RUN,
) -> None:
    """Make a rig for a body, and learn its controls for any pose.

    The rig has FK for all joints, IK with pole vectors for arms and legs, blends, stretch, foot
    rolls and bends of spine, neck and tail. The poses are keyed by rule, as an animator would set
    them.

    Parameters
    ----------
    rig
        A motion file of the body that a rig is made for.
    output
        Rig file to write. OUTPUT.report.json is the report.
    poses
        A store, a folder of motion files, or one motion file with the poses that are learnt; the
        motion file of the rig by default. Other bodies are retargeted.
    """

    def train(progress: Progress, **how: Any) -> dp.rigs.RigInverse | None:
        corpus = read_corpus(poses or rig, skeleton=skeleton, progress=progress)
        body = dp.rigs.BodyRig.from_clip(
            dp.load(rig, **options.folder_reader(rig)), corpus.description
        )
        return dp.rigs.train_rig(corpus, body, config, progress=progress, **how)

    def summary(trained: dp.rigs.RigInverse) -> list[str]:
        body = trained.rig
        note(
            f"{len(body.controls)} controls, {len(trained.used)} of them move in the poses; errors "
            f"on {trained.report['poses']} poses of held-out clips:"
        )
        rows = [
            (name, f"{100 * of['joint_m']:.3f}", f"{of['controls']:.3f}", f"{of['fps']:.0f}")
            for name, of in trained.report["methods"].items()
        ]
        table(("method", "joints, cm", "controls, mean square", "frames/s"), rows)
        return []

    training.run_training(
        "rig", output, run, train,
        lines=summary,
        verdict=lambda trained: verdicts.rig_verdict(trained.report),
        json_report=True,
    )  # fmt: skip
