// Notifications of the browser itself. What a person chose, and up to which event was shown, is kept
// in this browser, so that several tabs show each once (the tag of a notification does the rest).

const CHOICE = "ganboard.notifications";
const SHOWN = "ganboard.notifications.shown";

function supported() {
  return window.isSecureContext && "Notification" in window;
}

function isOn() {
  return supported() && Notification.permission === "granted" && localStorage.getItem(CHOICE) === "on";
}

function announce({ ended, newest }) {
  const shown = Number(localStorage.getItem(SHOWN) ?? newest);
  localStorage.setItem(SHOWN, Math.max(shown, newest));
  if (!isOn()) return;
  for (const { id, title, body, run } of ended) {
    if (id <= shown) continue;
    const notification = new Notification(title, { body, tag: `ganboard-${id}` });
    notification.onclick = () => {
      window.focus();
      window.location.assign(`run?run=${encodeURIComponent(run)}`);
    };
  }
}

function status() {
  if (!supported()) return "This browser shows notifications only over https:// or on this machine.";
  if (Notification.permission === "denied")
    return "The browser blocks notifications of this page. Allow them in its settings for this site.";
  return isOn() ? "Shown while a page of ganboard is open." : "";
}

function drawSwitch(parentElement) {
  const box = parentElement.querySelector("input");
  const said = parentElement.querySelector("p");
  const draw = () => {
    box.checked = isOn();
    box.disabled = !supported();
    said.textContent = status();
  };
  box.onchange = async () => {
    const wanted = box.checked;
    if (wanted && Notification.permission === "default") await Notification.requestPermission();
    localStorage.setItem(CHOICE, wanted ? "on" : "off");
    draw();
  };
  draw();
}

export default function ({ data, parentElement }) {
  parentElement.querySelector(".asks").hidden = !data.asks;
  if (data.asks) drawSwitch(parentElement);
  else announce(data);
}
