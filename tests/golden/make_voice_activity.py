# SPDX-License-Identifier: Apache-2.0
"""Writes voice_activity/probabilities.safetensors: what Silero VAD 6.2.3 makes of some seconds of sound at 16,000 Hz.

Usage: DEV=CPU python make_voice_activity.py SITE        (needs numpy, safetensors, soundfile, tinygrad 0.14, clang)

SITE is the folder that silero_vad-6.2.3-py3-none-any.whl was unpacked to. The sound is not stored: C++ makes the same
(tests/clips/voice_activity_test.cpp) of audio/speech.wav, whose samples are taken as if they were at 16,000 Hz.

The wheel's own network for silero_vad_16k.safetensors is its tinygrad_model.py. Its ONNX files hold the weights of another
training of the same network, whose probabilities differ by up to 0.5.
"""
import pathlib
import sys

import numpy as np
import soundfile
from safetensors.numpy import save_file
from tinygrad import Tensor
from tinygrad.nn.state import load_state_dict, safe_load

HERE = pathlib.Path(__file__).parent
WINDOW, CONTEXT = 512, 64


def sound():
    """Speech, a tone, quiet speech with a hum, silence, speech again; no whole number of windows."""
    speech, _ = soundfile.read(HERE / "audio/speech.wav", dtype="float32")
    time = np.arange(len(speech), dtype=np.float64)
    tone = (0.2 * np.sin(time * 0.1)).astype(np.float32)
    hum = (0.02 * np.sin(time * 0.02)).astype(np.float32)
    return np.concatenate([speech, tone[:9000], 0.1 * speech + hum, np.zeros(9000, np.float32), speech[:20001]])


def probabilities(network, samples):
    """Window by window, each with the end of the one before."""
    count = -(-len(samples) // WINDOW)
    padded = np.pad(samples, (CONTEXT, count * WINDOW - len(samples)))
    state = None
    found = []
    for start in range(0, count * WINDOW, WINDOW):
        output, state = network(Tensor(padded[None, start:start + CONTEXT + WINDOW]), state)
        state = state.realize()
        found.append(output.numpy()[0, 0])
    return np.array(found, np.float32)


def main():
    package = pathlib.Path(sys.argv[1]) / "silero_vad"
    sys.path.insert(0, str(package))
    from tinygrad_model import TinySileroVAD

    network = TinySileroVAD()
    load_state_dict(network, safe_load(str(package / "data/silero_vad_16k.safetensors")))
    found = probabilities(network, sound())
    save_file({"probabilities": found}, HERE / "voice_activity/probabilities.safetensors")
    print(f"{len(found)} windows, from {found.min():.4f} to {found.max():.4f}, {np.mean(found > 0.5):.2f} of them speech")


if __name__ == "__main__":
    main()
