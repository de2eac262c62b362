"""Shards: every item in exactly one, the same everywhere."""

import pytest

from deepphase.corpus.shards import Shard
from deepphase.errors import ParameterError


def test_every_item_is_in_one_shard_and_shares_are_even():
    keys = [f"session {number % 7}/take {number}.bvh" for number in range(4000)]
    shares = [[key for key in keys if Shard(number, 8).holds(key)] for number in range(1, 9)]
    assert sorted(key for share in shares for key in share) == sorted(keys)
    assert 400 < min(map(len, shares)) <= max(map(len, shares)) < 600


def test_shares_never_change():
    """A share may be prepared by another version or machine: hashes computed by hand."""
    held = [number for number in range(1, 6) if Shard(number, 5).holds("walks/slow.bvh")]
    assert held == [int(FIRST_16_DIGITS, 16) % 5 + 1]


# printf %s walks/slow.bvh | sha256sum | cut -c1-16
FIRST_16_DIGITS = "9420b664c087db37"


@pytest.mark.parametrize("text", ["", "2", "0/4", "5/4", "-1/4", "1/0", "a/b", "1/2/3", "1.5/2"])
def test_what_is_no_shard(text):
    with pytest.raises(ParameterError, match="shard"):
        Shard.parse(text)
    assert str(Shard.parse(" 3/4 ")) == "3/4"
