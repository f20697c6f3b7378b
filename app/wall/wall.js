// The latent wall with its curves. widget.py puts the other files of this folder in front of this text. The data are
// { columns: [epoch], latents, word, runs: [{ id, name, colour, dash, group, latents, size, attempts: [attempt or null], points:
// [[epoch, value]] }], about: [sentence of each group], metric: { label, digits } or null, megabytes, open: { latent, run, epoch } }.

const STILL = 5; // pixels that a pointer may move and still click
const DOUBLE = 260; // milliseconds within which a second click may come

class Wall {
  constructor(root) {
    this.root = root;
    this.find = (selector) => root.querySelector(selector);
    this.canvas = this.find(".tiles");
    this.said = this.find("output");
    this.mark = null; // { run, latent or null, column }
    this.pointers = new Map();
    this.waiting = false;
    this.latent = new Latent(this.find("dialog"));
    this.curve = new Curve(this.find(".curve"), (found) => this.fromCurve(found));
    const actions = {
      out: () => this.zoom(1 / 1.4),
      in: () => this.zoom(1.4),
      reset: () => this.reset(),
      enlarge: () => this.enlarge(),
    };
    for (const [name, act] of Object.entries(actions)) this.find(`[data-do=${name}]`).addEventListener("click", act);
    this.listen();
    this.sizes = new ResizeObserver(() => {
      this.arrange();
      this.draw();
    });
    this.sizes.observe(root);
    this.sizes.observe(this.canvas);
    this.sizes.observe(this.find(".curve"));
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => this.up(event));
    canvas.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && !this.pointers.size && this.choose(null));
    canvas.addEventListener("dblclick", () => this.byMouse && this.reset());
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  update(data) {
    const first = !this.data;
    this.data = data;
    this.strips ??= new Strips(data.megabytes * 1e6, () => this.draw());
    this.view ??= new View(this.canvas, this.strips);
    for (const run of data.runs) {
      run.columns = data.columns.map((epoch, place) => (run.attempts[place] === null ? null : { epoch, attempt: run.attempts[place] }));
      run.values = new Map(run.points);
    }
    if (this.mark && (this.mark.run >= data.runs.length || this.mark.column >= data.columns.length)) this.mark = null;
    this.view.update(data);
    const { runs, columns, latents, word } = data;
    const size = `${runs.length} ${runs.length === 1 ? "run" : "runs"}, ${latents} ${word.toLowerCase()}s, ${columns.length} epochs`;
    this.canvas.setAttribute("aria-label", `Wall of images: ${size}. Arrow keys move, plus and minus zoom, Enter enlarges.`);
    this.find(".quality").hidden = !data.metric;
    if (data.metric) {
      this.find("strong").textContent = data.metric.label;
      this.find(".curve").setAttribute("aria-label", `${data.metric.label} by epoch. Arrow keys move between evaluations and runs.`);
      this.curve.update(runs, data.metric.label, Math.max(...columns, ...runs.flatMap((run) => run.points.map(([epoch]) => epoch))));
    }
    this.arrange();
    this.draw();
    this.say();
    if (first && data.open) this.opened(data.open);
  }

  opened({ latent, run, epoch }) {
    const place = Math.max(0, this.data.runs.findIndex((one) => one.id === run));
    const column = this.data.columns.findLastIndex((known) => known <= epoch);
    this.mark = { run: place, latent: Math.min(latent, this.data.latents - 1), column: column < 0 ? this.data.columns.length - 1 : column };
    this.open(place, latent, epoch);
  }

  // the curve stands beside a wall that leaves room for it
  arrange() {
    const { view, root } = this;
    view.fit(root.clientWidth);
    root.style.setProperty("--rows", `${Math.ceil(view.layout.rows * view.first) + TOP}px`);
    const wide = view.left + view.layout.columns * view.first;
    const narrow = !view.banded && wide < 0.6 * root.clientWidth && root.clientWidth > 800;
    this.find(".body").classList.toggle("beside", Boolean(this.data.metric) && narrow);
  }

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (!this.canvas.isConnected) return;
      const style = getComputedStyle(this.root);
      const of = (name) => style.getPropertyValue(name).trim();
      const look = {
        font: style.fontFamily, text: of("--st-text-color"), grey: of("--st-gray-text-color") || of("--st-text-color"),
        border: of("--st-border-color"), ground: of("--st-background-color"), strong: of("--st-primary-color"),
      };
      this.view.draw(this.mark, look);
      this.canvas.ariaBusy = this.strips.busy;
      this.canvas.classList.toggle("whole", this.view.whole);
      if (this.data.metric) this.curve.draw(this.mark && this.onCurve(), look);
    });
  }

  onCurve() {
    const { run, column } = this.mark;
    const epoch = this.mark.epoch ?? this.data.columns[column];
    return { run, epoch, point: this.data.runs[run].points.findIndex(([own]) => own === epoch) };
  }

  // mark a tile, or none
  choose(mark, { reveal = false } = {}) {
    const same = JSON.stringify(mark) === JSON.stringify(this.mark);
    if (same && !reveal) return;
    this.mark = mark;
    this.curve.mark = mark && this.onCurve(); // keys may come faster than frames
    if (mark && reveal) {
      this.view.touched = true;
      this.view.reveal(mark);
    }
    this.draw();
    this.say();
  }

  fromCurve(found) {
    if (!found) {
      if (this.mark?.latent === null) this.choose(null);
      return;
    }
    const [epoch] = this.data.runs[found.run].points[found.point];
    const { columns } = this.data.runs[found.run];
    const column = columns.findLastIndex((grid) => grid && grid.epoch <= epoch);
    if (column >= 0) this.choose({ run: found.run, latent: null, column, epoch }, { reveal: true });
  }

  say() {
    const { mark, data } = this;
    this.find("[data-do=enlarge]").disabled = !mark;
    if (!mark) {
      this.said.textContent = this.strips.failures ? "Some images could not be loaded; trying again." : "";
      return;
    }
    const run = data.runs[mark.run];
    const epoch = mark.epoch ?? data.columns[mark.column];
    const parts = data.runs.length > 1 ? [run.name] : [];
    parts.push(epoch === 0 ? "before training" : `epoch ${epoch}`);
    if (mark.latent !== null) parts.push(`${data.word.toLowerCase()} ${mark.latent + 1} of ${run.latents}`);
    const grid = run.columns[mark.column];
    if (!grid) parts.push("no image at this epoch");
    else if (grid.epoch !== epoch) parts.push(`images of epoch ${grid.epoch}, the last until then`);
    if (data.metric) {
      const value = run.values.get(epoch);
      parts.push(value === undefined ? `${data.metric.label} not evaluated here` : measured(data.metric, value));
    }
    this.said.textContent = parts.join(" · ");
  }

  zoom(factor, x, y) {
    this.view.zoom(factor, x, y);
    this.draw();
  }

  reset() {
    clearTimeout(this.clicked);
    this.view.reset();
    this.draw();
  }

  enlarge() {
    const { mark } = this;
    if (mark) this.open(mark.run, mark.latent ?? 0, this.data.columns[mark.column]);
  }

  // the dialog: of this run and of those that share its latents
  open(place, latent, epoch) {
    const { runs, about, word } = this.data;
    const own = runs[place];
    const sharing = own.group === null ? [own] : [own, ...runs.filter((run) => run !== own && run.group === own.group)];
    this.latent.open({ runs: sharing.map((run) => followed(run, this.data)), latent, epoch, word, about: own.group === null ? "" : about[own.group] });
  }

  // --- pointers and keys ---

  wheel(event) {
    if (event.deltaY > 0 && this.view.whole) return; // nothing is left to zoom out: the page scrolls
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    this.zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.002)), event.offsetX, event.offsetY);
  }

  down(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    this.moved = this.pointers.size > 1 ? Infinity : 0;
  }

  move(event) {
    const here = { x: event.offsetX, y: event.offsetY };
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType === "mouse") this.choose(this.view.tile(here.x, here.y));
      return;
    }
    const [dx, dy] = [here.x - before.x, here.y - before.y];
    this.moved += Math.abs(dx) + Math.abs(dy);
    if (this.moved < STILL) return;
    this.canvas.classList.add("dragged");
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const distance = (point) => Math.max(1, Math.hypot(point.x - other.x, point.y - other.y));
      this.view.zoom(distance(here) / distance(before), (here.x + other.x) / 2, (here.y + other.y) / 2);
    }
    this.view.pan(dx / this.pointers.size, dy / this.pointers.size);
    this.pointers.set(event.pointerId, here);
    this.draw();
  }

  up(event) {
    const known = this.pointers.delete(event.pointerId);
    this.canvas.classList.remove("dragged");
    if (!known || event.type === "pointercancel" || this.moved >= STILL) return;
    const tile = this.view.tile(event.offsetX, event.offsetY);
    this.byMouse = event.pointerType === "mouse";
    const again = JSON.stringify(tile) === JSON.stringify(this.mark);
    this.choose(tile);
    clearTimeout(this.clicked);
    if (!tile || !(again || this.byMouse)) return; // the first touch marks, the second one enlarges
    this.clicked = setTimeout(() => this.enlarge(), DOUBLE); // unless a double click resets the view
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -Infinity], End: [0, Infinity] };
    const others = { "+": () => this.zoom(1.4), "=": () => this.zoom(1.4), "-": () => this.zoom(1 / 1.4), 0: () => this.reset(), Enter: () => this.enlarge() };
    if (others[event.key]) others[event.key]();
    else if (steps[event.key]) this.step(...steps[event.key]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  step(down, right) {
    const last = this.data.columns.length - 1;
    const to = { "-Infinity": 0, Infinity: last }[right];
    const { run, latent, column } = this.mark ?? { run: 0, latent: 0, column: last };
    const at = { run, latent: latent ?? 0, column };
    if (to !== undefined) at.column = to;
    const next = this.mark && to === undefined ? this.view.layout.step(at, down, right) : at;
    this.choose(next, { reveal: true });
  }

  dispose() {
    this.sizes.disconnect();
    clearTimeout(this.clicked);
    this.latent.pause();
    this.strips.dispose();
  }
}

const walls = new Map();

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".wall");
  if (!walls.has(root)) walls.set(root, new Wall(root));
  walls.get(root).update(JSON.parse(new TextDecoder().decode(data)));
  return () => setTimeout(() => {
    if (root.isConnected) return; // an update
    walls.get(root)?.dispose();
    walls.delete(root);
  });
}
