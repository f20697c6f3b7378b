"""Pictures from strangers: decoded as a person sees them, or refused in a sentence; no other parser
of Pillow is ever reached."""

from __future__ import annotations

import ast
import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from PIL import Image

from ganboard.gan.data import DatasetError, load
from ganboard.gan.data.decoding import MAX_PIXELS, MAX_SIDE, decode
from ganboard.gan.models.dcgan.config import Config
from tests.fuzz.cases import EXAMPLES, count, fuzzed, refusal
from tests.fuzz.measured import refused
from tests.fuzz.test_archives import CHANGES, Change, changed

# less of it in the quick profile, where packing it would take longest
HUGE = 1 << (28 if EXAMPLES else 24)
ROOT = Path(__file__).parents[2]
PIXELS = np.random.default_rng(0).integers(0, 256, (40, 30, 4), dtype=np.uint8)


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def header(
    width: int, height: int, depth: int = 8, colour: int = 0, *more: bytes, body: bytes = b""
) -> bytes:
    """A PNG of these measures, whatever its body holds."""
    first = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    return (
        b"\x89PNG\r\n\x1a\n"
        + first
        + b"".join(more)
        + chunk(b"IDAT", zlib.compress(body))
        + chunk(b"IEND", b"")
    )


def with_exif(orientation: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encoded(Image.fromarray(PIXELS[..., :3]), "JPEG", exif=exif)


def palette() -> bytes:
    image = Image.fromarray(PIXELS[..., 0], "L").convert("P")
    return encoded(image, transparency=bytes(range(256)))


FRAMES = [Image.fromarray(PIXELS[..., n]) for n in range(3)]
GOOD: dict[str, bytes] = {
    "grey": encoded(Image.fromarray(PIXELS[..., 0])),
    "rgb": encoded(Image.fromarray(PIXELS[..., :3])),
    "rgba": encoded(Image.fromarray(PIXELS)),
    "16 bit": encoded(Image.fromarray(PIXELS[..., 0].astype(np.uint16) << 8)),
    "1 bit": encoded(Image.fromarray(PIXELS[..., 0]).convert("1")),
    "palette with tRNS": palette(),
    "grey with alpha": encoded(Image.fromarray(PIXELS).convert("LA")),
    "APNG": encoded(FRAMES[0], save_all=True, append_images=FRAMES[1:]),
    "jpeg": encoded(Image.fromarray(PIXELS[..., :3]), "JPEG"),
    "cmyk": encoded(Image.fromarray(PIXELS, "CMYK"), "JPEG"),
    "progressive": encoded(Image.fromarray(PIXELS[..., :3]), "JPEG", progressive=True),
    **{f"EXIF {n}": with_exif(n) for n in range(10)},
    "1x1": encoded(Image.new("L", (1, 1), 7)),
    "1x4096": encoded(Image.new("L", (1, MAX_SIDE), 7)),
    "PNG and HTML": encoded(Image.fromarray(PIXELS)) + b"<html><script>alert(1)</script></html>",
}
HOSTILE: dict[str, Callable[[], bytes]] = {
    "0x0": lambda: header(0, 0),
    "0x5": lambda: header(0, 5),
    "65535x65535": lambda: header(65_535, 65_535),
    "2^31 x 2^31": lambda: header(2**31 - 1, 2**31 - 1),
    "one pixel too wide": lambda: header(MAX_SIDE + 1, 1, body=bytes(MAX_SIDE + 2)),
    "too many pixels": lambda: header(4096, MAX_PIXELS // 4096 + 1),
    "a text of 256 MB": lambda: header(
        28, 28, 8, 0, chunk(b"zTXt", b"x\0\0" + zlib.compress(bytes(HUGE))), body=bytes(28 * 29),
    ),
    "a profile of 256 MB": lambda: header(
        28, 28, 8, 0, chunk(b"iCCP", b"x\0\0" + zlib.compress(bytes(HUGE))), body=b"",
    ),
    "pixels of 256 MB": lambda: header(9, 9, 8, 0, body=bytes(HUGE))[:-40],
    "JPEG of 65535x65535": lambda: GOOD["jpeg"].replace(
        struct.pack(">HH", 40, 30), struct.pack(">HH", 65_535, 65_535), 1,
    ),
    "GIF": lambda: encoded(FRAMES[0], "GIF", save_all=True, append_images=FRAMES[1:]),
    "BMP": lambda: encoded(FRAMES[0], "BMP"),
    "TIFF": lambda: encoded(FRAMES[0], "TIFF"),
    "EPS": lambda: encoded(FRAMES[0], "EPS"),
    "PDF": lambda: encoded(FRAMES[0], "PDF"),
    "ICO": lambda: encoded(FRAMES[0], "ICO"),
    "WEBP": lambda: encoded(FRAMES[0], "WEBP"),
    "PSD": lambda: b"8BPS\0\1" + bytes(200),
    "FITS": lambda: b"SIMPLE  =                    T".ljust(2880),
    "SVG": lambda: b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>",
    "HTML": lambda: b"<html><script>alert(1)</script></html>",
    "empty": lambda: b"",
    "half": lambda: GOOD["rgb"][: len(GOOD["rgb"]) // 2],
    "only a signature": lambda: b"\x89PNG\r\n\x1a\n",
}  # fmt: skip


def put(path: Path, name: str) -> str:
    """The file of a hostile picture, and the expression that decodes it."""
    path.write_bytes(HOSTILE[name]())
    return f"decode(Path({str(path)!r}).read_bytes(), 'a picture')"


def picture(data: bytes) -> str | None:
    """The refusal of a picture, None when it was decoded: then it is what every picture becomes."""
    found: list[Any] = []
    said = refusal(DatasetError, lambda: found.append(decode(data, "a picture")))
    if not said:
        assert (found[0].shape, found[0].dtype) == ((28, 28), np.uint8)
    return said


def test_every_kind_of_picture_is_decoded() -> None:
    count("images", len(GOOD))
    assert {name: said for name, data in GOOD.items() if (said := picture(data))} == {}


def test_hostile_pictures_are_refused_within_a_second_and_64_megabytes(tmp_path: Path) -> None:
    found = dict(
        zip(
            HOSTILE,
            refused([put(tmp_path / f"{n}", name) for n, name in enumerate(HOSTILE)]),
            strict=True,
        )
    )
    count("images", len(found))
    shown = {name for name, one in found.items() if not one.sentence}
    assert shown <= {"a text of 256 MB", "a profile of 256 MB", "pixels of 256 MB"}, (
        "what Pillow leaves out of a picture may be anything"
    )
    assert max(one.seconds for one in found.values()) < 5, "the goal is 1 s on an idle machine"
    assert sum(one.extra_bytes for one in found.values()) < 128 << 20, "the goal is 64 MB for each"


@fuzzed(30, kind=st.sampled_from(sorted(GOOD)), changes=CHANGES)
def test_a_damaged_picture_is_decoded_or_refused(kind: str, changes: list[Change]) -> None:
    picture(changed(GOOD[kind], changes))


@fuzzed(
    20,
    width=st.integers(0, 2**32 - 1) | st.integers(0, 60),
    height=st.integers(0, 2**32 - 1) | st.integers(0, 60),
    depth=st.sampled_from([1, 2, 4, 8, 16, 3, 0, 255]),
    colour=st.sampled_from([0, 2, 3, 4, 6, 1, 7, 255]),
    more=st.lists(
        st.tuples(
            st.sampled_from(
                [
                    b"PLTE",
                    b"tRNS",
                    b"gAMA",
                    b"iCCP",
                    b"eXIf",
                    b"acTL",
                    b"fcTL",
                    b"tEXt",
                    b"zTXt",
                    b"iTXt",
                ]
            ),
            st.binary(max_size=40),
        ),
        max_size=3,
    ),
    body=st.integers(0, 20_000),
)
def test_headers_and_chunks(
    width: int, height: int, depth: int, colour: int, more: list[tuple[bytes, bytes]], body: int
) -> None:
    said = picture(
        header(width, height, depth, colour, *(chunk(*one) for one in more), body=bytes(body))
    )
    if max(width, height) > MAX_SIDE or not width or not height:
        assert said


@fuzzed(
    2,
    kinds=st.lists(st.sampled_from(sorted(GOOD)), min_size=1, max_size=5),
    spoiled=st.integers(0, 9),
)
def test_a_folder_of_mixed_pictures(tmp_path: Path, kinds: list[str], spoiled: int) -> None:
    folder = tmp_path / "set"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for place, kind in enumerate(kinds):
        (folder / f"{place}.png").write_bytes(b"x" if place == spoiled else GOOD[kind])
    found: list[Any] = []
    said = refusal(
        DatasetError,
        lambda: found.append(
            load(Config(dataset="images", images_path="set", batch_size=1), tmp_path)
        ),
    )
    assert bool(said) == (spoiled < len(kinds))
    if not said:
        assert found[0].images.shape == (len(kinds), 28, 28, 1)


def test_pillow_is_given_the_formats_wherever_it_reads_what_others_wrote() -> None:
    opened = {
        f"{path.relative_to(ROOT)}": bool({keyword.arg for keyword in node.keywords} & {"formats"})
        for package in ("app", "db", "gan", "worker")
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Image.open"
    }
    assert opened
    assert [place for place, named in opened.items() if not named] == []
