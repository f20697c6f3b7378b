// Shortcuts of all pages, the list of them, and the command palette. Commands go to Python as one
// trigger, which knows what they mean; whatever is typed into a field is left alone.

const FIELDS = "input, textarea, select, [contenteditable=true], [role=combobox], [role=slider]";
const PRESSABLE = "button, a, summary, [role=tab], [role=option]"; // Enter is theirs
const SEARCH = "[data-testid=stMain] :is(input[type=search], input[placeholder^=Search])";
const SHOWN = 12; // commands in the palette

const within = (event, selector) => event.composedPath()[0]?.closest?.(selector);

function matches(commands, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = commands.filter(({ label, hint }) => {
    const searched = `${label} ${hint}`.toLowerCase();
    return words.every((word) => searched.includes(word));
  });
  return found.slice(0, SHOWN);
}

class Palette {
  constructor(root, run) {
    this.dialog = root.querySelector(".palette");
    this.input = root.querySelector(".palette input");
    this.list = root.querySelector(".palette ul");
    this.none = root.querySelector(".palette p");
    this.run = run;
    this.commands = [];
    this.found = [];
    this.at = 0;
    this.input.oninput = () => this.draw(0);
    this.input.onkeydown = (event) => this.press(event);
    this.dialog.onclick = (event) => event.target === this.dialog && this.dialog.close();
  }

  open() {
    this.input.value = "";
    this.draw(0);
    this.dialog.showModal();
    this.input.focus();
  }

  press(event) {
    const moves = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in moves) this.draw(this.at + moves[event.key]);
    else if (event.key === "Enter" && this.found.length) this.choose(this.at);
    else return;
    event.preventDefault();
  }

  choose(place) {
    this.dialog.close();
    this.run(this.found[place].command);
  }

  draw(at) {
    this.found = matches(this.commands, this.input.value);
    this.at = Math.min(Math.max(at, 0), Math.max(this.found.length - 1, 0));
    this.none.hidden = this.found.length > 0;
    this.list.replaceChildren(...this.found.map((one, place) => this.option(one, place)));
    this.input.setAttribute("aria-activedescendant", this.found.length ? `command-${this.at}` : "");
    this.list.children[this.at]?.scrollIntoView({ block: "nearest" });
  }

  option({ label, hint }, place) {
    const item = document.createElement("li");
    item.id = `command-${place}`;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", String(place === this.at));
    const name = document.createElement("span");
    name.textContent = label;
    const more = document.createElement("small");
    more.textContent = hint;
    item.append(name, more);
    item.onclick = () => this.choose(place);
    return item;
  }
}

class Shortcuts {
  constructor(root) {
    this.help = root.querySelector(".help");
    this.palette = new Palette(root, (command) => this.send(command));
    root.querySelector(".help button").onclick = () => this.help.close();
    this.waiting = false; // for the second key of "g l"
    this.listen = (event) => this.press(event);
    document.addEventListener("keydown", this.listen);
  }

  update({ data, setTriggerValue }) {
    this.data = data;
    this.palette.commands = data.commands;
    this.send = (command) => setTriggerValue("command", command);
  }

  press(event) {
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.palette.open();
      return;
    }
    const modal = document.querySelector("[role=dialog]") || this.help.open || this.palette.dialog.open;
    if (event.ctrlKey || event.metaKey || event.altKey || within(event, FIELDS) || modal) return;
    // the button of a dialog that has just been closed keeps the focus until the next frame
    if (event.key === "Enter" && within(event, PRESSABLE)?.checkVisibility()) return;
    if (this.plain(event)) event.preventDefault();
  }

  plain({ key }) {
    const page = this.waiting && this.data.pages[key];
    this.waiting = key === "g";
    if (page) this.send(page);
    else if (key === "?") this.help.showModal();
    else if (key === "/") this.search();
    else if (this.data.keys.includes(key)) this.send(`key:${key}`);
    else return this.waiting;
    return true;
  }

  search() {
    const field = document.querySelector(SEARCH);
    if (field) field.focus();
    else this.palette.open();
  }

  remove() {
    document.removeEventListener("keydown", this.listen);
  }
}

const mounted = new WeakMap();

export default function (component) {
  const root = component.parentElement;
  if (!mounted.has(root)) mounted.set(root, new Shortcuts(root));
  const shortcuts = mounted.get(root);
  shortcuts.update(component);
  return () => {
    shortcuts.remove();
    mounted.delete(root);
  };
}
