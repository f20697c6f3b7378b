"""What text that people type must not contain."""

from __future__ import annotations

import unicodedata

# what would reorder or hide text: bidirectional controls and zero-width characters, but the joiner
# that emoji need
_HIDDEN = {
    chr(c)
    for c in (
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
        0x200B,
        0x200C,
        0x200E,
        0x200F,
        0x061C,
        0x2060,
        0xFEFF,
    )
}


def invisible(text: str) -> str | None:
    """The first invisible or control character, as "U+200B"; None when there is none."""
    bad = next(
        (
            c
            for c in text
            if c in _HIDDEN or unicodedata.category(c) in ("Cc", "Cs", "Co", "Cn", "Zl", "Zp")
        ),
        None,
    )
    return None if bad is None else f"U+{ord(bad):04X}"
