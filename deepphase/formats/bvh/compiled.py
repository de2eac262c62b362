"""Scan of a table of decimal numbers, compiled by numba.

A number whose digits make an integer below 2^53, and whose power of ten is at most 22, is one
exact integer times or divided by one exact power: a single rounding, which is what `float` gives
(Clinger 1990, How to read floating point numbers accurately). All others are left to `float`.

Up to eight digits are converted at once, as bytes of one word (Lemire 2021, Number parsing at a
gigabyte per second, section 5). The order of the bytes is that of little-endian machines.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from deepphase.arrays import compiled

_SIGNATURE = types.int64(
    types.Array(types.uint8, 1, "C", readonly=True),
    types.int64,
    types.int64,
    types.float64[::1],
    types.int64[:, ::1],
)
_POWERS = np.array([float(f"1e{power}") for power in range(8)])
_INTEGER_POWERS = 10 ** np.arange(8)
_ZEROS, _ABOVE_NINES = np.uint64(0x3030303030303030), np.uint64(0x4646464646464646)
_HIGH_BITS = np.uint64(0x8080808080808080)
_PAIRS = np.uint64(0x000000FF000000FF)
_FIRST_PAIRS, _LAST_PAIRS = np.uint64(100 + (1000000 << 32)), np.uint64(1 + (10000 << 32))
_U8, _U10, _U16, _U32, _U64 = (np.uint64(number) for number in (8, 10, 16, 32, 64))
# A sign, eight digits, a point, and the eight bytes behind it.
_WINDOW = 18


@intrinsic
def _word_at(_, array, index):
    """uint64 of the eight bytes of a uint8 array from an index on; no bounds are checked."""

    def generate(context, builder, signature, arguments):
        kind = signature.args[0]
        struct = context.make_array(kind)(context, builder, arguments[0])
        place = cgutils.get_item_pointer(
            context, builder, kind, struct, [arguments[1]], wraparound=False
        )
        word = builder.bitcast(place, ir.IntType(64).as_pointer())
        return builder.load(word, align=1)

    return types.uint64(array, index), generate


@intrinsic
def _zeros_below(_, word):
    """Number of zero bits below the lowest one, as uint64; 64 for zero."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(word), generate


@njit(inline="always")
def _digits_in(word):
    """Eight times the number of digits that a word begins with."""
    others = ((word + _ABOVE_NINES) | (word - _ZEROS)) & _HIGH_BITS
    return _zeros_below(others) & ~(_U8 - np.uint64(1))


@njit(inline="always")
def _number_of(word, bits):
    """The number that the first bytes of a word are, one to eight digits of eight bits each."""
    digits = (word - _ZEROS) << (_U64 - bits)
    digits = digits * _U10 + (digits >> _U8)
    pairs = (digits & _PAIRS) * _FIRST_PAIRS + ((digits >> _U16) & _PAIRS) * _LAST_PAIRS
    return np.int64(pairs >> _U32)


@compiled(_SIGNATURE)
def scan_numbers(text, start, columns, values, odd):
    """Fill `values` with the numbers of a table, `columns` on every line that is not blank.

    All but digits, a point and digits, fewer than eight of each, before the last bytes, is left to
    `float`: `odd`, (n, 3), is filled with index, start and stop of such words. Returns how many;
    -1 where the text is not such a table, has another size, or has too many such words.
    """
    size = text.shape[0]
    at = start
    found = 0
    in_line = 0
    odds = 0
    while at < size:
        byte = text[at]
        if byte == 32 or byte == 9:
            at += 1
            continue
        if byte == 10:
            if in_line != 0 and in_line != columns:
                return -1
            in_line = 0
            at += 1
            continue
        if found == values.shape[0] or in_line == columns:
            return -1
        begin = at
        found += 1
        in_line += 1
        if at + _WINDOW <= size:
            signed = np.int64(byte == 45 or byte == 43)
            word = _word_at(text, at + signed)
            bits = _digits_in(word)
            stop = at + signed + np.int64(bits >> np.uint64(3))
            if 0 < bits < 64:
                value = np.float64(_number_of(word, bits))
                places = np.uint64(8)
                if text[stop] == 46:
                    tail = _word_at(text, stop + 1)
                    places = _digits_in(tail)
                    decimals = np.int64(places >> np.uint64(3))
                    stop += 1 + decimals
                    if 0 < places < 64:
                        mantissa = _number_of(word, bits) * _INTEGER_POWERS[decimals]
                        value = np.float64(mantissa + _number_of(tail, places)) / _POWERS[decimals]
                end = text[stop]
                if 0 < places < 64 and (end == 32 or end == 10 or end == 9):
                    values[found - 1] = -value if byte == 45 else value
                    at = stop
                    continue
        while at < size and text[at] != 32 and text[at] != 10 and text[at] != 9:
            at += 1
        if odds == odd.shape[0]:
            return -1
        odd[odds, 0] = found - 1
        odd[odds, 1] = begin
        odd[odds, 2] = at
        odds += 1
    if found != values.shape[0] or (in_line != 0 and in_line != columns):
        return -1
    return odds
