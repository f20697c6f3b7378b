"""What is compared of generated and real showers, and how it is drawn. Free of TensorFlow."""

from __future__ import annotations

from ganboard.gan.settings.validation import CurveSpec, ValidationSpec

MOMENTS = tuple(f"M{axis}{order}" for order in (1, 2, 3) for axis in "xyz")
RATIOS = ("R1", "R2", "R3")

VALIDATION = ValidationSpec(
    curves={
        "sampling_fraction": CurveSpec(
            "Sampling fraction", "Energy of the particle, GeV", "Sum of the cells / energy"
        ),
        "shape.x": CurveSpec("Mean profile along x", "Cell", "GeV"),
        "shape.y": CurveSpec("Mean profile along y", "Cell", "GeV"),
        "shape.z": CurveSpec("Mean profile along z, the depth", "Layer", "GeV"),
        "spectrum": CurveSpec(
            "Energies of cells", "log10 of a cell's energy in GeV", "Cells of an event", True
        ),
        "sparsity": CurveSpec(
            "Share of cells above a threshold", "log10 of the threshold in GeV", "Share", True
        ),
        "peak.x": CurveSpec("Highest cell along x", "Cell", "Share of events"),
        "peak.y": CurveSpec("Highest cell along y", "Cell", "Share of events"),
        "peak.z": CurveSpec("Highest cell along z", "Layer", "Share of events"),
    },
    correlated=(*MOMENTS[:6], "Esum", "Ep", "hits", *RATIOS, "lean"),
)
