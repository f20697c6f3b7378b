// A panel is dragged by its grip to the place of another one. Pointers alone do this: for the keyboard the menu of a panel
// has Move up and Move down. Streamlit draws the panels, so they are found by the keys of their containers.

const GRIP = "[class*=st-key-panel_grip_]";
const FRAME = "[class*=st-key-panel_frame_]";
const EDGE = 60; // pixels from the top and bottom of the window, where dragging scrolls
const STEP = 16; // pixels, for each move of the pointer there

function placeOf(frame) {
  return Number(/st-key-panel_frame_(\d+)/.exec(frame.className)[1]);
}

class Dragging {
  constructor(root) {
    this.mark = root.querySelector(".panel-drop");
    this.listeners = {
      pointerdown: (event) => this.begin(event),
      pointermove: (event) => this.move(event),
      pointerup: () => this.end(),
      pointercancel: () => this.cancel(),
      keydown: (event) => event.key === "Escape" && this.cancel(),
    };
    for (const [type, listener] of Object.entries(this.listeners)) window.addEventListener(type, listener);
  }

  begin(event) {
    const grip = event.target.closest?.(GRIP);
    if (!grip || event.button !== 0) return;
    event.preventDefault(); // no text is selected
    this.from = placeOf(grip.closest(FRAME));
  }

  move({ clientX, clientY }) {
    if (this.from === undefined) return;
    const frame = document.elementFromPoint(clientX, clientY)?.closest(FRAME);
    this.to = frame ? placeOf(frame) : this.from;
    this.mark.hidden = this.to === this.from;
    if (!this.mark.hidden) {
      const { left, top, width, height } = frame.getBoundingClientRect();
      Object.assign(this.mark.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
    }
    const beyond = Number(clientY > window.innerHeight - EDGE) - Number(clientY < EDGE);
    document.querySelector("[data-testid=stMain]")?.scrollBy(0, STEP * beyond);
  }

  end() {
    const { from, to } = this;
    this.cancel();
    if (from !== undefined && to !== undefined && from !== to) this.send([from, to]);
  }

  cancel() {
    this.from = this.to = undefined;
    this.mark.hidden = true;
  }

  remove() {
    for (const [type, listener] of Object.entries(this.listeners)) window.removeEventListener(type, listener);
  }
}

const mounted = new Map();

export default function ({ parentElement, setTriggerValue }) {
  const root = parentElement;
  if (!mounted.has(root)) mounted.set(root, new Dragging(root));
  mounted.get(root).send = (moved) => setTriggerValue("moved", moved);
  return () => setTimeout(() => {
    if (root.isConnected) return; // an update
    mounted.get(root)?.remove();
    mounted.delete(root);
  });
}
