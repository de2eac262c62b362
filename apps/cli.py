"""Entry point of the `deepphase` program: commands, their options, errors and exit statuses."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Iterable, Sequence

from deepphase.errors import DeepPhaseError, ParameterError

DONE, BUG, MISTAKE, INTERRUPTED = 0, 1, 2, 130

# Words of a command -> (module, what it does). Modules are imported when their command is called.
COMMANDS = {
    "inspect": ("inspect_files", "what is in these files: skeletons, rates, lengths, problems"),
    "solve": ("rig", "a skeleton and rotations from point tracks, as BVH or glTF"),
    "prepare": ("prepare_store", "read, check and resample a folder of clips into one store"),
    "train phase": ("train_phase", "learn phases from clips, and say whether it worked"),
    "train controller": ("train_controller", "learn to move along paths, by phases"),
    "train dance": ("train_dance", "learn to dance from clips with their songs"),
    "dance": ("dance_song", "a new dance to any song, with a page that plays it"),
    "fit phases": ("fit_phases", "phases by a rule, to compare: contacts, PCA, foot strikes"),
    "encode": ("encode_clips", "the phases of every frame of clips, as .npz and .csv"),
    "evaluate": ("evaluate_model", "measure a phase model on clips, as a page and as numbers"),
    "evaluate dances": ("evaluate_dances", "dances against their songs: beat, bar, feet, variety"),
    "match build": ("match_build", "a motion database of a store: what frames are searched by"),
    "match query": ("match_query", "the nearest moments to a moment of a clip, to look at"),
    "match run": ("match_run", "a new motion along a path, out of a motion database"),
    "control": ("control", "characters along a path or by a gamepad, moved by a controller"),
    "export": ("export_model", "a model as ONNX for other engines, with its parity table"),
    "figures": ("figures", "the manifold and all other figures of a model on clips, as a page"),
    "play": ("play", "clips in a page that plays them, with their phases and a song"),
    "demo": ("demo", "the whole chain on made motion, offline, with pictures to look at"),
    "app": ("app", "the dashboard, in your browser: clips, phases and the manifold"),
    "doctor": ("doctor", "versions, devices, what is missing, what stands in the way"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Returns the exit status: 0 done, 2 the user's mistake, 130 interrupted, 1 where `doctor` finds
    a problem. A bug leaves its traceback, and Python ends with 1.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(words)
    except DeepPhaseError as error:
        print(f"deepphase: error: {error}", file=sys.stderr)
        return MISTAKE
    except KeyboardInterrupt:
        print("deepphase: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing is wrong, and nothing can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(_overview())
        return DONE
    if words[0] in ("-V", "--version"):
        from importlib.metadata import version

        print(f"deepphase {version('deepphase')}")
        return DONE
    if words[0].startswith("--print-completion"):
        from apps.options.completion import completion_script

        _, _, shell = words[0].partition("=")
        print(completion_script(shell or " ".join(words[1:2]), COMMANDS))
        return DONE
    if words[0] not in {name.split()[0] for name in COMMANDS}:
        from apps.options.aliases import RENAMED_COMMANDS

        words = [RENAMED_COMMANDS.get(words[0], words[0]), *words[1:]]
    for count in (2, 1):
        name = " ".join(words[:count])
        if name in COMMANDS:
            return _run_command(name, words[count:])
    subcommands = [name for name in COMMANDS if name.split()[0] == words[0]]
    if subcommands and {"-h", "--help"} & set(words):
        print(_overview(subcommands))
        return DONE
    hint = "deepphase --help lists the commands"
    near = difflib.get_close_matches(" ".join(words[:2]), COMMANDS, n=1)
    near = near or difflib.get_close_matches(words[0], COMMANDS, n=1)
    if near:
        hint = f"did you mean {near[0]!r}? {hint}"
    if subcommands and len(words) > 1 and not words[1].startswith("-"):
        raise ParameterError(
            f"no command {' '.join(words[:2])!r}; {words[0]!r} has {_second_words(subcommands)}",
            hint=hint,
        )
    if subcommands:
        raise ParameterError(
            f"{words[0]!r} needs another word: {', '.join(subcommands)}", hint=hint
        )
    raise ParameterError(f"no command {words[0]!r}", hint=hint)


def _run_command(name: str, words: list[str]) -> int:
    # Only now: building the options takes longer than an answer to --help may.
    from apps.options.command_line import read_command_line
    from apps.terminal import output

    module = importlib.import_module(f"apps.commands.{COMMANDS[name][0]}")
    configs = {"configs": module.CONFIGS} if hasattr(module, "CONFIGS") else {}
    call = read_command_line(name, module.command, words, **configs)
    if call.config:
        print(call.config, end="")
        return DONE
    with output(quiet=call.quiet, to_stderr=call.json):
        outcome = module.command(**call.arguments)
    if outcome is None:
        return DONE
    if call.json:
        print(outcome.text())
    return outcome.status


def _second_words(names: Iterable[str]) -> str:
    return ", ".join(name.partition(" ")[2] for name in names)


def _overview(names: Iterable[str] = COMMANDS) -> str:
    width = max(map(len, names))
    lines = [f"  {name:<{width}}  {COMMANDS[name][1]}" for name in names]
    return "\n".join(
        [
            "deepphase: phase manifolds from unlabelled motion capture",
            "",
            "usage: deepphase COMMAND ...",
            "",
            *lines,
            "",
            "deepphase COMMAND --help lists the options of a command.",
            "deepphase --print-completion bash (or zsh) prints a completion script.",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
