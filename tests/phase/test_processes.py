"""Training in several processes: counting, sharing, one writer, and a common end."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from deepphase.apps import cli
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import CheckpointError
from deepphase.formats.load import save
from deepphase.phase.model import PhaseModel
from deepphase.phase.training.data import PhaseData
from deepphase.phase.training.train import train_phase
from deepphase.training import task
from tests.formula_motion import TINY_PHASES, swinging, tiny_phases

# Batches are then plain indices of windows.
_PLAIN = {"training.tempo": 0.0, "training.heading_deg": 0.0, "training.reversal": 0.0}


def clips() -> list:
    return [swinging(0.8 + 0.2 * each, 3.0, seed=each)[0] for each in range(4)]


def data_of(rank: int, size: int, **changes) -> PhaseData:
    data = PhaseData(ClipStore.from_clips(clips()), tiny_phases(**changes))
    data.trainer = SimpleNamespace(world_size=size, global_rank=rank, global_step=0, training=True)
    data.in_segments = True
    return data


def batches_of(data: PhaseData) -> list:
    """All batches of a training, segment by segment."""
    batches: list = []
    for _ in range(data.segments(data.trainer.world_size)):
        batches += data.train_dataloader()
        data.trainer.global_step = len(batches)
    return batches


@pytest.mark.parametrize("windows", [320, 16 * 250])
def test_two_processes_take_the_batches_of_one_with_twice_the_batch(windows):
    """Short trainings too, which have fewer steps of two processes than of one."""
    changes = {**_PLAIN, "training.windows": windows}
    one = batches_of(data_of(0, 1, **{**changes, "training.batch_size": 32}))
    two = [batches_of(data_of(rank, 2, **changes)) for rank in (0, 1)]
    assert len(one) == len(two[0]) == len(two[1]) == windows // 32
    for whole, *shares in zip(one, *two, strict=True):
        assert torch.equal(torch.stack(shares, 1).reshape(-1), whole)


def test_devices_are_those_that_torchrun_has_started(monkeypatch):
    ranks = {"RANK": "3", "GROUP_RANK": "1", "LOCAL_RANK": "1"}
    sizes = {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "none"}
    for name, value in (ranks | sizes).items():
        monkeypatch.setenv(name, value)
    options = task.trainer_options({"accelerator": "cpu", "devices": "auto"})
    assert (options["devices"], options["num_nodes"]) == (2, 2)


@pytest.mark.slow
def test_a_full_disk_keeps_the_last_checkpoint(tmp_path, monkeypatch):
    """One error, and the training goes on from the point before it."""
    store, options = ClipStore.from_clips(clips()), {"accelerator": "cpu", "devices": 1}
    whole = train_phase(store, tiny_phases(), folder=tmp_path / "whole", **options)
    replace, written = os.replace, []

    def full(source, target):
        if Path(target).name == "resume.ckpt":
            written.append(target)
            if len(written) > 5:
                raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(CheckpointError, match="No space left on device"):
        train_phase(store, tiny_phases(), folder=tmp_path / "cut", **options)
    monkeypatch.undo()
    assert sorted(each.name for each in (tmp_path / "cut").glob("resume*")) == ["resume.ckpt"]
    again = train_phase(store, tiny_phases(), folder=tmp_path / "cut", resume=True, **options)
    assert again.sha256 == whole.sha256


def _command(output: Path, folder: Path, *words: str) -> list[str]:
    options = [f"--set={name}={value}" for name, value in TINY_PHASES.items()]
    program = [sys.executable, "-m", "deepphase.apps.cli"]
    command = ["train", "phase", str(folder), "-o", str(output)]
    return [*program, *command, *options, "--set=trainer.accelerator=cpu", "--quiet", *words]


@pytest.fixture
def folder(tmp_path) -> Path:
    for number, clip in enumerate(clips()):
        save(clip, tmp_path / "clips" / f"swing_{number}.bvh")
    return tmp_path / "clips"


@pytest.mark.slow
def test_two_processes_end_in_the_weights_of_one(folder, tmp_path):
    """Those that Lightning starts, with twice the batch of one."""
    output, whole = tmp_path / "two.model", tmp_path / "one.model"
    command = _command(output, folder, "--set=trainer.devices=2")
    own = {"PYTHONPATH": str(Path(cli.__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, env=os.environ | own, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not (tmp_path / "two.model.unfinished").exists()
    command = _command(whole, folder, "--set=training.batch_size=32")
    assert cli.main(command[3:]) == 0
    one, two = (PhaseModel.load(path) for path in (whole, output))
    assert one.provenance["steps"] == two.provenance["steps"] == 10
    for (name, value), other_value in zip(
        one.network.state_dict().items(), two.network.state_dict().values(), strict=True
    ):
        torch.testing.assert_close(other_value, value, rtol=0, atol=1e-4, msg=name)
