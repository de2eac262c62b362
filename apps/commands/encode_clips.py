"""`deepphase encode`."""

from __future__ import annotations

from pathlib import Path

from apps.options.groups import ShardOptions, StoreOptions, refuse_for_songs
from apps.terminal import list_left_out, next_step, note, progress, warn
from deepphase.errors import FormatError


def command(
    model: Path,
    files: list[Path],
    output: Path,
    csv: bool = False,
    allow_truncated: bool = False,
    reading: StoreOptions = StoreOptions(),  # noqa: B008 (frozen)
    parallel: ShardOptions = ShardOptions(),  # noqa: B008 (frozen)
) -> None:
    """Write the phases of every frame of clips or songs, as CLIP.phases.npz each.

    Parameters
    ----------
    model
        Phase model of `deepphase train phase`, or a baseline of `deepphase fit phases`.
    files
        Motion files, folders of motion files, or stores; for a model of songs, sound files and
        folders of them.
    output
        Folder for the phases.
    csv
        Also write CLIP.phases.csv.
    allow_truncated
        Use the readable frames of files that end too early.
    """
    from deepphase.atomic_write import check_writable
    from deepphase.corpus.clips import clips_in
    from deepphase.phase.encoding import encode_files, song_entries
    from deepphase.phase.extractor import load_extractor, reads_songs
    from deepphase.phase.model import PhaseModel

    of_songs = reads_songs(model)
    spread, shard = parallel.parallel, parallel.chosen_shard
    if of_songs:
        refuse_for_songs(reading, allow_truncated=allow_truncated)
    # Files that are no models are refused before a folder is made and clips are looked for.
    fps = (PhaseModel.load if of_songs else load_extractor)(model).fps
    check_writable(output / "clip.phases.npz")
    options = {**reading.reader, "allow_truncated": allow_truncated}
    with progress() as report:
        if of_songs:
            entries = song_entries(files)
        else:
            entries = clips_in(
                files, skeleton=reading.skeleton, description=reading.description, **options
            )
        done = encode_files(model, entries, output, csv=csv, shard=shard, progress=report, **spread)
    for text in (text for each in done for text in each.notes):
        warn(text)
    refused = [each.error for each in done if each.error is not None]
    if len(entries) == len(refused) == 1:
        raise refused[0]
    list_left_out("left out", refused)
    what = "songs" if of_songs else "clips"
    written = len(done) - len(refused)
    if refused and not written:
        raise FormatError(
            f"none of {len(refused)} {what} could be encoded", hint="the reasons are listed above"
        )
    frames = sum(each.frames for each in done)
    share = "" if shard is None else f"shard {shard}: "
    note(f"{share}{written} {what}, {frames:,} frames at {fps:g} fps -> {output}")
    if of_songs:
        next_step("doctor")
    else:
        next_step("figures", model, files[0], "-o", "figures")
