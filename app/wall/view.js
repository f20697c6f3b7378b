// Fixed latents by epoch by run as one picture that is zoomed and dragged. Every run is a block: a row for each latent, a column
// for each epoch. Where the blocks stand, its layout says. Units of the wall are tiles.

const TOP = 24; // pixels for epochs
const LARGEST = 400; // pixels of a tile
const FIRST = { least: 18, most: 40 }; // pixels of a tile at first: all rows, or some of them
const HEIGHT = { share: 0.62, least: 288, most: 736 }; // of the window, pixels: see .tiles in wall.css
const NAME = 13; // pixels of a name's line

class View {
  constructor(canvas, strips) {
    this.canvas = canvas;
    this.strips = strips;
    this.at = { x: 0, y: 0, scale: 0 };
    this.touched = false; // whether somebody has moved or zoomed it
  }

  // `fit` comes next
  update({ runs, columns, latents }) {
    this.runs = runs;
    this.columns = columns;
    this.latents = latents;
  }

  // lay the blocks out for a wall that is so many pixels wide
  fit(width) {
    this.narrow = width < 600;
    const high = Math.max(HEIGHT.least, Math.min(window.innerHeight * HEIGHT.share, HEIGHT.most)) - TOP;
    this.layout = Layout.of(this.runs.length, this.columns.length, this.latents, Math.max(1, width - 40), high);
  }

  get banded() {
    return this.layout.across > 1;
  }

  get wide() {
    return Math.max(1, this.canvas.clientWidth - this.left);
  }

  get high() {
    return Math.max(1, this.canvas.clientHeight - TOP);
  }

  // pixels for the names of runs, or only for the numbers of latents
  get left() {
    if (this.runs.length === 1 || this.banded) return 40;
    return this.narrow ? 84 : 150;
  }

  get smallest() {
    return Math.min(FIRST.least, this.layout.scale(this.wide, this.high));
  }

  // a size at which some runs are below each other; all bands are in sight
  get first() {
    if (this.banded) return this.layout.scale(this.wide, window.innerHeight);
    return Math.max(FIRST.least, Math.min(FIRST.most, window.innerHeight * 0.6 / this.layout.rows));
  }

  reset() {
    const scale = this.banded ? this.smallest : Math.max(this.smallest, Math.min(this.first, this.wide / this.layout.columns));
    this.at = { x: 0, y: 0, scale };
    this.touched = false;
  }

  get whole() {
    return this.at.scale <= this.smallest * 1.001;
  }

  // keep the wall in sight
  hold() {
    const { at } = this;
    at.scale = Math.max(this.smallest, Math.min(at.scale, LARGEST));
    at.x = Math.max(0, Math.min(at.x, this.layout.columns - this.wide / at.scale));
    at.y = Math.max(0, Math.min(at.y, this.layout.rows - this.high / at.scale));
  }

  // the place under (x, y) stays where it is
  zoom(factor, x = this.left + this.wide / 2, y = TOP + this.high / 2) {
    const before = this.at.scale;
    const scale = Math.max(this.smallest, Math.min(before * factor, LARGEST));
    this.at.x += (x - this.left) * (1 / before - 1 / scale);
    this.at.y += (y - TOP) * (1 / before - 1 / scale);
    this.at.scale = scale;
    this.touched = true;
    this.hold();
  }

  pan(dx, dy) {
    this.at.x -= dx / this.at.scale;
    this.at.y -= dy / this.at.scale;
    this.touched = true;
    this.hold();
  }

  // move so that a tile is in sight
  reveal({ run, latent, column }) {
    const { at } = this;
    const corner = this.layout.corner(run);
    const [x, y] = [corner.x + column, corner.y + (latent ?? 0)];
    const [across, down] = [this.wide / at.scale, this.high / at.scale];
    at.x = Math.min(Math.max(at.x, x + 1 - across), x);
    at.y = Math.min(Math.max(at.y, y + 1 - down), y);
    this.hold();
  }

  // the tile at a point of the canvas, or null
  tile(x, y) {
    if (x < this.left || y < TOP) return null;
    return this.layout.tile(this.at.x + (x - this.left) / this.at.scale, this.at.y + (y - TOP) / this.at.scale);
  }

  draw(mark, look) {
    if (!fitted(this.canvas)) return;
    if (!this.touched) this.reset();
    this.hold();
    const context = this.canvas.getContext("2d");
    context.clearRect(0, 0, this.canvas.clientWidth, this.canvas.clientHeight);
    context.font = `12px ${look.font}`;
    this.strips.begin();
    context.save();
    context.beginPath();
    context.rect(this.left, TOP, this.wide, this.high);
    context.clip();
    this.pictures(context, look);
    if (mark) this.outline(context, mark, look);
    context.restore();
    this.epochs(context, mark, look);
    context.save();
    context.beginPath();
    context.rect(0, TOP, this.canvas.clientWidth, this.high);
    context.clip();
    this.names(context, mark, look);
    context.restore();
    this.strips.end();
  }

  px(column) {
    return this.left + Math.round((column - this.at.x) * this.at.scale);
  }

  py(row) {
    return TOP + Math.round((row - this.at.y) * this.at.scale);
  }

  // the blocks in sight: [place of the run, its first tile]
  get seen() {
    const { at, layout } = this;
    const [right, below] = [at.x + this.wide / at.scale, at.y + this.high / at.scale];
    return this.runs
      .map((_, run) => [run, layout.corner(run)])
      .filter(([, { x, y }]) => x < right && x + layout.inBlock > at.x && y - layout.above < below && y + this.latents > at.y);
  }

  pictures(context, look) {
    const { seen } = this;
    for (const [run, corner] of seen) this.level(context, this.runs[run], corner, FAR); // coarse ones first: they stand in for the others
    for (const [run, corner] of seen) {
      const size = this.fine(this.runs[run]);
      if (size > FAR) this.level(context, this.runs[run], corner, size);
    }
    if (this.at.scale < 14) return;
    context.fillStyle = look.ground; // lines between the tiles
    for (const [, { x, y }] of seen) {
      const [x0, y0, x1, y1] = [this.px(x), this.py(y), this.px(x + this.columns.length), this.py(y + this.latents)];
      for (let column = 0; column <= this.columns.length; column += 1) context.fillRect(this.px(x + column) - 1, y0, 1, y1 - y0);
      for (let latent = 0; latent <= this.latents; latent += 1) context.fillRect(x0, this.py(y + latent) - 1, x1 - x0, 1);
    }
  }

  // the size of tiles that is fine enough, or as fine as there is room for
  fine(run) {
    const needed = (this.at.scale * (window.devicePixelRatio || 1)) / 1.5;
    const levels = Strips.levels(run);
    let level = levels.findIndex((size) => size >= needed);
    if (level < 0) level = levels.length - 1;
    const tiles = Math.min(this.layout.columns, this.wide / this.at.scale + 1) * (this.high / this.at.scale + 1);
    while (level > 0 && tiles * levels[level] ** 2 * 4 > this.strips.budget / 2) level -= 1;
    return levels[level];
  }

  level(context, run, { x, y }, size) {
    const count = Math.min(this.latents, run.latents);
    const extent = Strips.extent(size, count);
    const right = Math.min(this.columns.length, this.at.x + this.wide / this.at.scale - x);
    const below = Math.min(count, this.at.y + this.high / this.at.scale - y);
    context.imageSmoothingEnabled = this.at.scale * (window.devicePixelRatio || 1) < size;
    for (let column = Math.floor(Math.max(0, this.at.x - x) / extent.columns) * extent.columns; column < right; column += extent.columns) {
      const grids = run.columns.slice(column, column + extent.columns);
      if (!grids.some(Boolean)) continue;
      for (let row = Math.floor(Math.max(0, this.at.y - y) / extent.rows) * extent.rows; row < below; row += extent.rows) {
        const rows = Math.min(extent.rows, count - row);
        const picture = this.strips.take(`${run.id} ${size} ${column} ${row}`, stripUrl(run, grids, size, row, rows));
        if (!picture) continue;
        const [x0, y0] = [this.px(x + column), this.py(y + row)];
        const wide = Math.round(picture.width / size); // it may be from when there were fewer epochs
        context.drawImage(picture, x0, y0, this.px(x + column + wide) - x0, this.py(y + row + rows) - y0);
      }
    }
  }

  outline(context, mark, look) {
    const own = this.runs[mark.run];
    for (const [run, { x, y }] of this.seen) {
      const [x0, x1] = [this.px(x + mark.column), this.px(x + mark.column + 1)];
      const exact = run === mark.run;
      if (mark.latent === null) {
        if (exact) this.frame(context, x0, this.py(y), x1, this.py(y + this.latents), look.strong, 2);
      } else if (exact || (own.group !== null && this.runs[run].group === own.group)) {
        const row = y + mark.latent;
        this.frame(context, x0, this.py(row), x1, this.py(row + 1), exact ? look.strong : look.text, exact ? 3 : 1);
      }
    }
  }

  frame(context, x0, y0, x1, y1, colour, width) {
    context.lineWidth = width + 2;
    context.strokeStyle = "rgb(255 255 255 / 70%)";
    context.strokeRect(x0 - 0.5, y0 - 0.5, x1 - x0, y1 - y0);
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.strokeRect(x0 - 0.5, y0 - 0.5, x1 - x0, y1 - y0);
  }

  // the epochs above the columns, as many as there is room for
  epochs(context, mark, look) {
    const { scale } = this.at;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const every = Math.max(1, Math.ceil(38 / scale));
    const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((size) => size >= every) ?? every;
    const blocks = Array.from({ length: this.layout.across }, (_, place) => this.layout.corner(place).x);
    for (const x of blocks) {
      for (let column = 0; column < this.columns.length; column += 1) {
        const middle = this.left + (x + column + 0.5 - this.at.x) * scale;
        const marked = mark?.column === column && this.layout.corner(mark.run).x === x;
        if ((column % step && !marked) || middle < this.left || middle > this.left + this.wide) continue;
        if (!marked && mark && Math.abs(mark.column - column) * scale < 34) continue; // that one has a label of its own
        context.fillStyle = marked ? look.text : look.grey;
        const words = String(this.columns[column]);
        const most = this.canvas.clientWidth - context.measureText(words).width / 2;
        context.fillText(words, Math.min(middle, most), TOP / 2);
      }
    }
    context.textAlign = "left";
    context.fillStyle = look.grey;
    context.fillText("Epoch", 0, TOP / 2);
  }

  // colour and name of each block, and the numbers of its latents once there is room
  names(context, mark, look) {
    for (const [run, { x, y }] of this.seen) {
      const [y0, y1] = [Math.max(TOP, this.py(y)), Math.min(TOP + this.high, this.py(y + this.latents))];
      const grey = mark?.run === run ? look.text : look.grey;
      if (this.banded) this.above(context, this.runs[run], { x, y, y1 }, grey);
      else if (this.runs.length > 1) this.beside(context, this.runs[run], { y0, y1 }, grey);
      if (this.at.scale < 13 || x > 0) continue;
      context.textAlign = "right";
      for (let latent = 0; latent < this.latents; latent += 1) {
        const middle = this.py(y + latent + 0.5);
        if (middle < y0 || middle > y1) continue;
        context.fillStyle = mark?.run === run && mark.latent === latent ? look.text : look.grey;
        context.fillText(String(latent + 1), this.left - 6, middle);
      }
      context.textAlign = "left";
    }
  }

  beside(context, run, { y0, y1 }, colour) {
    context.fillStyle = run.colour;
    context.fillRect(0, y0, 4, y1 - y0);
    if (y1 - y0 < NAME) return;
    context.fillStyle = colour;
    context.fillText(this.fits(context, run.name, this.left - 36), 10, y0 + 8);
  }

  above(context, run, { x, y, y1 }, colour) {
    const [x0, x1] = [this.px(x), this.px(x + this.columns.length)];
    const y0 = this.py(y);
    context.fillStyle = run.colour;
    context.fillRect(x0 - 4, y0, 3, y1 - y0);
    if (this.layout.above * this.at.scale < NAME) return;
    context.fillStyle = colour;
    context.fillText(this.fits(context, run.name, x1 - x0), x0, y0 - NAME / 2);
  }

  fits(context, name, width) {
    if (context.measureText(name).width <= width) return name;
    let length = name.length;
    while (length > 1 && context.measureText(`${name.slice(0, length)}…`).width > width) length -= 1;
    return `${name.slice(0, length)}…`;
  }
}
