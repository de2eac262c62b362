"""A warning where a CPU multiplies bfloat16 more slowly than float32."""

import itertools
import warnings

import pytest

from deepphase.training import trainer


@pytest.mark.parametrize(("seconds", "warned"), [(2.0, True), (0.5, False)])
def test_it_is_said_before_training(monkeypatch, seconds, warned):
    trials = trainer._TRIALS
    spent = [1.0] * trials + [seconds] * trials
    ticks = itertools.chain.from_iterable((0.0, each) for each in spent)
    monkeypatch.setattr(trainer.time, "perf_counter", lambda: next(ticks))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        trainer.warn_of_slow_bfloat16("32-true")
        trainer.warn_of_slow_bfloat16("bf16-mixed")
    said = [str(each.message).partition(" on ")[0] for each in found]
    assert said == ["products in bfloat16 take 2.0 times as long as in float32"] * warned
