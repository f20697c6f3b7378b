// A sheet of equal square images, shown one by one: crisp at any size, with a caption under each, and clickable where asked for.
// data: { png (base64), columns, rows, labels, captions, picked (positions), pickable, side (pixels on the screen at most),
//   flow (as many in a row as there is room for) }

function cell(position, data, press) {
  const picture = document.createElement(data.pickable ? "button" : "div");
  if (data.pickable) {
    picture.type = "button";
    picture.addEventListener("click", () => press(position));
  } else {
    picture.setAttribute("role", "img");
  }
  picture.className = "picture";
  const place = document.createElement("div");
  place.append(picture);
  if (data.captions.length) {
    const caption = document.createElement("span");
    caption.className = "caption";
    place.append(caption);
  }
  return place;
}

function share(position, count) {
  return count > 1 ? `${(100 * position) / (count - 1)}%` : "0";
}

export default function ({ data, parentElement, setTriggerValue }) {
  const sheet = parentElement.querySelector(".sheet");
  const count = data.columns * data.rows;
  const form = `${count} ${data.pickable} ${data.captions.length > 0}`;
  if (sheet.dataset.form !== form) {
    // cells are kept while they can be, and with them the keyboard's place
    sheet.dataset.form = form;
    sheet.press = null;
    sheet.replaceChildren(...Array.from({ length: count }, (_, i) => cell(i, data, (at) => sheet.press(at))));
  }
  sheet.press = (position) => setTriggerValue("toggled", position);
  const track = `min(${data.side}px, calc(${100 / data.columns}% - 4px))`;
  sheet.style.gridTemplateColumns = `repeat(${data.flow ? "auto-fill" : data.columns}, ${track})`;
  sheet.style.setProperty("--png", `url(data:image/png;base64,${data.png})`);
  sheet.style.setProperty("--size", `${100 * data.columns}% ${100 * data.rows}%`);
  Array.from(sheet.children).forEach((place, position) => {
    const picture = place.firstElementChild;
    const column = position % data.columns;
    picture.style.backgroundPosition = `${share(column, data.columns)} ${share((position - column) / data.columns, data.rows)}`;
    picture.setAttribute("aria-label", data.labels[position]);
    picture.title = data.labels[position];
    if (data.pickable) picture.setAttribute("aria-pressed", data.picked.includes(position));
    if (data.captions.length) place.lastElementChild.textContent = data.captions[position];
  });
}
