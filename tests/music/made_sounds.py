"""Sounds whose beats are known, or that have none."""

import io

import numpy as np
import soundfile

from deepphase.music.audio import SAMPLE_RATE


def clicks(bpm, seconds=30.0, *, first=0.3):
    """(samples,) short tones of 1000 Hz, and the seconds of them."""
    moments = np.arange(first, seconds, 60 / bpm)
    time = np.arange(int(0.03 * SAMPLE_RATE)) / SAMPLE_RATE
    click = np.sin(2 * np.pi * 1000 * time) * np.exp(-time / 0.008)
    samples = np.zeros(int(seconds * SAMPLE_RATE), np.float32)
    for moment in moments:
        start = round(moment * SAMPLE_RATE)
        part = click[: len(samples) - start]
        samples[start : start + len(part)] += part
    return samples, moments


def white_noise(seconds, seed=0):
    generator = np.random.default_rng(seed)
    return (0.1 * generator.standard_normal(round(seconds * SAMPLE_RATE))).astype(np.float32)


def babble(seconds, seed=0):
    """Speech as far as its rhythm goes: voiced and hissed syllables of random length and pause."""
    generator = np.random.default_rng(seed)
    samples = np.zeros(round(seconds * SAMPLE_RATE))
    moment = 0.2
    while moment < seconds - 0.5:
        length = generator.uniform(0.08, 0.3)
        time = np.arange(int(length * SAMPLE_RATE)) / SAMPLE_RATE
        pitch, formant = generator.uniform(90, 160), generator.uniform(400, 2500)
        sound = sum(
            np.sin(2 * np.pi * pitch * h * time + generator.uniform(0, 6))
            / h
            * np.exp(-(((pitch * h - formant) / 500) ** 2))
            for h in range(1, 25)
        )
        if generator.uniform() < 0.3:
            sound = 0.3 * generator.standard_normal(len(time))
        start = int(moment * SAMPLE_RATE)
        samples[start : start + len(time)] += sound * np.hanning(len(time))
        pause = generator.exponential(0.06) if generator.uniform() < 0.8 else 0.45
        moment += length + pause
    return (0.7 * samples / np.abs(samples).max()).astype(np.float32)


def file_bytes(samples, rate=SAMPLE_RATE, format="WAV", subtype=None):
    """The bytes of a sound file of samples (samples,) or (samples, channels)."""
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format=format, subtype=subtype)
    return file.getvalue()


def f_measure(found, true, within=0.07):
    """F-measure of moments: each true one is met by at most one that is `within` seconds near."""
    met = set()
    for moment in true:
        if len(found):
            near = int(np.argmin(np.abs(found - moment)))
            if abs(found[near] - moment) <= within:
                met.add(near)
    return 2 * len(met) / max(len(found) + len(true), 1)
