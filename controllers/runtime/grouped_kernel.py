"""Products of groups of rows with weights of their own, in integers of 8 bits, compiled by numba.

On x86 processors with AVX-512 VNNI one instruction multiplies 64 pairs of bytes and adds them in
fours. LLVM does not find it in a loop, so it is named here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import float32, int8, int32, int64, njit, uint8, void
from numba.core.extending import intrinsic

from deepphase.arrays import Array
from deepphase.compiled import compiled
from deepphase.controllers.runtime.int8_kernel import LARGEST, largest_size

OUTS_AT_ONCE = 16
"""Outputs of one instruction: numbers of 32 bits in a register of 512."""
ROWS_AT_ONCE = 2
"""Groups have a multiple of this many rows."""
UNSIGNED = 128
"""Added to weights, as the instruction multiplies unsigned by signed integers."""

_BLOCKS, _MANY = 2, 8
_INTS = ir.VectorType(ir.IntType(32), OUTS_AT_ONCE)
_LONG, _INT = ir.IntType(64), ir.IntType(32)
_ADDRESS = ir.IntType(8).as_pointer()
# Arguments of LLVM's prefetch: for reading, to the second level of the cache, of data.
_TO_READ = [ir.Constant(_INT, number) for number in (0, 2, 1)]


def _tile(rows: int) -> Callable[..., Any]:
    """The product of some rows with two blocks of 16 outputs, in registers from end to end."""

    @intrinsic
    def tile(typing_context, x, x_stride, weights, block_stride, steps, outputs, stride):
        def emit(context, builder, signature, arguments):
            x, x_stride, weights, block_stride, steps, outputs, stride = arguments
            dot = builder.module.declare_intrinsic(
                "llvm.x86.avx512.vpdpbusd.512", (), ir.FunctionType(_INTS, [_INTS] * 3)
            )

            fetch = builder.module.declare_intrinsic(
                "llvm.prefetch", [_ADDRESS], ir.FunctionType(ir.VoidType(), [_ADDRESS, *[_INT] * 3])
            )

            def address(base, step, count):
                return builder.add(base, builder.mul(step, count))

            def at(number):
                return ir.Constant(_LONG, number)

            before = builder.block
            loop, after = (builder.append_basic_block(name) for name in ("fours", "end"))
            builder.branch(loop)
            builder.position_at_end(loop)
            step = builder.phi(_LONG)
            step.add_incoming(at(0), before)
            sums = [[builder.phi(_INTS) for _ in range(_BLOCKS)] for _ in range(rows)]
            factors = [
                builder.load(
                    builder.inttoptr(
                        address(address(weights, block_stride, at(block)), step, at(64)),
                        _INTS.as_pointer(),
                    ),
                    align=1,
                )
                for block in range(_BLOCKS)
            ]
            # More weights than a cache holds pass by in a frame: those of the next blocks come
            # while these are multiplied.
            for block in range(_BLOCKS, 2 * _BLOCKS):
                place = address(address(weights, block_stride, at(block)), step, at(64))
                builder.call(fetch, [builder.inttoptr(place, _ADDRESS), *_TO_READ])
            unset = ir.Constant(_INTS, ir.Undefined)
            grown = []
            for row in range(rows):
                place = address(address(x, x_stride, at(row)), step, at(4))
                four = builder.load(builder.inttoptr(place, _INT.as_pointer()), align=1)
                four = builder.insert_element(unset, four, ir.Constant(_INT, 0))
                four = builder.shuffle_vector(four, unset, ir.Constant(_INTS, [0] * OUTS_AT_ONCE))
                grown.append(
                    [
                        builder.call(dot, [sums[row][block], factors[block], four])
                        for block in range(_BLOCKS)
                    ]
                )
            following = builder.add(step, at(1))
            step.add_incoming(following, loop)
            nothing = ir.Constant(_INTS, [0] * OUTS_AT_ONCE)
            for row in range(rows):
                for block in range(_BLOCKS):
                    sums[row][block].add_incoming(nothing, before)
                    sums[row][block].add_incoming(grown[row][block], loop)
            builder.cbranch(builder.icmp_signed("<", following, steps), loop, after)
            builder.position_at_end(after)
            for row in range(rows):
                for block in range(_BLOCKS):
                    place = builder.add(address(outputs, stride, at(row)), at(64 * block))
                    place = builder.inttoptr(place, _INTS.as_pointer())
                    builder.store(grown[row][block], place, align=1)
            return context.get_dummy_value()

        return void(*[int64] * 7), emit

    return tile


@cache
def compiled_products() -> Callable[..., None]:
    """`group_products`, for a processor that `has_vnni`.

    group_products(x, weights, starts, outputs) fills the outputs:

    x : (rows, ins) int8
    weights : (groups, blocks, ins / 4, 64) uint8
        Of 16 outputs in a block, four inputs for one output side by side; `UNSIGNED` is added.
    starts : (groups + 1,)
        First row of each group, multiples of `ROWS_AT_ONCE`, and the number of rows.
    outputs : (rows, 16 * blocks) int32
        Products with the weights as they are stored, of all rows.
    """
    many, few = _tile(_MANY), _tile(ROWS_AT_ONCE)

    @njit(
        void(int8[:, ::1], uint8[:, :, :, ::1], int64[::1], int32[:, ::1]),
        error_model="numpy",
        nogil=True,
    )
    def group_products(x, weights, starts, outputs):
        blocks, fours = weights.shape[1], weights.shape[2]
        x_stride, stride, panel = x.shape[1], 4 * outputs.shape[1], 64 * fours
        first_x, first_out = x.ctypes.data, outputs.ctypes.data
        for n in range(len(weights)):
            first = weights.ctypes.data + n * blocks * panel
            for block in range(0, blocks, _BLOCKS):
                row = starts[n]
                while row < starts[n + 1]:
                    inside = first_x + row * x_stride
                    out = first_out + row * stride + 64 * block
                    if row + _MANY <= starts[n + 1]:
                        many(inside, x_stride, first + block * panel, panel, fours, out, stride)
                        row += _MANY
                    else:
                        few(inside, x_stride, first + block * panel, panel, fours, out, stride)
                        row += ROWS_AT_ONCE

    return group_products


@njit(error_model="numpy", fastmath={"reassoc"})
def _round(values, rounded, scales, sums, row):
    largest = largest_size(values)
    # No integer stands for NaN: the scale takes it to the outputs.
    if np.isnan(largest):
        scales[row], sums[row] = np.nan, 0
        rounded[:] = int8(0)
        return
    scales[row] = largest / float32(LARGEST)
    finer = float32(LARGEST) / largest
    whole = int32(0)
    for i in range(len(values)):
        number = int32(np.rint(values[i] * finer))
        rounded[i] = int8(number)
        whole = int32(whole + number)
    sums[row] = whole


@njit(error_model="numpy", fastmath={"contract"})
def _exp(value):
    """e^value of a value of at most 0, to six digits: a polynomial that runs on whole registers."""
    powers = max(value, float32(-80.0)) * float32(1.4426950408889634)
    whole = np.floor(powers + float32(0.5))
    rest = (powers - whole) * float32(0.6931471805599453)
    # Taylor's series: the rest is at most .35.
    found = float32(1.0 / 720.0)
    found = found * rest + float32(1.0 / 120.0)
    found = found * rest + float32(1.0 / 24.0)
    found = found * rest + float32(1.0 / 6.0)
    found = found * rest + float32(0.5)
    found = found * rest + float32(1.0)
    found = found * rest + float32(1.0)
    # The exponent's bits of a float32 are a power of two.
    return found * np.int32((int32(whole) + int32(127)) << int32(23)).view(np.float32)


@njit(error_model="numpy", fastmath={"contract"})
def _elu(value):
    return value if value > float32(0.0) else _exp(value) - float32(1.0)


@compiled(
    void(float32[:, ::1], int64[::1], int8[:, ::1], float32[::1], int32[::1]),
    error_model="numpy",
    fastmath={"reassoc"},
)
def round_inputs(inputs, rows, rounded, scales, sums):
    """Round rows of inputs to the integers from -127 to 127, with a scale of their own.

    Parameters
    ----------
    inputs
        (characters, ins).
    rows
        (rows,) place in `inputs` of each row.
    rounded
        (rows, at least ins), filled here; what is beyond the inputs is left as it is.
    scales, sums
        (rows,), filled here: the scales, NaN where a value is not finite, and the sums of the
        integers.
    """
    for row in range(len(rows)):
        _round(inputs[rows[row]], rounded[row], scales, sums, row)


@compiled(
    void(
        *(int32[:, ::1], float32[::1], int32[::1]),
        *(float32[:, ::1], float32[:, ::1], int64[::1], int8[:, ::1]),
    ),
    error_model="numpy",
    fastmath={"reassoc", "contract"},
)
def activate(products, scales, sums, weight_scales, biases, starts, rounded):
    """Turn integer products to the rounded inputs of the next layer: ELU(scale (x W) + b).

    Parameters
    ----------
    products
        (rows, at least outs) integers.
    scales, sums
        (rows,) of the rows' integers; those of the next layer are filled in here.
    weight_scales, biases
        (groups, outs) of the weights.
    starts
        (groups + 1,) first row of each group, and the number of rows.
    rounded
        (rows, at least outs), filled here.
    """
    outs = weight_scales.shape[1]
    values = np.empty(outs, np.float32)
    for group in range(len(weight_scales)):
        for row in range(starts[group], starts[group + 1]):
            size, less = scales[row], int32(UNSIGNED * sums[row])
            for i in range(outs):
                product = float32(products[row, i] - less)
                value = size * weight_scales[group, i] * product + biases[group, i]
                values[i] = _elu(value)
            _round(values, rounded[row], scales, sums, row)


@compiled(
    void(
        *(int32[:, ::1], float32[::1], int32[::1]),
        *(float32[:, ::1], float32[:, ::1], int64[::1], int64[::1], float32[:, ::1]),
    ),
    error_model="numpy",
    fastmath={"contract"},
)
def scale_outputs(products, scales, sums, weight_scales, biases, starts, rows, outputs):
    """Turn integer products to outputs: scale (x W) + b; parameters as for `activate`.

    Parameters
    ----------
    rows
        (rows,) character of each row.
    outputs
        (characters, outs), filled here.
    """
    outs = weight_scales.shape[1]
    for group in range(len(weight_scales)):
        for row in range(starts[group], starts[group + 1]):
            size, less, character = scales[row], int32(UNSIGNED * sums[row]), rows[row]
            for i in range(outs):
                product = float32(products[row, i] - less)
                outputs[character, i] = size * weight_scales[group, i] * product + biases[group, i]


@compiled(
    void(float32[:, ::1], float32[:, ::1], int64[::1], float32, float32[:, ::1]),
    error_model="numpy",
)
def fade_changes(made, left, changed, keep, leaving):
    """Add what is left of the differences between outputs with the last and with these weights.

    Parameters
    ----------
    made
        (characters + changed, outs): the outputs, to which it is added, and those of the changed
        characters with their last weights.
    left
        (characters, outs) what was left of the differences.
    changed
        (changed,) characters whose weights are others than in the last frame, in rising order.
    keep
        Share of a difference that is left after a frame.
    leaving
        (characters, outs), filled here: what is left now.
    """
    count, outs, row = len(left), left.shape[1], 0
    for n in range(count):
        if row < len(changed) and changed[row] == n:
            for i in range(outs):
                leaving[n, i] = keep * left[n, i] + (made[count + row, i] - made[n, i])
            row += 1
        else:
            for i in range(outs):
                leaving[n, i] = keep * left[n, i]
        for i in range(outs):
            made[n, i] += leaving[n, i]


@compiled(void(float32[::1]), error_model="numpy", fastmath={"contract"})
def elu_in_place(values):
    """ELU of values (n,), to six digits."""
    for i in range(len(values)):
        values[i] = _elu(values[i])


@compiled(void(int64[::1], int64[::1], int64[::1]), error_model="numpy")
def sort_into_groups(chosen, starts, rows):
    """Sort characters by their groups, each with a multiple of `ROWS_AT_ONCE` rows.

    Parameters
    ----------
    chosen
        (characters,) group of each.
    starts
        (groups + 1,) first row of each group, and the number of rows; filled here.
    rows
        (at least rows,) character of each row, filled here: rows that fill up a group have its
        first character again.
    """
    count = len(starts) - 1
    starts[:] = 0
    for group in chosen:
        starts[group + 1] += 1
    for group in range(count):
        padded = (starts[group + 1] + ROWS_AT_ONCE - 1) // ROWS_AT_ONCE * ROWS_AT_ONCE
        starts[group + 1] = starts[group] + padded
    following = starts[:-1].copy()
    for character in range(len(chosen)):
        group = chosen[character]
        rows[following[group]] = character
        following[group] += 1
    for group in range(count):
        for place in range(following[group], starts[group + 1]):
            rows[place] = rows[starts[group]]


def packed(weights: Array) -> Array:
    """Weights (groups, ins, outs) of -127 to 127 as `compiled_products` takes them."""
    groups, ins, outs = weights.shape
    width = OUTS_AT_ONCE * _BLOCKS
    filled = np.zeros((groups, -(-ins // 4) * 4, -(-outs // width) * width), np.int16)
    filled[:, :ins, :outs] = weights
    bytes_ = (filled + UNSIGNED).astype(np.uint8)
    fours = bytes_.reshape(groups, filled.shape[1] // 4, 4, -1, OUTS_AT_ONCE)
    # Blocks of 16 outputs, and within them four inputs of one output side by side.
    blocks = fours.transpose(0, 3, 1, 4, 2)
    return np.ascontiguousarray(blocks).reshape(*blocks.shape[:3], 64)
