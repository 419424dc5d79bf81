# SPDX-License-Identifier: Apache-2.0
"""Numbers by a formula: a counter hashed with 32-bit integer arithmetic, so that C++ makes the very same ones
(tests/support/formula_weights.cpp) and golden files hold outputs alone."""
import zlib

import numpy as np
import torch


def hash32(x):
    """Mixes the bits of an array of uint32: two rounds of shift and odd multiplier."""
    x = x.astype(np.uint32)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x7FEB352D)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x846CA68B)
    x ^= x >> np.uint32(16)
    return x


def uniform(name, count):
    """`count` values in [-1, 1), exact multiples of 2^-23, from the CRC-32 of the name and a counter."""
    with np.errstate(over="ignore"):
        seed = hash32(np.array([zlib.crc32(name.encode())], dtype=np.uint32))
        counter = np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B9) + seed
        bits = hash32(counter) >> np.uint32(8)
    return bits.astype(np.float32) * np.float32(2.0**-23) - np.float32(1.0)


def formula(name, shape):
    return torch.from_numpy(uniform(name, int(np.prod(shape)))).reshape(shape)
