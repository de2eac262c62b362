"""Page Train: small trainings on the open clips with live curves."""

from __future__ import annotations

from typing import Any

import streamlit as st

from deepphase.apps import training_run
from deepphase.apps.dashboard.parts import collection, trainings, widgets
from deepphase.apps.dashboard.parts.choosers import choose, shown_index
from deepphase.apps.dashboard.parts.messages import plain, shown_errors
from deepphase.apps.dashboard.parts.session import plain_file_name
from deepphase.apps.dashboard.parts.trainings import FinishedTraining, OwnTraining
from deepphase.apps.training_run import OFFERED_CONFIGS, Epoch, TrainingStatus
from deepphase.apps.verdicts import phase_verdict
from deepphase.figures.learning_curves import training_metrics
from deepphase.figures.manifold import aligned_views, manifold_change
from deepphase.phase.health import Health

# Length of a training -> number of training windows.
_LENGTHS = {"Glance": 3_000, "Short": 12_000, "Usual": 36_000, "Long": 120_000, "Longest": 400_000}
_BATCH_SIZES = (16, 32, 64, 128, 256)
_UPDATE_S = 1.0
_PLAYER_HEIGHT = 640
# Session state: which of the trainings is shown.
_SHOWN = "shown training"


def page() -> None:
    """Draw the page."""
    widgets.heading(
        "Train",
        "Train a phase model on the open clips, and watch the loss and the manifold. All pages "
        "can open a finished model.",
    )
    clips = collection.open_clips()
    left, right = widgets.wide_columns("train", [2, 5])
    with left:
        _form(clips)
        collection.MODELS.offer_upload(
            "Open a finished model",
            "A file that `deepphase train phase`, `deepphase fit phases` or this page wrote. "
            "Other users cannot see it.",
            collection.MODEL_KEY,
            "on the left of every page",
        )
    with right:
        _trainings(clips)


@st.fragment
def _form(clips: collection.OpenClips) -> None:
    busy = trainings.running_training() is not None
    st.header("A new training", anchor=False)
    trainings.show_clips(clips)
    config_name = st.selectbox(
        "Network", list(OFFERED_CONFIGS), format_func=OFFERED_CONFIGS.__getitem__,
        key="train config",
    )  # fmt: skip
    channels = st.slider("Phase channels", *training_run.CHANNELS, 5, key="train channels")
    window_s = st.slider(
        "Window (s)", *training_run.WINDOW_S, 2.0, step=0.5, key="train window",
        help="Length of the input of one phase: about two cycles of the slowest movement.",
    )  # fmt: skip
    windows = _LENGTHS[st.select_slider("Length", list(_LENGTHS), "Usual", key="train length")]
    available = trainings.training_windows(clips, window_s)
    passes = f", about {windows / available:.2g} passes over all" if available else ""
    st.caption(f"{windows:,} windows{passes}.")
    with st.expander("More"):
        batch_size = st.select_slider("Batch size (windows)", _BATCH_SIZES, 64, key="train batch")
        seed = st.number_input("Seed", 0, 2**31 - 1, 0, key="train seed")
    name = trainings.name_field("My training", "training name")
    if not available:
        st.warning(
            f"No clip is as long as {window_s:g} s: choose a shorter window.",
            icon=":material/info:",
        )
    if st.button(
        "Start training", type="primary", icon=":material/play_arrow:", key="start training",
        disabled=busy or not available, help="One training at a time" if busy else None,
    ):  # fmt: skip
        with shown_errors():
            options: dict[str, Any] = {
                "channels": channels,
                "window_s": window_s,
                "windows": windows,
            }
            options |= {"config_name": config_name, "batch_size": batch_size, "seed": int(seed)}
            trainings.start_training(clips, name, **options)
            st.session_state.pop(_SHOWN, None)
            st.rerun()


def _trainings(clips: collection.OpenClips) -> None:
    """Draw the running training, or one that has ended; before the first, what it would read."""
    running, own = trainings.running_training(), trainings.own_trainings()[::-1]
    head, place, store = st.container(), widgets.PlayerPlace(st.container()), clips.store
    collection.play_meanwhile(place, store, shown_index(store.names), _PLAYER_HEIGHT)
    if running is not None:
        with head:
            _running(running)
        _course(running)
        return
    if not own:
        sample = trainings.sample_training()
        st.header("A finished training, as a sample", anchor=False)
        _outcome(sample)
        st.caption(
            f"{_about(sample)} It comes with the package. A training that you start continues "
            "while you use other pages, and ends with this browser tab. Its model is kept in the "
            "folder that the program was started on, if there is one."
        )
        return
    for training in own:
        with shown_errors():
            training.keep_model()
    at, names = 0, [training.name for training in own]
    with head:
        if len(own) > 1:
            at = st.selectbox(
                "Training", range(len(names)), format_func=names.__getitem__, key=_SHOWN
            )
        shown = own[min(at, len(own) - 1)]
        _ended(shown)
    if shown.status().state != training_run.FAILED:
        _outcome(shown)


@st.fragment(run_every=_UPDATE_S)
def _running(training: OwnTraining) -> None:
    """Draw how far a running training is; only this fragment reruns."""
    run = training.run
    if not run.running:
        st.rerun()
    with shown_errors():
        status = training.status()
        st.header(f"{plain(training.name)} is training", anchor=False)
        _progress(status)
        with st.container(horizontal=True):
            can_stop, words = run.can_stop, "The first model is there after 5 % of the training"
            if can_stop:
                words = "Ends the training with the model of its last measures"
            if st.button(
                "Stop and keep", icon=":material/stop:", key="stop training",
                disabled=not can_stop, help=words,
            ):  # fmt: skip
                run.stop()
                st.rerun()
            with st.popover("Discard", icon=":material/delete:"):
                st.markdown("The training ends, and nothing of it is kept.")
                _remove_button(training, "Discard it", type="primary")


@st.fragment(run_every=_UPDATE_S)
def _course(training: OwnTraining) -> None:
    """Draw measures and pictures of a running training; only this fragment reruns."""
    with shown_errors():
        status = training.status()
        _measures(status.epochs)
        _pictures(training, status, live=True)


def _remove_button(training: OwnTraining, words: str, **options: Any) -> None:
    if st.button(words, key=f"{words} training", **options):
        training.remove()
        st.rerun()


def _progress(status: TrainingStatus) -> None:
    share = min(max(status.done / max(status.of, 1), 0.0), 1.0)
    words = widgets.sentence(status.what)
    if status.of and status.what == "training":
        words += f": {status.done:,} of {status.of:,} windows"
    elif status.of:
        words += f", {status.done:,} of {status.of:,}"
    if status.words:
        words += f", {plain(status.words)}"
    st.progress(share, text=f"{words}, {status.seconds:.0f} s so far")


def _measures(epochs: tuple[Epoch, ...]) -> None:
    """Draw the measures of the last epoch and their change since the one before."""
    if not epochs:
        return
    last, before = epochs[-1], epochs[-2] if len(epochs) > 1 else None
    columns = st.columns(4)
    loss = None if before is None else f"{last.loss - before.loss:+.4f}"
    columns[0].metric("Loss ((m/s)²)", f"{last.loss:.4f}", loss, delta_color="inverse")
    change = None if before is None else f"{100 * (last.explained - before.explained):+.1f} %"
    columns[1].metric("Explained variance", f"{100 * last.explained:.1f} %", change)
    if last.health is not None:
        health = last.health
        columns[2].metric("Phase goes forward", f"{100 * health.forward_strongest:.1f} %")
        used = sum(channel.in_use for channel in health.channels)
        columns[3].metric("Channels in use", f"{used} of {len(health.channels)}")


def _pictures(training: FinishedTraining, status: TrainingStatus, *, live: bool) -> None:
    """Draw the learning curves and the manifold; a slider selects epochs after the training."""
    epochs = status.epochs
    if not epochs:
        st.caption("The first measures appear after 5 % of the training.")
        return
    columns = trainings.epoch_measures(epochs)
    views = training.views(len(epochs))
    if live:
        # Aligned with earlier views, so that the figure does not jump.
        shown, numbers = [aligned_views(views[::-1])[0]], [epochs[-1].epoch]
        axes, title = ("Axis 1", "Axis 2"), f"The manifold at epoch {epochs[-1].epoch:.2f}"
    else:
        shown, numbers = aligned_views(views), [epoch.epoch for epoch in epochs]
        axes, title = ("PC 1", "PC 2"), "The manifold by epoch"
    manifold = manifold_change(shown, numbers, colour=training.colouring(), axes=axes, title="")
    # The legend stands between title and picture, which are no wider than the curves.
    heading = {"text": title, "side": "top"}
    manifold.update_layout(
        legend={"orientation": "h", "y": 1, "yanchor": "bottom", "title": heading},
        margin={"t": 24},
        height=540,
    )
    figures = {
        "manifold_by_epoch": (manifold, "The phase manifold, epoch by epoch"),
        "learning_curves": (training_metrics(columns, "epoch"), "Measures over the epochs"),
    }
    places = widgets.wide_columns("pictures", 2)
    for place, (name, (chart, words)) in zip(places, figures.items(), strict=True):
        with place:
            file = "" if live else name
            row = widgets.show_figure(chart, f"{name} {live}", alt=words, file=file)
    if not live:
        with row:
            widgets.offer_table(columns, "learning_curves")


def _ended(training: OwnTraining) -> None:
    """Draw what a training that has ended is, and what can be done with it."""
    status = training.status()
    st.header(plain(training.name), anchor=False)
    if status.state == training_run.FAILED:
        hint = f" {plain(widgets.sentence(status.hint))}." if status.hint else ""
        st.error(f"The training failed: {plain(status.fact)}.{hint}", icon=":material/error:")
        _remove_button(training, "Remove", icon=":material/delete:")
        return
    words = _about(training)
    if status.state == training_run.STOPPED:
        words += " It was stopped before its end."
    if training.kept and not training.kept.own:
        words += f" Its model is {plain(training.kept.name)} in the folder."
    st.caption(words)
    with st.container(horizontal=True):
        if training.kept is not None and st.button(
            "Open on all pages", type="primary", icon=":material/open_in_new:"
        ):
            choose(collection.MODEL_KEY, training.kept.id)
            st.rerun()
        file_name = f"{plain_file_name(training.name, 'phases')}.model"
        widgets.offer("Model", training.run.model_file.read_bytes, file_name)
        _remove_button(training, "Remove", icon=":material/delete:")


def _about(training: FinishedTraining) -> str:
    """The network, and what it was trained on, in words."""
    status, request = training.status(), training.request
    done = status.epochs[-1].windows if status.epochs else request.windows
    return (
        f"Network: {OFFERED_CONFIGS[request.config_name]}, {request.channels} channels, "
        f"{done:,} windows of {plain(training.clips_name)} in {status.seconds:.0f} s, "
        f"{training.passes:.2g} passes over the data."
    )


def _outcome(training: FinishedTraining) -> None:
    """Draw measures, findings, curves and manifolds of a training that has ended."""
    status = training.status()
    _measures(status.epochs)
    health = status.epochs[-1].health if status.epochs else None
    if health is not None:
        _findings(health, training.passes)
    _pictures(training, status, live=False)


def _findings(health: Health, passes: float) -> None:
    # Options of the command line are left out.
    told, *findings = (
        f"{plain(widgets.sentence(each.split(' (--')[0]))}."
        for each in (phase_verdict(health, passes), *health.findings)
    )
    if told.startswith("It worked"):
        st.success(told, icon=":material/check:")
    else:
        st.warning(told, icon=":material/info:")
        findings = [each for each in findings if each[1:-1] not in told]
    for finding in findings:
        st.info(finding, icon=":material/info:")
