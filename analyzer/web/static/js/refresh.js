// The heartbeat of the page: load now, then again every so often, never while hidden or paused, never twice at once.

export class Refresher {
  /** @param load async function; @param changed called whenever paused or the period changes */
  constructor(load, changed) {
    this.load = load;
    this.changed = changed;
    this.paused = false;
    this.period = null;
    this.timer = null;
    document.addEventListener('visibilitychange', () => (document.hidden ? this.#stop() : this.now()));
  }

  /** Load at once, then every `period` seconds; null: only when asked. */
  restart(period) {
    this.period = period;
    this.changed();
    return this.now();
  }

  toggle() {
    this.paused = !this.paused;
    this.changed();
    if (this.paused) this.#stop();
    else this.now();
  }

  async now() {
    this.#stop();
    try {
      await this.load();
    } finally {
      this.#stop();
      if (this.period && !this.paused && !document.hidden) this.timer = setTimeout(() => this.now(), this.period * 1000);
    }
  }

  #stop() {
    clearTimeout(this.timer);
    this.timer = null;
  }
}
