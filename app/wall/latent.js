// One fixed latent, large, through all epochs and in all runs that share it: a dialog that is opened by the wall and by a run's
// player. Its runs are what `followed` makes of those that wall.js describes.

const EACH = 700; // milliseconds of an epoch that is played
const FETCHED = 3; // epochs that are fetched before they are needed

function stripUrl(run, grids, size, first, count) {
  const named = grids.map((grid) => (grid ? `${grid.epoch}.${grid.attempt}` : "-")).join();
  return `/api/runs/${run.id}/strips.png?grids=${named}&size=${size}&first=${first}&count=${count}`;
}

// the address of the page names what is open, so that it can be shared; null takes a name out of it
function address(changes) {
  const changed = new URL(window.location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) changed.searchParams.delete(name);
    else changed.searchParams.set(name, value);
  }
  window.history.replaceState(window.history.state, "", changed);
}

function measured({ label, digits }, value) {
  return `${label} ${value.toFixed(digits)}`;
}

// a run as the dialog has it: its grids, and what was measured by epoch in words
function followed(run, { columns, metric }) {
  const grids = columns.map((epoch, place) => ({ epoch, attempt: run.attempts[place] })).filter(({ attempt }) => attempt !== null);
  return { ...run, grids, metric: Object.fromEntries(metric ? run.points.map(([at, value]) => [at, measured(metric, value)]) : []) };
}

class Latent {
  // `closed` is called once it is closed
  constructor(dialog, closed = () => {}) {
    this.dialog = dialog;
    this.find = (selector) => dialog.querySelector(selector);
    this.timer = null;
    this.ahead = new Map();
    this.slider = this.find("input");
    this.slider.addEventListener("input", () => this.choose(Number(this.slider.value)));
    const actions = {
      "latent-before": () => this.number(this.latent - 1),
      "latent-after": () => this.number(this.latent + 1),
      before: () => this.choose(this.index - 1),
      after: () => this.choose(this.index + 1),
      play: () => (this.timer === null ? this.play() : this.pause()),
      close: () => dialog.close(),
    };
    for (const [name, act] of Object.entries(actions)) this.button(name).addEventListener("click", act);
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close()); // beside it
    dialog.addEventListener("keydown", (event) => this.key(event));
    dialog.addEventListener("close", () => {
      this.pause();
      address({ latent: null, of: null, at: null });
      closed();
    });
  }

  button(name) {
    return this.find(`[data-do=${name}]`);
  }

  // `latent` counts from 0; `about` says who shares it; `word` is what an image is made from
  open({ runs, latent, epoch, about, word }) {
    this.runs = runs;
    this.word = word;
    this.epochs = [...new Set(runs.flatMap((run) => run.grids.map((grid) => grid.epoch)))].sort((a, b) => a - b);
    this.count = Math.max(...runs.map((run) => run.latents));
    this.latent = Math.max(0, Math.min(latent, this.count - 1));
    const at = this.epochs.findLastIndex((known) => known <= epoch);
    this.index = at < 0 ? 0 : at;
    this.find(".about").textContent = about;
    this.find(".large").classList.toggle("one", runs.length === 1);
    this.find(".large").replaceChildren(...runs.map((run) => this.figure(run)));
    this.slider.max = this.epochs.length - 1;
    if (!this.dialog.open) this.dialog.showModal();
    this.show();
    this.button("play").focus();
  }

  figure(run) {
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    caption.append(run.name, document.createElement("small"));
    caption.style.setProperty("--run", run.colour);
    figure.append(new Image(), caption);
    return figure;
  }

  key(event) {
    if (event.target === this.slider || event.altKey || event.ctrlKey || event.metaKey) return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) this.choose(this.index + step);
    event.stopPropagation(); // keys of the page do nothing here
  }

  number(latent) {
    this.latent = (latent + this.count) % this.count;
    this.show();
  }

  choose(index) {
    this.pause();
    this.index = Math.max(0, Math.min(index, this.epochs.length - 1));
    this.show();
  }

  play() {
    if (this.index === this.epochs.length - 1) this.index = 0;
    this.timer = 0;
    this.show();
    this.later();
  }

  later() {
    this.timer = setTimeout(async () => {
      if (!this.dialog.isConnected || this.index === this.epochs.length - 1) return this.pause();
      await Promise.allSettled(this.runs.map((run) => this.fetched(run, this.index + 1)));
      if (this.timer === null) return undefined; // paused meanwhile
      this.index += 1;
      this.show();
      return this.later();
    }, EACH);
  }

  pause() {
    if (this.timer === null) return;
    clearTimeout(this.timer);
    this.timer = null;
    this.show();
  }

  grid(run, index) {
    return run.grids.findLast((grid) => grid.epoch <= this.epochs[index]);
  }

  // resolves once the browser has the image
  fetched(run, index) {
    const grid = this.grid(run, index);
    if (!grid) return Promise.resolve();
    const url = stripUrl(run, [grid], run.size, this.latent, 1);
    if (!this.ahead.has(url)) {
      const image = new Image();
      image.src = url;
      this.ahead.set(url, image.decode());
      if (this.ahead.size > 256) this.ahead.delete(this.ahead.keys().next().value);
    }
    return this.ahead.get(url);
  }

  show() {
    const epoch = this.epochs[this.index];
    const words = epoch === 0 ? "Before training" : `After epoch ${epoch}`;
    this.find("h3").textContent = `${this.word} ${this.latent + 1} of ${this.count}`;
    this.slider.value = this.index;
    this.slider.setAttribute("aria-valuetext", words);
    this.find("output").textContent = `${words} · ${this.index + 1} of ${this.epochs.length}`;
    this.button("play").textContent = this.timer === null ? "Play" : "Pause";
    this.button("play").disabled = this.epochs.length < 2;
    this.button("before").disabled = this.index === 0;
    this.button("after").disabled = this.index === this.epochs.length - 1;
    for (const name of ["latent-before", "latent-after"]) this.button(name).disabled = this.count < 2;
    this.runs.forEach((run, place) => this.put(run, this.find(".large").children[place], epoch));
    if (this.timer === null) this.remember(epoch);
    for (let step = 1; step <= FETCHED && this.index + step < this.epochs.length; step += 1) {
      for (const run of this.runs) this.fetched(run, this.index + step).catch(() => {});
    }
  }

  put(run, figure, epoch) {
    const image = figure.querySelector("img");
    const grid = this.grid(run, this.index);
    const has = Boolean(grid) && this.latent < run.latents;
    image.style.visibility = has ? "" : "hidden";
    let said = "No image up to this epoch";
    if (has) {
      const url = stripUrl(run, [grid], run.size, this.latent, 1);
      if (image.getAttribute("src") !== url) image.src = url;
      said = grid.epoch === epoch ? "" : `${grid.epoch === 0 ? "Before training" : `Epoch ${grid.epoch}`}, its last before ${epoch}`;
      said = [said, run.metric[grid.epoch]].filter(Boolean).join(" · ");
    }
    image.alt = `${run.name}, ${this.word.toLowerCase()} ${this.latent + 1}, epoch ${grid?.epoch ?? epoch}`;
    figure.querySelector("small").textContent = said;
  }

  remember(epoch) {
    const several = this.runs.length > 1 || new URL(window.location.href).searchParams.has("runs");
    address({ latent: this.latent + 1, of: several ? this.runs[0].id : null, at: epoch });
  }
}
