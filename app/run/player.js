// Plays the image grids of a run. What the server sends is the list of grids; pictures are fetched once each and kept by the browser.
// images.py puts app/wall/latent.js in front of this text, the dialog in which one image is followed.

const KEPT = 64; // decoded pictures
const AHEAD = 3; // pictures fetched before they are needed
const STRIP = 6; // small pictures below the large one
const ENLARGED = 4; // factor of a downloaded grid

class Player {
  constructor(root) {
    this.root = root;
    this.find = (selector) => root.querySelector(selector);
    this.frames = [];
    this.index = -1;
    this.following = true; // of the newest
    this.timer = null;
    this.pictures = new Map(); // by address
    this.slider = this.find("input[type=range]");
    this.slider.addEventListener("input", () => this.choose(Number(this.slider.value)));
    const actions = {
      previous: () => this.choose(this.index - 1),
      next: () => this.choose(this.index + 1),
      play: () => (this.timer === null ? this.play() : this.pause()),
      best: () => this.choose(this.position(this.best.epoch)),
      newest: () => this.newest(),
      enlarge: () => this.enlarge(0),
    };
    for (const [name, act] of Object.entries(actions)) this.button(name).addEventListener("click", act);
    this.latent = new Latent(this.find("dialog"), () => this.remember());
    this.find(".generated > div").addEventListener("click", (event) => this.enlarge(this.clicked(event)));
  }

  button(name) {
    return this.find(`[data-do=${name}]`);
  }

  // the image of the grid that was clicked, which is as large as fits into its place
  clicked({ currentTarget, clientX, clientY }) {
    const image = currentTarget.querySelector("img");
    if (!image) return 0;
    const { left, top, width, height } = image.getBoundingClientRect();
    const scale = Math.min(width / image.naturalWidth, height / image.naturalHeight);
    const across = (clientX - left - width / 2) / (scale * image.naturalWidth) + 0.5;
    const down = (clientY - top - height / 2) / (scale * image.naturalHeight) + 0.5;
    const { rows, columns } = this.layout;
    const place = (share, count) => Math.max(0, Math.min(Math.floor(share * count), count - 1));
    return place(down, rows) * columns + place(across, columns);
  }

  enlarge(latent, epoch = this.frames[this.index].epoch) {
    const { wall } = this;
    if (!wall) return;
    this.pause();
    this.latent.open({ runs: wall.runs.map((run) => followed(run, wall)), latent, epoch, about: "", word: wall.word });
  }

  update(data) {
    const first = this.index < 0;
    const shown = first ? data.start : this.frames[this.index].epoch;
    this.run = data.run;
    this.frames = data.frames;
    this.best = data.best;
    this.wall = data.wall;
    this.layout = data.layout;
    if (first) this.following = data.start === null;
    const known = this.position(shown);
    this.index = this.following || known < 0 ? this.frames.length - 1 : known;
    this.slider.max = this.frames.length - 1;
    this.button("best").hidden = !this.best;
    if (this.best) this.button("best").textContent = `Best: epoch ${this.best.epoch}, ${this.best.words}`;
    this.find(".real").hidden = !data.real;
    if (data.real && this.real !== data.real) {
      this.real = data.real;
      this.put(this.find(".real > div"), data.real, "Real images of the data set");
    }
    this.strip();
    this.show();
    if (first && data.wall?.open) this.enlarge(data.wall.open.latent, data.wall.open.epoch);
  }

  position(epoch) {
    return this.frames.findIndex((frame) => frame.epoch === epoch);
  }

  choose(index) {
    this.pause();
    this.index = Math.max(0, Math.min(index, this.frames.length - 1));
    this.following = false;
    this.show();
    this.remember();
  }

  newest() {
    this.choose(this.frames.length - 1);
    this.following = true;
    this.show();
    this.remember();
  }

  play() {
    this.following = false;
    if (this.index === this.frames.length - 1) this.index = 0;
    this.find("output").setAttribute("aria-live", "off");
    this.timer = 0;
    this.show();
    this.later();
  }

  later() {
    this.timer = setTimeout(async () => {
      const last = this.index === this.frames.length - 1;
      if (!this.root.isConnected || (last && !this.find("input[type=checkbox]").checked)) return this.pause();
      const next = last ? 0 : this.index + 1;
      await this.picture(this.frames[next].url).catch(() => {}); // `show` says what is wrong with it
      if (this.timer === null) return undefined; // paused meanwhile
      this.index = next;
      this.show();
      return this.later();
    }, 1000 / Number(this.find("select").value));
  }

  pause() {
    if (this.timer === null) return;
    clearTimeout(this.timer);
    this.timer = null;
    this.find("output").setAttribute("aria-live", "polite");
    this.show();
    this.remember();
  }

  show() {
    const { epoch, url } = this.frames[this.index];
    const words = epoch === 0 ? "Before training" : `After epoch ${epoch}`;
    this.slider.value = this.index;
    this.slider.setAttribute("aria-valuetext", words);
    this.find("output").textContent = `${words} · ${this.index + 1} of ${this.frames.length}`;
    this.find(".generated figcaption").textContent = `Generated · ${words.toLowerCase()}`;
    this.put(this.find(".generated > div"), url, `Generated images, ${words.toLowerCase()}`);
    this.button("play").textContent = this.timer === null ? "Play" : "Pause";
    this.button("play").disabled = this.frames.length < 2;
    this.button("previous").disabled = this.index === 0;
    this.button("next").disabled = this.index === this.frames.length - 1;
    this.button("newest").setAttribute("aria-pressed", this.following);
    const link = this.find("a");
    link.href = `${url}&scale=${ENLARGED}`;
    link.download = `${this.run}-epoch-${epoch}.png`;
    for (const small of this.find(".strip").children) small.setAttribute("aria-pressed", Number(small.dataset.epoch) === epoch);
    for (let i = 1; i <= AHEAD; i += 1) {
      const coming = this.frames[(this.index + i) % this.frames.length];
      this.picture(coming.url).catch(() => {});
    }
  }

  // an <img> that is fetched and decoded
  picture(url) {
    if (!this.pictures.has(url)) {
      const image = new Image();
      image.src = url;
      this.pictures.set(url, image.decode().then(() => image));
      this.pictures.get(url).catch(() => this.pictures.delete(url)); // asked for again next time
      if (this.pictures.size > KEPT) this.pictures.delete(this.pictures.keys().next().value);
    }
    return this.pictures.get(url);
  }

  async put(place, url, words) {
    place.dataset.url = url;
    let shown;
    try {
      shown = await this.picture(url);
      shown.alt = words;
    } catch {
      shown = document.createElement("p");
      shown.textContent = "This picture could not be loaded.";
    }
    if (place.dataset.url === url && place.firstChild !== shown) place.replaceChildren(shown); // unless another was chosen meanwhile
  }

  // some epochs from first to newest
  strip() {
    const last = this.frames.length - 1;
    const places = [...new Set(Array.from({ length: STRIP }, (_, i) => Math.floor((i * last) / (STRIP - 1))))];
    const key = places.map((i) => this.frames[i].url).join();
    if (this.stripped === key) return;
    this.stripped = key;
    this.find(".strip").replaceChildren(
      ...places.map((i) => {
        const { epoch, url } = this.frames[i];
        const small = document.createElement("button");
        const image = new Image();
        image.src = url;
        image.alt = "";
        small.type = "button";
        small.dataset.epoch = epoch;
        small.append(image, `Epoch ${epoch}`);
        small.addEventListener("click", () => this.choose(this.position(epoch)));
        return small;
      }),
    );
  }

  // the address of the page names the epoch, so that it can be shared
  remember() {
    const address = new URL(window.location.href);
    if (this.following) address.searchParams.delete("at");
    else address.searchParams.set("at", this.frames[this.index].epoch);
    window.history.replaceState(window.history.state, "", address);
  }
}

const players = new WeakMap();

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".player");
  if (!players.has(root)) players.set(root, new Player(root));
  players.get(root).update(JSON.parse(new TextDecoder().decode(data)));
}
