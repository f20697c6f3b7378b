// One Plotly figure that is changed in place: Plotly.react keeps zoom, hover, camera and legend choices across updates.
// live_plotly.py puts constants in front of this text: TEMPLATES, the light and the dark look,
// DARK, what stands for some colours on the dark ground, and CONFIG, the buttons over the figure (worker/figures/mode_bar.py).

function isDark(element) {
  return getComputedStyle(element).colorScheme.includes("dark");
}

const NEEDS_WEBGL = {
  scatter3d: "This browser has no WebGL, which 3-D needs: choose the 2-D view.",
  parcoords: "This browser has no WebGL, which parallel coordinates need: the table below has the same numbers.",
};

let webgl = null;

function hasWebgl() {
  if (webgl === null) {
    const context = document.createElement("canvas").getContext("webgl");
    webgl = context !== null;
    context?.getExtension("WEBGL_lose_context")?.loseContext(); // browsers allow only a few contexts
  }
  return webgl;
}

// The angle of a scene's camera is that of its height: where it is narrow, the sides and the titles there would be cut off.
function stepBack({ scene, height }, width) {
  const eye = scene?.camera?.eye;
  const times = ((1.2 * height) / width) ** 1.5; // titles keep their size: a small cube needs more room around it
  if (eye && width > 0 && times > 1) for (const axis of "xyz") eye[axis] *= times;
}

function decoded(data, dark) {
  let text = new TextDecoder().decode(data);
  if (dark) for (const [colour, lighter] of Object.entries(DARK)) text = text.replaceAll(`"${colour}`, `"${lighter}`);
  const figure = JSON.parse(text);
  for (const trace of figure.data) if (Array.isArray(trace.meta)) append(trace);
  return figure;
}

// dots of runs: each name, and the settings that its customdata's last number stands for
function append(trace) {
  trace.text = trace.text.map((name, i) => `<b>${name}</b>${trace.meta[trace.customdata[i].at(-1)]}`);
}

const LIST = "live-plotly-eyes";
const SVG = "http://www.w3.org/2000/svg";
const EYE = "M2 12q10-14 20 0q-10 14-20 0zM9 12a3 3 0 1 0 6 0a3 3 0 1 0-6 0z";

function eye(closed) {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", closed ? `${EYE}M4 21 20 3` : EYE);
  svg.append(path);
  return svg;
}

// a curve may have several traces, which are a group of the legend
function curveOf({ legendgroup, uid }) {
  return legendgroup || uid;
}

const NARROW = 600; // pixels: names at the ends of curves would take too much of it; the legend has them too

function withoutWords({ data, layout }) {
  const drawn = data.filter((trace) => trace.mode !== "text");
  if (drawn.length < data.length && layout.margin) delete layout.margin.r;
  return drawn;
}

class Chart {
  constructor(element) {
    this.element = element;
    this.held = false; // a pointer is down: an update now would break the drag off
    this.wanted = null;
    this.newest = null; // of all that were shown
    this.drawn = false; // at least a sketch
    this.hidden = new Set(); // curves whose eyes are closed
    this.hold = () => { this.held = true; };
    this.release = () => {
      this.held = false;
      setTimeout(() => this.draw()); // after Plotly has ended the drag
    };
    element.addEventListener("pointerdown", this.hold);
    window.addEventListener("pointerup", this.release);
    window.addEventListener("pointercancel", this.release);
    this.sizes = new ResizeObserver(() => requestAnimationFrame(() => this.fit()));
    this.sizes.observe(element);
  }

  show(figure, dark) {
    figure.layout.template = dark ? TEMPLATES.dark : TEMPLATES.light;
    this.wanted = this.newest = figure;
    this.element.style.height = `${figure.layout.height}px`;
    if (figure.eyes) this.list(figure.eyes);
    return this.draw();
  }

  // a list of curves below the figure; a button before each name hides its curve
  list(eyes) {
    const shown = JSON.stringify(eyes);
    if (this.listed === shown) return;
    this.listed = shown;
    const list = document.createElement("ul");
    list.className = LIST;
    list.append(...eyes.map((eye) => this.eye(eye)));
    const before = this.element.parentElement.querySelector(`.${LIST}`);
    if (before) before.replaceWith(list);
    else this.element.after(list);
  }

  eye({ curve, name, colour }) {
    const entry = document.createElement("li");
    const button = Object.assign(document.createElement("button"), { type: "button" });
    const dot = document.createElement("i");
    dot.style.background = colour;
    const words = Object.assign(document.createElement("span"), { textContent: name, title: name });
    const look = () => {
      const hidden = this.hidden.has(curve);
      entry.classList.toggle("hidden", hidden);
      button.replaceChildren(eye(hidden));
      button.setAttribute("aria-label", `${hidden ? "Show" : "Hide"} ${name}`);
      button.title = hidden ? "Show its curve" : "Hide its curve";
    };
    button.addEventListener("click", () => {
      if (!this.hidden.delete(curve)) this.hidden.add(curve);
      look();
      this.toggle(curve);
    });
    look();
    entry.append(button, dot, words);
    return entry;
  }

  toggle(curve) {
    const traces = this.element.data ?? [];
    const own = traces.map((_, place) => place).filter((place) => curveOf(traces[place]) === curve);
    if (own.length) window.Plotly.restyle(this.element, { visible: !this.hidden.has(curve) }, own);
  }

  async draw() {
    if (this.held || this.wanted === null) return;
    let library;
    try {
      library = await window.loadPlotly(); // of app/web/index.py
    } catch (error) {
      this.say("The chart library could not be loaded: reload the page.");
      return;
    }
    const figure = this.wanted; // the newest, should several have waited for the library
    if (figure === null || !this.element.isConnected || this.held) return;
    this.wanted = null;
    if (figure.data.some((trace) => trace.type in NEEDS_WEBGL) && !hasWebgl()) {
      this.say(NEEDS_WEBGL[figure.data.find((trace) => trace.type in NEEDS_WEBGL).type]);
      return;
    }
    if (!this.drawn) this.element.replaceChildren();
    stepBack(figure.layout, this.element.offsetWidth);
    if (this.element.offsetWidth < NARROW) figure.data = withoutWords(figure);
    const first = !this.drawn;
    this.drawn = true;
    for (const trace of figure.data) if (this.hidden.has(curveOf(trace))) trace.visible = false;
    if (first && figure.sketch) {
      await library.react(this.element, figure.sketch, figure.layout, CONFIG);
      await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
      this.wanted = this.newest;
      return this.draw();
    }
    await library.react(this.element, figure.data, figure.layout, CONFIG);
    if (figure.layout.meta?.picture) this.listen();
  }

  // Dots of runs: a click picks one, and the pointer shows its images. Their customdata is the run, the epoch of its images
  // or -1, its own epoch, and its settings; `layout.meta.picture` is the address of the images with {0} and {1} for the first two.
  listen() {
    if (this.picture?.isConnected) return;
    this.picture = Object.assign(new Image(), { className: "live-plotly-picture", alt: "", hidden: true });
    this.element.append(this.picture);
    this.element.on("plotly_click", ({ points: [{ customdata }] }) => customdata && this.pick(customdata));
    this.element.on("plotly_hover", ({ points: [{ customdata }] }) => this.look(customdata));
    this.element.on("plotly_unhover", () => this.look());
  }

  look(customdata) {
    const [run, epoch] = customdata ?? ["", -1];
    this.picture.hidden = !(epoch >= 0);
    if (this.picture.hidden) return;
    const address = this.element.layout.meta.picture;
    this.picture.src = address.replace("{0}", encodeURIComponent(run)).replace("{1}", epoch);
  }

  say(sentence) {
    if (this.drawn) return;
    this.element.textContent = sentence;
  }

  fit() {
    const { element } = this;
    if (!this.drawn || !element.isConnected || element.offsetWidth === 0 || !element._fullLayout) return;
    if (Math.abs(element._fullLayout.width - element.offsetWidth) > 1) window.Plotly.Plots.resize(element);
  }

  dispose() {
    this.sizes.disconnect();
    this.element.removeEventListener("pointerdown", this.hold);
    window.removeEventListener("pointerup", this.release);
    window.removeEventListener("pointercancel", this.release);
    this.wanted = null;
    if (this.drawn) window.Plotly.purge(this.element);
    charts.delete(this.element);
  }
}

const charts = new Map();

export default function ({ data, parentElement, setTriggerValue }) {
  const element = parentElement.querySelector(".live-plotly");
  if (!charts.has(element)) charts.set(element, new Chart(element));
  const chart = charts.get(element);
  chart.pick = ([run, , epoch]) => setTriggerValue("picked", [run, epoch]);
  const dark = isDark(parentElement);
  chart.show(decoded(data, dark), dark);
  // an update that overtakes this one also ends up here: only an element that left the page is disposed of
  return () => setTimeout(() => element.isConnected || chart.dispose());
}
