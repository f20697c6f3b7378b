// Where the blocks of runs stand: below each other, or in bands of several where that would be a narrow strip. Units are tiles.

const LEGIBLE = 8; // pixels of a tile: smaller ones all in sight are a strip
const BELOW = { across: 0, down: 0.6 }; // between blocks
const BANDS = { across: 1.5, down: 2.5 }; // room for colours, and for the names above

class Layout {
  // as many blocks in a band as make the tiles largest with all of them in `wide` x `high` pixels
  static of(runs, columns, latents, wide, high) {
    const below = new Layout(1, runs, columns, latents);
    if (below.scale(wide, high) >= LEGIBLE) return below;
    const bands = Array.from({ length: runs }, (_, more) => new Layout(more + 1, runs, columns, latents));
    return bands.reduce((best, other) => (other.scale(wide, high) > best.scale(wide, high) ? other : best));
  }

  constructor(across, runs, columns, latents) {
    const gap = across > 1 ? BANDS : BELOW;
    Object.assign(this, { across, runs, inBlock: columns, latents, above: across > 1 ? gap.down : 0 });
    this.block = { columns: columns + gap.across, rows: latents + gap.down };
    this.columns = across * this.block.columns - gap.across;
    this.rows = Math.ceil(runs / across) * this.block.rows - (across > 1 ? 0 : gap.down);
  }

  scale(wide, high) {
    return Math.min(wide / this.columns, high / this.rows);
  }

  // the first tile of a run
  corner(run) {
    return { x: (run % this.across) * this.block.columns, y: this.above + Math.floor(run / this.across) * this.block.rows };
  }

  // the tile at a place, or null
  tile(x, y) {
    const [place, band] = [Math.floor(x / this.block.columns), Math.floor((y - this.above) / this.block.rows)];
    const run = band * this.across + place;
    if (x < 0 || band < 0 || place >= this.across || run >= this.runs) return null;
    const corner = this.corner(run);
    const [column, latent] = [Math.floor(x - corner.x), Math.floor(y - corner.y)];
    return column < this.inBlock && latent < this.latents ? { run, latent, column } : null;
  }

  // the tile some rows below and columns to the right, over the borders of blocks
  step({ run, latent, column }, down, right) {
    const place = run % this.across;
    const inside = (at, count) => Math.max(0, Math.min(at, count - 1));
    const bands = Math.ceil((this.runs - place) / this.across);
    const row = inside(Math.floor(run / this.across) * this.latents + latent + down, bands * this.latents);
    const band = Math.floor(row / this.latents);
    const beside = Math.min(this.across, this.runs - band * this.across);
    const next = inside(place * this.inBlock + column + right, beside * this.inBlock);
    return { run: band * this.across + Math.floor(next / this.inBlock), latent: row % this.latents, column: next % this.inBlock };
  }
}
