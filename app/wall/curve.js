// The quality of each run over its epochs, drawn below the wall: the point of the tile under the pointer is marked here, and the
// column of the point under the pointer there.

const NEAR = 30; // pixels from a point
const DASHES = { solid: [], dash: [8, 4], dot: [2, 3], dashdot: [8, 3, 2, 3] };

// a canvas in pixels of the device; true once it has an area
function fitted(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((side) => Math.round(side * ratio));
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
  return width > 0 && height > 0;
}

// about `count` round numbers between two values
function ticks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-6; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

class Curve {
  constructor(canvas, pick) {
    this.canvas = canvas;
    this.pick = pick; // called with the place of a run and of its point, or null
    this.runs = [];
    this.mark = null;
    canvas.addEventListener("pointermove", (event) => this.look(event));
    canvas.addEventListener("pointerdown", (event) => this.look(event));
    canvas.addEventListener("pointerleave", () => this.pick(null));
    canvas.addEventListener("blur", () => this.pick(null));
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  // runs are { colour, dash, points: [[epoch, value]] }
  update(runs, label, last) {
    this.runs = runs;
    this.label = label;
    const values = runs.flatMap((run) => run.points.map(([, value]) => value));
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const room = (high - low || Math.abs(high) || 1) * 0.08;
    this.span = { low: low - room, high: high + room, last: Math.max(last, 1) };
  }

  // `mark` is { run, epoch, point } with the place of a point or -1
  draw(mark, look) {
    this.mark = mark;
    if (!fitted(this.canvas)) return;
    const context = this.canvas.getContext("2d");
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const { low, high, last } = this.span;
    this.area = { left: 56, top: 12, right: width - 16, bottom: height - 36 };
    const { left, top, right, bottom } = this.area;
    this.x = (epoch) => left + ((right - left) * epoch) / last;
    this.y = (value) => bottom - ((bottom - top) * (value - low)) / (high - low);
    context.clearRect(0, 0, width, height);
    context.font = `12px ${look.font}`;
    context.lineWidth = 1;
    context.strokeStyle = look.border;
    context.fillStyle = look.grey;
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const value of ticks(low, high, 4)) {
      this.line(context, left, this.y(value), right, this.y(value));
      context.fillText(String(value), left - 8, this.y(value));
    }
    context.textAlign = "center";
    for (const epoch of ticks(0, last, Math.min(last, Math.max(2, Math.floor(width / 90))))) {
      if (Number.isInteger(epoch)) context.fillText(String(epoch), this.x(epoch), bottom + 12);
    }
    context.fillText("Epoch", (left + right) / 2, bottom + 28);
    this.runs.forEach((run, place) => this.course(context, run, mark && mark.run !== place ? 0.35 : 1));
    if (mark) this.marked(context, look);
  }

  line(context, x0, y0, x1, y1) {
    context.beginPath();
    context.moveTo(x0, Math.round(y0) + 0.5);
    context.lineTo(x1, Math.round(y1) + 0.5);
    context.stroke();
  }

  course(context, run, alpha) {
    context.globalAlpha = alpha;
    context.strokeStyle = run.colour;
    context.fillStyle = run.colour;
    context.lineWidth = 2;
    context.setLineDash(DASHES[run.dash]);
    context.beginPath();
    for (const [epoch, value] of run.points) context.lineTo(this.x(epoch), this.y(value));
    context.stroke();
    context.setLineDash([]);
    if (run.points.length <= 60) {
      for (const [epoch, value] of run.points) this.dot(context, epoch, value, 3);
    }
    context.globalAlpha = 1;
  }

  dot(context, epoch, value, radius) {
    context.beginPath();
    context.arc(this.x(epoch), this.y(value), radius, 0, 2 * Math.PI);
    context.fill();
  }

  marked(context, look) {
    const { run, epoch, point } = this.mark;
    const { top, bottom } = this.area;
    context.strokeStyle = look.text;
    context.lineWidth = 1;
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(this.x(epoch), top);
    context.lineTo(this.x(epoch), bottom);
    context.stroke();
    context.setLineDash([]);
    const found = this.runs[run].points[point];
    if (!found) return;
    context.fillStyle = this.runs[run].colour;
    this.dot(context, ...found, 7);
    context.strokeStyle = look.text;
    context.lineWidth = 2;
    context.stroke();
  }

  look(event) {
    if (!this.x) return;
    let best = null;
    let least = NEAR ** 2;
    this.runs.forEach((run, place) => {
      run.points.forEach(([epoch, value], point) => {
        const distance = (this.x(epoch) - event.offsetX) ** 2 + (this.y(value) - event.offsetY) ** 2;
        if (distance < least) {
          least = distance;
          best = { run: place, point };
        }
      });
    });
    this.pick(best);
  }

  // left and right along a run's points, up and down to the point of another run that is nearest in epochs
  key(event) {
    const drawn = this.runs.map((_, place) => place).filter((place) => this.runs[place].points.length);
    if (!drawn.length || !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    const at = this.mark && this.mark.point >= 0 ? this.mark : { run: drawn[0], point: -1 };
    const along = { ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0;
    const across = { ArrowUp: -1, ArrowDown: 1 }[event.key] ?? 0;
    const run = drawn[(drawn.indexOf(at.run) + across + drawn.length) % drawn.length];
    const { points } = this.runs[run];
    if (run === at.run) {
      this.pick({ run, point: Math.max(0, Math.min(at.point + along, points.length - 1)) });
      return;
    }
    const epoch = this.runs[at.run].points[Math.max(0, at.point)][0];
    const distances = points.map(([other]) => Math.abs(other - epoch));
    this.pick({ run, point: distances.indexOf(Math.min(...distances)) });
  }
}
