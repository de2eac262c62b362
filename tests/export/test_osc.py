"""Messages of Open Sound Control: the bytes of the specification, and what is refused."""

import math
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepphase.errors import ParameterError
from deepphase.export.osc import osc_datagram, osc_messages

# The examples of the specification.
FREQUENCY = bytes.fromhex("2f6f7363696c6c61746f722f342f6672657175656e637900 2c660000 43dc0000")
FOO = bytes.fromhex(
    "2f666f6f00000000 2c69697366660000 000003e8 ffffffff 68656c6c6f000000 3f9df3b6 40b5b22d"
)

numbers = st.one_of(
    st.integers(-(2**31), 2**31 - 1),
    st.floats(width=32, allow_nan=False),
    st.text().map(lambda text: text.replace("\0", "")),
)


def test_the_examples_of_the_specification_are_read():
    assert osc_messages(FREQUENCY) == [("/oscillator/4/frequency", (440.0,))]
    ((address, values),) = osc_messages(FOO)
    assert address == "/foo"
    assert values[:3] == (1000, -1, "hello")
    assert values[3:] == pytest.approx((1.234, 5.678))


def test_a_message_in_a_bundle_has_the_bytes_of_the_specification():
    bundle = osc_datagram([("/oscillator/4/frequency", (440.0,))])
    assert bundle[:16] == b"#bundle\0" + struct.pack(">Q", 1)
    assert bundle[16:] == struct.pack(">i", len(FREQUENCY)) + FREQUENCY


@given(st.lists(st.tuples(st.sampled_from(["/a", "/VMC/Ext/T"]), st.lists(numbers).map(tuple))))
def test_what_is_packed_is_unpacked(messages):
    assert osc_messages(osc_datagram(messages)) == messages


@given(st.binary(max_size=200), st.booleans())
def test_other_bytes_are_refused_with_one_error(content, in_bundle):
    with suppress(ParameterError):
        osc_messages(b"#bundle\0" + bytes(8) + content if in_bundle else content)


def test_bundles_within_bundles_end():
    content = FREQUENCY
    for _ in range(200):
        content = b"#bundle\0" + bytes(8) + struct.pack(">i", len(content)) + content
    with pytest.raises(ParameterError):
        osc_messages(content)


def test_not_a_number_is_passed_on_for_the_receiver_to_judge():
    ((_, (value,)),) = osc_messages(osc_datagram([("/a", (math.nan,))]))
    assert math.isnan(value)
