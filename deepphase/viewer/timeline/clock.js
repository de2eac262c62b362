// The time of the page. While a song plays, the time follows the position in the song.

import { arrayBytes } from "../tracks/take_data.js";
import { clamp } from "../vectors.js";

const SPEEDS = [0.1, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 4];
// Browsers report the position in a song in steps: smaller differences are smoothed, larger ones
// are taken over at once.
const SONG_SLACK_S = 0.12;

export class Song {
  constructor(song, onProblem, onDuration) {
    Object.assign(this, { start: song.start, duration: song.duration, failed: false, silent: false, waiting: false });
    this.address = URL.createObjectURL(new Blob([arrayBytes(song.data)], { type: song.mime }));
    this.audio = new Audio(this.address);
    this.audio.preload = "auto";
    this.audio.addEventListener("loadedmetadata", () => {
      // Unless another clip has been chosen meanwhile.
      if (!this.address || !Number.isFinite(this.audio.duration)) return;
      this.duration = this.audio.duration;
      onDuration(this.start + this.duration);
    });
    this.fail = () => {
      if (this.failed || !this.address) return;
      this.failed = true;
      this.waiting = false;
      onProblem(`This browser cannot play the song “${song.name}”. It plays without sound; ` +
        "make the page again with the song as .wav, .mp3 or .ogg.");
    };
    this.audio.addEventListener("error", this.fail);
  }

  covers(time) {
    return !this.failed && !this.silent && time >= this.start && time < this.start + this.duration - 0.02;
  }

  get time() { return this.start + this.audio.currentTime; }
  get running() { return !this.audio.paused && !this.audio.ended && !this.waiting; }

  playFrom(time, speed) {
    this.audio.currentTime = Math.max(0, time - this.start);
    this.audio.playbackRate = speed;
    this.waiting = true;
    this.audio.play().catch((problem) => {
      // A pause before playback started is not a failure.
      if (problem.name !== "AbortError") this.fail();
    }).finally(() => { this.waiting = false; });
  }

  pause() {
    this.waiting = false;
    this.audio.pause();
  }

  // The sound as tracks for a film. Once they are made, the sound reaches the loudspeakers on the
  // same way.
  tracks() {
    if (!window.AudioContext || this.failed) return [];
    if (!this.recorded) {
      this.context = new AudioContext();
      const source = this.context.createMediaElementSource(this.audio);
      this.recorded = this.context.createMediaStreamDestination();
      source.connect(this.context.destination);
      source.connect(this.recorded);
    }
    this.context.resume();
    return this.recorded.stream.getAudioTracks();
  }

  release() {
    this.pause();
    const address = this.address;
    this.address = "";
    this.context?.close();
    this.audio.removeAttribute("src");
    URL.revokeObjectURL(address);
  }
}

export class Clock {
  constructor(onChange) {
    Object.assign(this, { onChange, time: 0, duration: 0, fps: 60, speed: 1, loop: true, playing: false, song: null, last: 0 });
    // Called where the reader has stopped at a moment.
    this.onRest = () => {};
  }

  open(take, song) {
    this.song?.release();
    Object.assign(this, { song, fps: take.fps, duration: take.duration, time: 0, last: 0 });
    this.onChange();
  }

  get frame() { return Math.round(this.time * this.fps); }
  get frames() { return Math.floor(this.duration * this.fps + 1e-6) + 1; }

  toggle() {
    if (!this.playing) return this.play();
    this.pause();
    this.onRest();
  }

  play() {
    if (this.duration <= 0) return;
    if (this.time >= this.duration - 0.5 / this.fps) this.time = 0;
    this.playing = true;
    this.last = 0;
    if (this.song?.covers(this.time)) this.song.playFrom(this.time, this.speed);
    this.onChange();
  }

  pause() {
    this.playing = false;
    this.song?.pause();
    this.onChange();
  }

  seek(time) {
    this.time = clamp(time, 0, this.duration);
    if (this.playing && this.song) {
      this.song.covers(this.time) ? this.song.playFrom(this.time, this.speed) : this.song.pause();
    }
    this.onChange();
    if (!this.playing) this.onRest();
  }

  step(frames) {
    if (this.playing) this.pause();
    this.seek(clamp(this.frame + frames, 0, this.frames - 1) / this.fps);
  }

  setSpeed(speed) {
    this.speed = speed;
    if (this.song) this.song.audio.playbackRate = speed;
    this.onChange();
  }

  changeSpeed(direction) {
    const next = direction > 0 ? SPEEDS.find((speed) => speed > this.speed) : SPEEDS.findLast((speed) => speed < this.speed);
    if (next) this.setSpeed(next);
  }

  // Called once per animation frame; `now` in milliseconds.
  tick(now) {
    const passed = this.last ? Math.min((now - this.last) / 1000, 0.25) : 0;
    this.last = now;
    if (!this.playing) return;
    const song = this.song;
    if (song?.waiting) return;
    if (song?.running) {
      const expected = this.time + passed * this.speed;
      const difference = song.time - expected;
      this.time = Math.abs(difference) > SONG_SLACK_S ? song.time : expected + 0.1 * difference;
    } else {
      this.time += passed * this.speed;
      if (song?.covers(this.time)) song.playFrom(this.time, this.speed);
    }
    if (this.time < this.duration) return;
    if (this.loop) return this.seek(0);
    this.time = this.duration;
    this.pause();
  }
}
