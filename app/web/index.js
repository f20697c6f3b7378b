// Runs before Streamlit's own scripts; see index.py, which puts the address PLOTLY in front.

window.__streamlit = { BACKEND_BASE_URL: `${window.location.origin}/` };

window.loadPlotly = () => {
  window.plotlyLoading ??= new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement("script"), { src: PLOTLY });
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      window.plotlyLoading = null; // whoever needs it next tries again
      script.remove();
      reject(new Error(`${PLOTLY} did not load`));
    };
    document.head.append(script);
  });
  return window.plotlyLoading;
};

// The first chart of a page takes longer than later ones; docs/scale.md has what this gains.
function warmUp(plotly) {
  const element = document.createElement("div");
  element.ariaHidden = true;
  element.style = "position: fixed; visibility: hidden; width: 400px; height: 300px";
  document.body.append(element);
  const [x, title] = [[1, 2], { text: "-" }];
  const traces = [{ x, y: x }, { x, y: x, mode: "markers" }];
  const end = () => {
    plotly.purge(element);
    element.remove();
  };
  plotly.newPlot(element, traces, { xaxis: { type: "log", title }, yaxis: { title } }).then(end, end);
}

const whenIdle = (work) => requestIdleCallback(() => work());
window.addEventListener("load", () =>
  whenIdle(() =>
    window.loadPlotly().then(
      (plotly) => whenIdle(() => warmUp(plotly)),
      () => {}, // who needs it says so
    ),
  ),
);
