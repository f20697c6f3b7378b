// Two pictures of one size over each other: a slider uncovers the right one, or their difference is
// drawn. data: { left: {url, label}, right: {url, label}, difference }

async function picture({ url, label }) {
  const image = new Image();
  image.src = url;
  image.alt = label;
  await image.decode();
  return image;
}

function pixels(image) {
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth;
  canvas.height = image.naturalHeight;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(image, 0, 0);
  return context.getImageData(0, 0, canvas.width, canvas.height);
}

// the absolute difference by channel, and its mean
function difference(left, right) {
  const [one, other] = [pixels(left), pixels(right)];
  const canvas = document.createElement("canvas");
  canvas.width = one.width;
  canvas.height = one.height;
  const found = new ImageData(one.width, one.height);
  let total = 0;
  for (let i = 0; i < found.data.length; i += 1) {
    const value = i % 4 === 3 ? 255 : Math.abs(one.data[i] - other.data[i]);
    found.data[i] = value;
    if (i % 4 !== 3) total += value;
  }
  canvas.getContext("2d").putImageData(found, 0, 0);
  canvas.setAttribute("role", "img");
  return { canvas, mean: total / (0.75 * found.data.length) };
}

function uncover(stage, share) {
  stage.style.setProperty("--at", `${share}%`);
}

async function show(pair, data) {
  const stage = pair.querySelector(".stage");
  const slider = pair.querySelector("input");
  const words = pair.querySelector("output");
  let images;
  try {
    images = await Promise.all([picture(data.left), picture(data.right)]);
  } catch {
    words.textContent = "A picture could not be loaded.";
    return;
  }
  if (pair.dataset.shown !== JSON.stringify(data)) return; // others were chosen meanwhile
  const [left, right] = images;
  const alike = left.naturalWidth === right.naturalWidth && left.naturalHeight === right.naturalHeight;
  slider.hidden = data.difference;
  stage.style.aspectRatio = `${left.naturalWidth} / ${left.naturalHeight}`;
  if (!data.difference) {
    right.className = "right";
    stage.replaceChildren(left, right);
    words.textContent = "";
  } else if (alike) {
    const { canvas, mean } = difference(left, right);
    canvas.setAttribute("aria-label", `Difference of ${data.left.label} and ${data.right.label}`);
    stage.replaceChildren(canvas);
    words.textContent = `Mean absolute difference: ${mean.toFixed(1)} of 255`;
  } else {
    stage.replaceChildren();
    words.textContent = "The grids have different sizes, so they have no difference.";
  }
}

export default function ({ data, parentElement }) {
  const pair = parentElement.querySelector(".pair");
  const slider = pair.querySelector("input");
  slider.oninput = () => uncover(pair.querySelector(".stage"), slider.value);
  pair.querySelector(".names").replaceChildren(
    ...[data.left, data.right].map(({ label }) => Object.assign(document.createElement("span"), { textContent: label })),
  );
  const shown = JSON.stringify(data);
  if (pair.dataset.shown === shown) return; // a tick that brings nothing new
  pair.dataset.shown = shown;
  show(pair, data);
}
