"""Entry point of the `deepphase` program: its commands, error messages and exit statuses.

Ctrl-C, SIGTERM and SIGHUP end it within two seconds, with all that it started.
"""

from __future__ import annotations

import atexit
import difflib
import errno
import gc
import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from deepphase.errors import DeepPhaseError, ParameterError

INTERRUPTED, MESSAGE, WATCH = 130, "deepphase: interrupted", "end in time"
# numba reads it wherever a program is started.
_NUMBA_FILE = ".numba_config.yaml"
_TRACKERS = ("multiprocessing.resource_tracker", "joblib.externals.loky.backend.resource_tracker")
# Signals that interrupt, and their handlers where nobody has set others (as `nohup` does).
_DEFAULTS: dict[int, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}
if hasattr(signal, "SIGHUP"):
    _DEFAULTS[signal.SIGHUP] = signal.SIG_DFL


@contextmanager
def interrupts_outside_imports() -> Iterator[None]:
    """Context in which such signals raise KeyboardInterrupt, or end an import at once.

    Inside the import of a C++ extension, which expects none, it could abort the process.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {each: own for each, own in _DEFAULTS.items() if signal.getsignal(each) is own}
    for number in before:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) in (_interrupt, signal.SIG_IGN):
                signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            _end()
        frame = frame.f_back
    # torchrun's agent sends both, one after the other.
    if signal.getsignal(signal.SIGTERM) is _interrupt:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def watch_signals() -> None:
    """Let a thread end the process 1.3 s after a signal: libraries may compute on, or wait."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def end_in_time() -> None:
        while os.read(reader, 1)[0] not in _DEFAULTS:
            pass
        time.sleep(1.3)
        _end()

    threading.Thread(target=end_in_time, daemon=True, name=WATCH).start()


def _end() -> NoReturn:
    """End the process and those that it started, and remove its temporary files."""
    with suppress(OSError):
        os.write(2, f"{MESSAGE}\n".encode())
    # These end by themselves, after they have removed what they track.
    trackers = {
        getattr(getattr(sys.modules.get(name), "_resource_tracker", None), "_pid", None)
        for name in _TRACKERS
    }
    files = sys.modules.get("deepphase.files")
    remove_files = getattr(files, "remove_live", lambda: None)
    # Twice: others may be starting.
    for _ in range(2):
        for pid in [each for each in _started(os.getpid()) if each not in trackers]:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        remove_files()
    os._exit(INTERRUPTED)


def _started(parent: int) -> Iterator[int]:
    """The processes that a process started, directly or not; none where there is no /proc."""
    for listed in Path("/proc").glob(f"{parent}/task/*/children"):
        with suppress(OSError):
            for pid in map(int, listed.read_text().split()):
                yield pid
                yield from _started(pid)


DONE, BUG, MISTAKE = 0, 1, 2
_TITLE = "deepphase: phase manifolds from unlabelled motion capture"

# Job -> command -> one line for the overview. Its function is `command` in the module of its name,
# such as commands/rig_controls.py, and of "train phase" `phase_command` in commands/train.py.
# A module is imported when its command is called.
JOBS = {
    "Clips": {
        "inspect": "show the content of files: skeletons, rates, lengths, problems",
        "prepare": "read, check and resample a folder of clips into one store",
        "convert": "convert clips to another file format, or to another skeleton",
        "solve": "solve for a skeleton and rotations from point tracks",
        "play": "write a page that plays clips, with their phases and a song",
    },
    "Phases": {
        "train phase": "train a phase model on clips or songs, without labels",
        "fit phases": "fit baseline phases by a rule: contacts, PCA or foot strikes",
        "encode": "write the phases of every frame of clips, as .npz and .csv",
        "evaluate": "measure a phase model on clips, as a page and as JSON",
        "figures": "draw the manifold and other figures of a model, as a page",
    },
    "Characters": {
        "train matching": "compress a motion database to a few megabytes: learned matching",
        "train controller": "train a controller on clips and their phases",
        "control": "move characters along a path or by a gamepad, with a controller",
        "live": "steer a character by hand, in a page of the browser",
        "fit ground": "fit the ground that clips were captured on to their feet",
        "fit ball": "fit a ball to the feet of clips, or read that of captures",
    },
    "Motion matching": {
        "match build": "build a motion database: features and a search index",
        "match query": "find the frames of a database nearest to a frame of a clip",
        "match run": "move characters along a path or by a gamepad, by matching",
    },
    "Dance": {
        "train dance": "train a dancer on clips with their songs",
        "dance": "make a new dance to a song, with a page that plays it",
    },
    "Editing": {
        "train editor": "train an autoencoder of motion, which repairs and edits clips",
        "train path": "train networks from paths, hands or feet to an editor's motion",
        "edit repair": "repair a clip: missing joints, dropped frames, jumps, noise",
        "edit inbetween": "make the motion between two clips, or the keys of one",
        "edit constrain": "put hands and feet at targets, and the root on a path",
        "edit path": "make motion along a path, or of paths of hands and feet",
        "edit style": "give a clip the style of other clips, with its own timing",
    },
    "Rigs": {
        "train rig": "learn the controls of a rig for any pose",
        "rig-controls": "find the controls of a rig that give the joints of a clip",
    },
    "deepphase": {
        "samples": "write clips of the shipped characters, to try every command with",
        "demo": "run the whole chain on clips of the shipped person, offline",
        "app": "open the dashboard in the browser",
        "export": "export a model as ONNX, or as a page in which it is steered",
        "doctor": "check the installation: versions, devices, missing packages",
    },
}
COMMANDS = {name: text for rows in JOBS.values() for name, text in rows.items()}
# Command -> packages of extras that it always needs.
_NEEDS = {
    "dance": ("librosa", "soundfile", "soxr"),
    "train dance": ("librosa", "soundfile", "soxr"),
    "app": ("streamlit",),
}
# Commands of earlier versions, which still work -> what they are now.
_RENAMED = {"retarget": "convert", "edit effectors": "edit path"}
# Job of the README -> its first lines, on a folder of clips, and for dances of clips with songs.
FIRST_LINES = {
    "Train phases": (
        "deepphase prepare captures/ -o mocap.store",
        "deepphase train phase mocap.store -o walk.model",
    ),
    "Match motion": (
        "deepphase match build mocap.store --model walk.model -o mocap.db",
        "deepphase match run mocap.db --path square -o run/ --compare",
    ),
    "Control characters": (
        "deepphase train controller mocap.store --model walk.model --config experts "
        "-o walk.controller",
        "deepphase live walk.controller",
    ),
    "Dance to songs": (
        "deepphase train phase recorded/ --config dance -o dance.model",
        "deepphase train dance recorded/ --model dance.model -o waltz.dancer",
        "deepphase dance song.ogg --dancer waltz.dancer -o dance/",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; its exit status. A bug is not caught: Python prints its traceback."""
    if arguments is not None:
        return _status_of(list(arguments))
    # Python would look for garbage a thousand times while torch is imported, and at the end once
    # more among all of its objects: .7 s of every command.
    gc.set_threshold(50_000)
    # The processes of workers would import modules that lie in the working folder.
    os.environ["PYTHONSAFEPATH"] = "1"
    status = BUG
    # What is registered first is called last.
    atexit.register(lambda: _leave(status))
    watch_signals()
    status = _status_of(sys.argv[1:])
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # While Python cleans up, it would print a traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return status


def _leave(status: int) -> None:
    """End the process while threads compute, which Python would abort, or leave it to Python."""
    gc.freeze()
    if status == INTERRUPTED or any(
        each.daemon and each.name != WATCH for each in threading.enumerate()
    ):
        for stream in (sys.stdout, sys.stderr):
            # Its reader may have closed it.
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)


def _status_of(words: list[str]) -> int:
    try:
        if os.path.isfile(_NUMBA_FILE):
            raise ParameterError(
                "this file of the working folder sets how code is compiled, and where from",
                hint="start deepphase in another folder, or remove it: NUMBA_... does the same",
                path=_NUMBA_FILE,
            )
        with interrupts_outside_imports():
            return _run(words)
    except DeepPhaseError as error:
        from deepphase.apps.terminal import printable

        print(f"deepphase: error: {printable(error)}", file=sys.stderr)
        return MISTAKE
    except BrokenPipeError:
        # The reader of the output has closed it (`| head`), which is not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:
        reason = {errno.ENAMETOOLONG: "the name is too long", errno.EACCES: "it may not be read"}
        if error.errno not in reason:
            raise
        name = f"{error.filename!s:.500}"
        print(f"deepphase: error: {name}: {reason[error.errno]}", file=sys.stderr)
        return MISTAKE
    except KeyboardInterrupt:
        # The terminal may be gone, too.
        with suppress(OSError):
            print(MESSAGE, file=sys.stderr)
        return INTERRUPTED


def _run(words: list[str]) -> int:
    quiet = "--quiet" in words
    words = [word for word in words if word != "--quiet"]
    first = words[0] if words else ""
    for count in (2, 1):
        name = " ".join(words[:count])
        name = _RENAMED.get(name, name)
        if name in COMMANDS:
            return _run_command(name, words[count:], quiet=quiet)
    subcommands = [name for name in COMMANDS if name.split()[0] == first]
    if not first:
        print(_first_lines())
    elif first in ("-h", "--help", "help"):
        print(_overview(COMMANDS))
    elif subcommands and {"-h", "--help"} & set(words):
        print(_overview(subcommands))
    elif first in ("-V", "--version"):
        from deepphase.packages import version

        print(f"deepphase {version()}")
    elif first.startswith("--print-completion"):
        from deepphase.apps.command_line import completion_script

        _, _, shell = first.partition("=")
        commands = {name: (command_named(name), text) for name, text in COMMANDS.items()}
        print(completion_script(shell or " ".join(words[1:2]), commands))
    else:
        _refuse(words, subcommands)
    return DONE


def _refuse(words: list[str], subcommands: list[str]) -> NoReturn:
    """Raise ParameterError about words that are no command, with what may be meant."""
    hint = "deepphase --help lists the commands"
    fact = f"there is no command {words[0]!r}"
    near = difflib.get_close_matches(" ".join(words[:2]), COMMANDS, n=1)
    near = near or difflib.get_close_matches(words[0], COMMANDS, n=1)
    if subcommands and len(words) > 1 and not words[1].startswith("-"):
        second = ", ".join(name.partition(" ")[2] for name in subcommands)
        fact = f"no command {' '.join(words[:2])!r}; {words[0]!r} has {second}"
    elif subcommands:
        fact, near = f"{words[0]!r} needs another word: {', '.join(subcommands)}", []
    if near:
        hint = f"did you mean {near[0]!r}? {hint}"
    raise ParameterError(fact, hint=hint)


def command_named(name: str) -> Callable[..., Any]:
    """The function of a command, such as "train phase"."""
    module, _, second = name.replace("-", "_").partition(" ")
    found = importlib.import_module(f"deepphase.apps.commands.{module}")
    command: Callable[..., Any] = getattr(found, f"{second}_command".removeprefix("_"))
    return command


def _run_command(name: str, words: list[str], *, quiet: bool) -> int:
    # Imported here: it takes longer to import than `deepphase --help` may take.
    from deepphase.apps.command_line import read_command_line
    from deepphase.apps.input_checks import protected
    from deepphase.apps.terminal import library_notes, printing
    from deepphase.packages import extra_packages, require_packages

    with extra_packages(f"deepphase {name}"):
        command = command_named(name)
        call = read_command_line(name, command, words, checked=True)
        require_packages(*_NEEDS.get(name, ()))
        if call.config:
            print(call.config, end="")
            return DONE
        with (
            printing(quiet=quiet),
            library_notes(),
            protected(name, call.arguments, force=call.force),
        ):
            outcome = command(**call.arguments)
    return outcome or DONE


def _first_lines() -> str:
    lines = [_TITLE]
    for job, commands in FIRST_LINES.items():
        lines += ["", f"{job}:", *(f"  {command}" for command in commands)]
    lines += [
        "",
        "deepphase demo shows the results on clips of a person, deepphase app a dashboard.",
        "deepphase --help lists all commands.",
    ]
    return "\n".join(lines)


def _overview(names: Iterable[str]) -> str:
    width = max(map(len, names))
    lines = [_TITLE, "", "usage: deepphase COMMAND ..."]
    for job, rows in JOBS.items():
        shown = [f"  {name:<{width}}  {text}" for name, text in rows.items() if name in names]
        lines += ["", f"{job}:", *shown] if shown else []
    lines += [
        "",
        "deepphase COMMAND --help lists the options of a command. --quiet prints warnings and",
        "errors only.",
        "deepphase --print-completion bash (or zsh) prints a completion script.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
