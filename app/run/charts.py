"""The curves of a run's page. `controls` are drawn once, outside the part that updates; the rest is
drawn anew with every tick."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import streamlit as st
from sqlalchemy import Engine

from ganboard.app.run.cache import by_epoch, by_step
from ganboard.app.widgets.live_plotly import Chart, live_plotly
from ganboard.db.curves import reduction, series
from ganboard.db.models import ENDED, Run
from ganboard.gan.settings import registry
from ganboard.worker.figures import histograms, losses, path, system
from ganboard.worker.figures.template import AXES, Axis

UNPAIRED = "Curves appear here when the script logs g_loss and d_loss; see Metrics for the others."
_AXIS_HELP = (
    "Training seconds count training steps over all attempts, without compilation, evaluation and"
    " pauses. Time is the wall clock in UTC. Both are recorded at the ends of epochs and"
    " interpolated in between."
)


@dataclass(frozen=True)
class LossOptions:
    """How loss curves are drawn, here and on the compare page."""

    axis: Axis
    smoothing: float  # 0 to 0.999
    log_y: bool
    log_x: bool = False
    robust: bool = False  # the y axis leaves out the lowest and highest hundredth
    events: bool = True  # marks where something happened

    @property
    def scale(self) -> str:
        """Part of a chart's key: with another scale it is another chart, whose zoom is its own."""
        return f"{self.axis}-{self.log_x:d}{self.log_y:d}{self.robust:d}"


def axis_control(*, key: str, default: Axis = "step") -> Axis:
    """What the x axis counts, kept in the URL as `key`."""
    chosen = st.segmented_control(
        "X axis",
        tuple(AXES),
        default=default,
        required=True,
        key=key,
        bind="query-params",
        format_func=AXES.__getitem__,
        help=_AXIS_HELP,
    )
    return chosen if chosen in AXES else default  # an address may choose none


def events_control() -> bool:
    """Whether events are marked, kept in the URL."""
    return st.toggle(
        "Events",
        True,
        key="marks",
        bind="query-params",
        help=(
            "Dotted lines mark warnings, errors, attempts, stops and resumes. Hover over one to"
            " read it."
        ),
    )


def loss_controls(*, default: Axis = "step", key: str = "x", events: bool = True) -> LossOptions:
    """X axis, kept in the URL as `key`, smoothing, scales and, if there are any, `events`."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        axis = axis_control(key=key, default=default)
        smoothing = st.select_slider(
            "Smoothing",
            reduction.WEIGHTS,
            format_func="{:g}".format,
            key="smooth",
            bind="query-params",
            width=220,
            help=(
                "Weight of past values in the exponential moving average over the steps; the"
                " ribbon is the range of the raw losses. 0 turns it off, 0.9 is a good start."
            ),
        )
        log_y = st.toggle(
            "Log y",
            key="log",
            bind="query-params",
            help="Logarithmic loss axis. Losses that are not positive are omitted.",
        )
        log_x = st.toggle(
            "Log x",
            key="logx",
            bind="query-params",
            help="Logarithmic x axis; not available for the wall clock.",
            disabled=axis == "time",
        )
        robust = st.toggle(
            "Ignore outliers",
            key="robust",
            bind="query-params",
            help=(
                "The loss axis shows the 1st to 99th percentile with a margin; zoom out to see"
                " outliers."
            ),
        )
        return LossOptions(
            axis,
            smoothing,
            log_y,
            log_x and axis != "time",
            robust,
            events_control() if events else False,
        )


def events_if(engine: Engine, run: Run, wanted: bool) -> pd.DataFrame | None:
    """What is to be marked on the axes of a run's charts."""
    return (
        by_epoch(engine, run, "events", (), lambda: series.events_frame(engine, run.id))
        if wanted
        else None
    )


def draw_losses(engine: Engine, run: Run, options: LossOptions) -> None:
    scales = {"log_x": options.log_x, "log_y": options.log_y, "robust": options.robust}

    def steps() -> Chart | None:
        frame, events = (
            series.step_losses(engine, run.id, smoothing=options.smoothing),
            events_if(engine, run, options.events),
        )
        if frame.empty:
            return None
        plot = losses.steps(
            frame, x=options.axis, smoothed=options.smoothing > 0, events=events, **scales
        )
        return Chart.of(plot, f"steps-{run.id}-{options.scale}")

    def epochs() -> Chart:
        done, events = series.epochs_frame(engine, [run.id]), events_if(engine, run, options.events)
        return Chart.of(
            losses.epochs(done, x=options.axis, events=events, **scales),
            f"epochs-{run.id}-{options.scale}",
        )

    chart = by_step(engine, run, "steps", options, steps)
    if chart is None:
        nothing(run, UNPAIRED if run.external else "Losses appear after the first steps.")
        return
    chart.show()
    if not run.external or run.epoch:
        by_epoch(engine, run, "epochs", options, epochs).show()
    st.caption(
        f"{_meaning(run)} Long runs show the extremes of neighbouring steps, so spikes stay."
        + (
            " **Outliers are hidden:** the loss axes show the 1st to 99th percentile."
            if options.robust
            else ""
        )
    )


def _meaning(run: Run) -> str:
    """What the losses of this run are."""
    if run.external:
        return "As the script logged them."
    if own := registry.known(run.config).spec.losses:
        return own
    if run.config.get("loss") == "hinge":
        return "Hinge losses, as means over the batch. A discriminator that only guesses has 2."
    if run.config.get("loss") == "relativistic":
        return (
            "Cross-entropy of the difference between pairs of a real and a generated image, as"
            " means over the batch. If D only guesses, both are ln 2 ≈ 0.693."
        )
    if run.config.get("loss") == "wgan_gp":
        return (
            "The Wasserstein critic's difference between generated and real images with its"
            " gradient penalty, as means over the batch."
        )
    return (
        "Mean binary cross-entropy over the batch, in nats, as computed in the training step. If D"
        " only guesses, its loss is 2 ln 2 ≈ 1.386 and that of G is ln 2 ≈ 0.693."
    )


def histogram_controls() -> bool:
    """Whether outliers are left out."""
    return st.toggle(
        "Ignore outliers",
        key="common",
        bind="query-params",
        help=(
            "The loss axis spans the 1st to 99th percentile of all steps; steps outside are not"
            " counted."
        ),
    )


def draw_histograms(engine: Engine, run: Run, robust: bool) -> None:
    def densities() -> list[Chart]:
        done = series.epochs_frame(engine, [run.id])
        at, charts = done["epoch"].to_numpy(), []
        for net in ("g", "d"):
            epochs, edges, counts = series.loss_histograms(engine, run.id, net=net, robust=robust)
            if counts.any():
                plot = histograms.density(
                    epochs, edges, counts, net=net, mean_epochs=at, means=done[f"{net}_loss"]
                )
                charts.append(Chart.of(plot, f"histogram-{net}-{robust:d}-{run.id}"))
        return charts

    charts = by_step(engine, run, "histograms", robust, densities)
    if not charts:
        nothing(
            run,
            (
                "No step had a finite loss."
                if run.step
                else "Histograms appear after the first steps."
            ),
        )
        return
    for chart in charts:
        chart.show()
    st.caption(
        "Each column shows the distribution of the step losses in an epoch. Points are epoch"
        f" means, the line is their moving average over {histograms.TREND_EPOCHS} epochs."
        + (
            " **Outliers are excluded:** the loss axes span the 1st to 99th percentile."
            if robust
            else ""
        )
    )


def path_controls() -> int:
    """Two or three dimensions."""
    chosen = st.segmented_control(
        "View", ("3-D", "2-D"), default="3-D", required=True, key="dim", bind="query-params"
    )
    return 2 if chosen == "2-D" else 3


def draw_path(engine: Engine, run: Run, dimensions: int) -> None:
    """The live path; docs/descent-path.md describes it."""
    done = series.epochs_frame(engine, [run.id])
    if done.empty:
        nothing(run, "The path appears after the first epoch.")
        return
    for column, (net, name) in zip(
        st.columns(2), (("g", "Generator"), ("d", "Discriminator")), strict=True
    ):
        with column:
            st.markdown(f"**{name}**")
            live_plotly(
                path.descent(done, net=net, dimensions=dimensions),
                key=f"path-{net}-{dimensions}-{run.id}",
            )
    st.caption(
        "The path of the weights during training: their difference from the initial weights,"
        " projected onto two random directions derived from the seed. Height (or colour) is the"
        " mean loss of the epoch."
    )


def draw_system(engine: Engine, run: Run, events: bool) -> None:
    samples = series.samples_frame(engine, run.id)
    if samples.empty:
        nothing(run, "CPU and memory samples appear every few seconds during training.")
        return
    marks = events_if(engine, run, events)
    live_plotly(system.load(samples, marks), key=f"load-{run.id}")
    live_plotly(system.memory(samples, marks), key=f"memory-{run.id}")
    st.caption(
        "Measured by the trainer every few seconds. CPU and memory are shares of the whole"
        " machine, including other programs."
    )


def nothing(run: Run, sentence: str) -> None:
    """Why a tab is empty: what will appear, or that nothing ever will."""
    st.caption("No samples were recorded." if run.status in ENDED else sentence)
