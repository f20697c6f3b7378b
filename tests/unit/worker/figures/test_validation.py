"""Where the curves of generated and real examples begin."""

from __future__ import annotations

from ganboard.gan.settings.validation import Curve, CurveSpec
from ganboard.worker.figures import validation

SPECTRUM = CurveSpec("Energies", "log10 of an energy", "Cells", begins_late=True)
PROFILE = CurveSpec("Profile", "Cell", "GeV")


def test_spectra_begin_where_there_is_something() -> None:
    spectrum = Curve(
        x=[-13, -12, -11, -4, -3, -2], real=[0, 0, 0, 0, 50, 9], generated=[0, 0, 0, 0.1, 40, 8]
    )
    assert validation.curve(SPECTRUM, spectrum).layout.xaxis.range == (-11, -2)
    assert validation.curve(PROFILE, spectrum).layout.xaxis.range is None
    nothing = Curve(x=[-13, -12], real=[0, 0], generated=[None, 0])
    assert validation.curve(SPECTRUM, nothing).layout.xaxis.range is None
