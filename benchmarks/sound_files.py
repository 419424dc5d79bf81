# SPDX-License-Identifier: Apache-2.0
"""Sound files in and out through libsndfile, for machines whose Python has no package for it."""
import ctypes

import numpy

READ, WRITE = 0x10, 0x20
FLAC_16 = 0x170000 | 0x0002


class Info(ctypes.Structure):
    _fields_ = [("frames", ctypes.c_int64), ("samplerate", ctypes.c_int), ("channels", ctypes.c_int),
                ("format", ctypes.c_int), ("sections", ctypes.c_int), ("seekable", ctypes.c_int)]


def library():
    found = ctypes.CDLL("libsndfile.so.1")
    found.sf_open.restype = ctypes.c_void_p
    found.sf_strerror.restype = ctypes.c_char_p
    for function in (found.sf_readf_short, found.sf_writef_short):
        function.restype = ctypes.c_int64
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    found.sf_close.argtypes = [ctypes.c_void_p]
    return found


SNDFILE = library()


def open_file(path, mode, info):
    handle = SNDFILE.sf_open(str(path).encode(), mode, ctypes.byref(info))
    if not handle:
        raise OSError(f"{path}: {SNDFILE.sf_strerror(None).decode()}")
    return handle


def read(path):
    """Samples [frames, channels] int16, and their rate."""
    info = Info()
    handle = open_file(path, READ, info)
    samples = numpy.empty((info.frames, info.channels), numpy.int16)
    got = SNDFILE.sf_readf_short(handle, samples.ctypes.data, info.frames)
    SNDFILE.sf_close(handle)
    return samples[:got], info.samplerate


def write_flac(path, samples, rate):
    """One channel of int16."""
    samples = numpy.ascontiguousarray(samples, numpy.int16)
    handle = open_file(path, WRITE, Info(samplerate=rate, channels=1, format=FLAC_16))
    written = SNDFILE.sf_writef_short(handle, samples.ctypes.data, len(samples))
    SNDFILE.sf_close(handle)
    if written != len(samples):
        raise OSError(f"{path}: {written} of {len(samples)} samples written")
