"""The `deepphase` program: finds the command, reads its options, runs it, says what went wrong."""

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
    "rig": ("rig", "a skeleton and rotations out of point tracks, as BVH or glTF"),
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
    "control": ("control", "characters along a path or under a stick, moved by a controller"),
    "export": ("export_model", "a model as ONNX for other engines, with its parity table"),
    "figures": ("figures", "the manifold and all other figures of a model on clips, as a page"),
    "play": ("play", "clips in a page that plays them, with their phases and a song"),
    "demo": ("demo", "the whole chain on made motion, offline, with pictures to look at"),
    "app": ("app", "the dashboard, in your browser: clips, phases and the manifold"),
    "doctor": ("doctor", "versions, devices, what is missing, what stands in the way"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit status: 0 done, 2 the user's mistake, 1 a bug."""
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
    for count in (2, 1):
        name = " ".join(words[:count])
        if name in COMMANDS:
            # Only now: building the options takes longer than an answer to --help may.
            from apps.options import parsed

            module = importlib.import_module(f"apps.commands.{COMMANDS[name][0]}")
            recipes = {"recipes": module.RECIPES} if hasattr(module, "RECIPES") else {}
            options = parsed(f"deepphase {name}", module.command, words[count:], **recipes)
            module.command(**options)
            return DONE
    kin = [name for name in COMMANDS if name.split()[0] == words[0]]
    if kin and {"-h", "--help"} & set(words):
        print(_overview(kin))
        return DONE
    hint = "deepphase --help lists the commands"
    if kin:
        raise ParameterError(f"{words[0]!r} needs another word: {', '.join(kin)}", hint=hint)
    near = difflib.get_close_matches(" ".join(words[:2]), COMMANDS, n=1)
    near = near or difflib.get_close_matches(words[0], COMMANDS, n=1)
    if near:
        hint = f"did you mean {near[0]!r}? {hint}"
    raise ParameterError(f"no command {words[0]!r}", hint=hint)


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
            "deepphase COMMAND --help tells a command's options.",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
