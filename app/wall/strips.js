// The pictures of a wall: a strip has some epochs of a run as columns and some of its latents below each other, so that what
// is seen from far takes few requests and is drawn by few calls. Only what is visible is fetched, and what has not been
// visible for longest is given up where all of it would take more than a number of bytes.

const FAR = 8; // pixels of a tile in the coarsest strips
const AT_ONCE = 6; // requests
const AGAIN = 5000; // milliseconds after which a picture that failed is asked for again

class Strips {
  constructor(bytes, changed) {
    this.budget = bytes;
    this.changed = changed; // called when a picture has come
    this.kept = new Map(); // by place in the wall: { url, bitmap, bytes, frame, failed }
    this.total = 0;
    this.loading = new Set();
    this.queue = [];
    this.frame = 0;
    this.failures = 0;
  }

  // sizes of tiles that the server is asked for, coarse to fine
  static levels(run) {
    return [FAR, 32, 128].filter((size) => size * 1.5 < run.size).concat(run.size);
  }

  // columns and rows of a strip
  static extent(size, latents) {
    return { columns: Math.max(1, Math.floor(128 / size)), rows: size <= FAR ? latents : Math.max(1, Math.floor(512 / size)) };
  }

  begin() {
    this.frame += 1;
    this.queue = [];
  }

  // The picture at a place, or what was there before while the newer one comes; null before the first one.
  take(key, url) {
    const entry = this.kept.get(key) ?? { url: null, bitmap: null, bytes: 0, failed: 0 };
    entry.frame = this.frame;
    this.kept.set(key, entry);
    if (entry.url !== url && !this.loading.has(url)) this.queue.push({ key, url });
    return entry.bitmap;
  }

  end() {
    if (this.total > this.budget) this.forget();
    this.pump();
  }

  forget() {
    const old = [...this.kept].filter(([, entry]) => entry.frame < this.frame).sort(([, one], [, other]) => one.frame - other.frame);
    for (const [key, entry] of old) {
      if (this.total <= 0.8 * this.budget) return;
      this.total -= entry.bytes;
      entry.bitmap?.close();
      this.kept.delete(key);
    }
  }

  get busy() {
    return this.loading.size + this.queue.length > 0;
  }

  pump() {
    while (this.loading.size < AT_ONCE && this.queue.length) {
      const { key, url } = this.queue.shift();
      const entry = this.kept.get(key);
      if (entry && performance.now() > entry.failed) this.load(key, entry, url);
    }
  }

  async load(key, entry, url) {
    this.loading.add(url);
    try {
      const answer = await fetch(url);
      if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
      const bitmap = await createImageBitmap(await answer.blob());
      if (this.kept.get(key) === entry) this.put(entry, url, bitmap);
      else bitmap.close();
      this.failures = 0;
    } catch {
      entry.failed = performance.now() + AGAIN;
      this.failures += 1;
      setTimeout(this.changed, AGAIN + 100);
    }
    this.loading.delete(url);
    this.changed();
    this.pump();
  }

  put(entry, url, bitmap) {
    entry.bitmap?.close();
    this.total -= entry.bytes;
    const bytes = bitmap.width * bitmap.height * 4;
    Object.assign(entry, { url, bitmap, bytes });
    this.total += bytes;
  }

  dispose() {
    for (const entry of this.kept.values()) entry.bitmap?.close();
    this.kept.clear();
    this.queue = [];
  }
}
