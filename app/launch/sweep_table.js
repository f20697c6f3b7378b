// The table of a sweep. Text is only ever set as text; the region takes the keyboard's focus, so that arrows scroll it.

function element(name, text = "", parent = null) {
  const made = document.createElement(name);
  made.textContent = text;
  parent?.append(made);
  return made;
}

export default function ({ data, parentElement }) {
  const table = parentElement.querySelector("table");
  table.replaceChildren();
  const head = element("tr", "", element("thead", "", table));
  for (const heading of data.headings) element("th", heading, head).scope = "col";
  const body = element("tbody", "", table);
  for (const { number, values, rest, refused, finished, remark } of data.rows) {
    const row = element("tr", "", body);
    element("td", number, row);
    for (const value of values) element(refused ? "del" : "span", value, element("td", "", row));
    for (const value of rest) element("td", value, row);
    const last = element("td", "", row);
    if (refused) element("strong", "Refused: ", last);
    if (finished) {
      last.append("Finished already: ");
      element("a", finished, last).href = `run?run=${encodeURIComponent(finished)}`;
      last.append(". ");
    }
    last.append(remark);
  }
}
