// Fixed latents by epoch by run as one picture that is zoomed and dragged. Every run is a block: a row for each latent, a column
// for each epoch; columns stand below each other in all blocks. Units of the wall are tiles.

const GAP = 0.6; // tiles between blocks
const TOP = 24; // pixels for epochs
const LARGEST = 400; // pixels of a tile
const FIRST = { least: 18, most: 40 }; // pixels of a tile at first: all rows, or some of them

class View {
  constructor(canvas, strips) {
    this.canvas = canvas;
    this.strips = strips;
    this.at = { x: 0, y: 0, scale: 0 };
    this.touched = false; // whether somebody has moved or zoomed it
  }

  update({ runs, columns, latents }, narrow) {
    this.narrow = narrow;
    this.runs = runs;
    this.columns = columns;
    this.latents = latents;
    this.block = latents + GAP;
  }

  get wide() {
    return Math.max(1, this.canvas.clientWidth - this.left);
  }

  get high() {
    return Math.max(1, this.canvas.clientHeight - TOP);
  }

  // pixels for the names of runs
  get left() {
    if (this.runs.length === 1) return 40;
    return this.narrow ? 84 : 150;
  }

  get rows() {
    return this.runs.length * this.block - GAP;
  }

  get smallest() {
    return Math.min(FIRST.least, this.wide / this.columns.length, this.high / this.rows);
  }

  // a size at which some runs are below each other
  get first() {
    return Math.max(FIRST.least, Math.min(FIRST.most, window.innerHeight * 0.6 / this.rows));
  }

  reset() {
    const scale = Math.max(this.smallest, Math.min(this.first, this.wide / this.columns.length));
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
    at.x = Math.max(0, Math.min(at.x, this.columns.length - this.wide / at.scale));
    at.y = Math.max(0, Math.min(at.y, this.rows - this.high / at.scale));
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
    const y = run * this.block + (latent ?? 0);
    const [across, down] = [this.wide / at.scale, this.high / at.scale];
    at.x = Math.min(Math.max(at.x, column + 1 - across), column);
    at.y = Math.min(Math.max(at.y, y + 1 - down), y);
    this.hold();
  }

  // the tile at a point of the canvas, or null
  tile(x, y) {
    if (x < this.left || y < TOP) return null;
    const column = Math.floor(this.at.x + (x - this.left) / this.at.scale);
    const row = this.at.y + (y - TOP) / this.at.scale;
    const run = Math.floor(row / this.block);
    const latent = Math.floor(row - run * this.block);
    if (column >= this.columns.length || run >= this.runs.length || latent >= this.latents) return null;
    return { run, latent, column };
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
    this.names(context, mark, look);
    this.strips.end();
  }

  px(column) {
    return this.left + Math.round((column - this.at.x) * this.at.scale);
  }

  py(row) {
    return TOP + Math.round((row - this.at.y) * this.at.scale);
  }

  // first and last block in sight
  get seen() {
    const first = Math.max(0, Math.floor(this.at.y / this.block));
    return [first, Math.min(this.runs.length - 1, Math.floor((this.at.y + this.high / this.at.scale) / this.block))];
  }

  pictures(context, look) {
    const [first, last] = this.seen;
    const blocks = this.runs.slice(first, last + 1).map((run, place) => [run, (first + place) * this.block]);
    for (const [run, y] of blocks) this.level(context, run, y, FAR); // coarse ones first: they stand in for the others
    for (const [run, y] of blocks) {
      const size = this.fine(run);
      if (size > FAR) this.level(context, run, y, size);
    }
    if (this.at.scale < 14) return;
    context.fillStyle = look.ground; // lines between the tiles
    for (let column = Math.ceil(this.at.x); column <= this.at.x + this.wide / this.at.scale; column += 1) {
      context.fillRect(this.px(column) - 1, TOP, 1, this.high);
    }
    for (const [, y] of blocks) {
      for (let latent = 0; latent <= this.latents; latent += 1) context.fillRect(this.left, this.py(y + latent) - 1, this.wide, 1);
    }
  }

  // the size of tiles that is fine enough, or as fine as there is room for
  fine(run) {
    const needed = (this.at.scale * (window.devicePixelRatio || 1)) / 1.5;
    const levels = Strips.levels(run);
    let level = levels.findIndex((size) => size >= needed);
    if (level < 0) level = levels.length - 1;
    const tiles = Math.min(this.columns.length, this.wide / this.at.scale + 1) * (this.high / this.at.scale + 1);
    while (level > 0 && tiles * levels[level] ** 2 * 4 > this.strips.budget / 2) level -= 1;
    return levels[level];
  }

  level(context, run, y, size) {
    const count = Math.min(this.latents, run.latents);
    const extent = Strips.extent(size, count);
    const right = Math.min(this.columns.length, this.at.x + this.wide / this.at.scale);
    const below = Math.min(count, this.at.y + this.high / this.at.scale - y);
    context.imageSmoothingEnabled = this.at.scale * (window.devicePixelRatio || 1) < size;
    for (let column = Math.floor(this.at.x / extent.columns) * extent.columns; column < right; column += extent.columns) {
      const grids = run.columns.slice(column, column + extent.columns);
      if (!grids.some(Boolean)) continue;
      for (let row = Math.floor(Math.max(0, this.at.y - y) / extent.rows) * extent.rows; row < below; row += extent.rows) {
        const rows = Math.min(extent.rows, count - row);
        const picture = this.strips.take(`${run.id} ${size} ${column} ${row}`, stripUrl(run, grids, size, row, rows));
        if (!picture) continue;
        const [x0, y0] = [this.px(column), this.py(y + row)];
        const wide = Math.round(picture.width / size); // it may be from when there were fewer epochs
        context.drawImage(picture, x0, y0, this.px(column + wide) - x0, this.py(y + row + rows) - y0);
      }
    }
  }

  outline(context, mark, look) {
    const [first, last] = this.seen;
    const own = this.runs[mark.run];
    for (let run = first; run <= last; run += 1) {
      const y = run * this.block;
      const [x0, x1] = [this.px(mark.column), this.px(mark.column + 1)];
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
    const { scale, x } = this.at;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const every = Math.max(1, Math.ceil(38 / scale));
    const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((size) => size >= every) ?? every;
    for (let column = Math.max(0, Math.floor(x)); column < Math.min(this.columns.length, x + this.wide / scale); column += 1) {
      const middle = this.left + (column + 0.5 - x) * scale;
      const marked = mark?.column === column;
      if ((column % step && !marked) || middle < this.left) continue;
      if (!marked && mark && Math.abs(mark.column - column) * scale < 34) continue; // that one has a label of its own
      context.fillStyle = marked ? look.text : look.grey;
      const words = String(this.columns[column]);
      const most = this.canvas.clientWidth - context.measureText(words).width / 2;
      context.fillText(words, Math.min(middle, most), TOP / 2);
    }
    context.textAlign = "left";
    context.fillStyle = look.grey;
    context.fillText("Epoch", 0, TOP / 2);
  }

  // colour and name of each block, and the numbers of its latents once there is room
  names(context, mark, look) {
    const [first, last] = this.seen;
    const many = this.runs.length > 1;
    for (let run = first; run <= last; run += 1) {
      const y0 = Math.max(TOP, this.py(run * this.block));
      const y1 = Math.min(TOP + this.high, this.py(run * this.block + this.latents));
      context.fillStyle = this.runs[run].colour;
      if (many) context.fillRect(0, y0, 4, y1 - y0);
      if (many && y1 - y0 >= 13) {
        context.fillStyle = mark?.run === run ? look.text : look.grey;
        context.fillText(this.fits(context, this.runs[run].name, this.left - 36), 10, y0 + 8);
      }
      if (this.at.scale < 13) continue;
      context.textAlign = "right";
      for (let latent = 0; latent < this.latents; latent += 1) {
        const middle = this.py(run * this.block + latent + 0.5);
        if (middle < y0 || middle > y1) continue;
        context.fillStyle = mark?.run === run && mark.latent === latent ? look.text : look.grey;
        context.fillText(String(latent + 1), this.left - 6, middle);
      }
      context.textAlign = "left";
    }
  }

  fits(context, name, width) {
    if (context.measureText(name).width <= width) return name;
    let length = name.length;
    while (length > 1 && context.measureText(`${name.slice(0, length)}…`).width > width) length -= 1;
    return `${name.slice(0, length)}…`;
  }
}
