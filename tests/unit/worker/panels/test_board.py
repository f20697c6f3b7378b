from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ganboard.worker.panels.board import (
    ADDRESS,
    CURVES,
    PANELS,
    Board,
    Panel,
    check,
    decode,
    encode,
)
from ganboard.worker.panels.errors import BadPanel


def test_a_board_in_an_address_is_short_and_comes_back() -> None:
    panels = (
        Panel(y="d_loss / g_loss", log_y=True, title="Balance é"),
        Panel(y="fid", x="seconds", width="full", smoothing=0.9, pinned=True),
    )
    text = encode(Board(panels))
    assert text == (
        '[{"y":"fid","x":"seconds","smoothing":0.9,"width":"full","pinned":true},'
        '{"y":"d_loss / g_loss","title":"Balance é","log_y":true}]'
    )
    assert decode(text) == Board(panels)
    assert decode(text).panels == panels[::-1]  # pinned ones are first
    Draft202012Validator(Board.model_json_schema()).validate(json.loads(text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "are not a list such as"),
        ("nonsense", "are not a list such as"),
        ('[{"y":', "are not a list such as"),
        ("[" * 3000, "are not a list such as"),
        ("x" * (ADDRESS + 1), f"have {ADDRESS + 1:,} characters; the limit is {ADDRESS:,}"),
        ("{}", "are not a list such as [{"),
        ("[1]", "Panel 1: 1 is not a panel such as"),
        ("[{}]", "Panel 1: y is missing; a panel is written like [{"),
        ('[{"y":"g_loss"},{"y":"x.y"}]', "Panel 2: 'x.y' is not allowed"),
        ('[{"y":["g_loss","x.y"]}]', "Panel 1: 'x.y' is not allowed"),
        ('[{"y":[]}]', f"Panel 1: y must be an expression or a list of up to {CURVES}."),
        ('[{"y":["g_loss",1]}]', "Panel 1: y must be an expression or a list of up to"),
        (
            json.dumps([{"y": ["a"] * 7}]),
            f"Panel 1: A panel has at most {CURVES} expressions, not 7.",
        ),
        ('[{"y":"g_loss","x":"1"}]', "Panel 1: The expression '1' has no metric"),
        ('[{"y":"g_loss","colour":"red"}]', "Panel 1: 'colour' is not a field of a panel"),
        ('[{"y":"g_loss","<b>x</b>":1}]', "Panel 1: '<b>x</b>' is not a field"),
        (
            '[{"y":"g_loss","smoothing":7}]',
            "smoothing=7 is not allowed: it must be less than or equal to 0.9",
        ),
        ('[{"y":"g_loss","smoothing":NaN}]', "smoothing=nan is not allowed"),
        (
            '[{"y":"g_loss","width":"huge"}]',
            "width=huge is not allowed: it must be 'third', 'half' or 'full'",
        ),
        (
            '[{"y":"g_loss","title":"' + "x" * 81 + '"}]',
            "xxx... is not allowed: it must have at most 80",
        ),
        (json.dumps([{"y": "g"}] * (PANELS + 1)), f"more panels than the {PANELS}"),
    ],
)
def test_a_bad_address_is_refused_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(BadPanel) as caught:
        decode(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=80)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=8) | st.just("g_loss"),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["y", "x", "title", "width", "z"]), inner, max_size=4)
        ),
        max_leaves=8,
    ).map(json.dumps)
)
def test_any_address_is_a_board_or_refused(text: str) -> None:
    try:
        board = decode(text)
    except BadPanel:
        return
    assert decode(encode(board)) == board


def test_panels_are_added_changed_moved_and_removed() -> None:
    a, b, c = (Panel(y=name) for name in ("a", "b", "c"))
    board = Board((a, b)).with_panel(c)
    assert board.panels == (a, b, c)
    assert board.moved(2, -1).panels == (a, c, b)
    assert board.moved(0, -1).panels == board.moved(2, 1).panels == (a, b, c)
    assert board.without(1).panels == (a, c)
    pinned = b.model_copy(update={"pinned": True})
    board = board.with_panel(pinned, 1)
    assert board.panels == (pinned, a, c)
    assert board.moved(1, -1).panels == (pinned, a, c)
    full = Board(tuple([a] * PANELS))
    with pytest.raises(BadPanel, match=f"at most {PANELS} panels"):
        full.with_panel(a)
    with pytest.raises(BadPanel, match="the limit for an address is"):
        encode(Board(tuple([Panel(y="a", title="x" * 80, x="b" * 200)] * PANELS)))


def test_what_a_person_typed_is_checked() -> None:
    assert check({"y": " d_loss / g_loss ", "x": " time "}).x == "time"
    assert check({"y": "fid"}).called == "fid"
    assert check({"y": "fid", "x": "seconds"}).called == "fid over seconds"
    with pytest.raises(BadPanel, match=r"'fid\.x' is not allowed"):
        check({"y": "fid.x"})


def test_a_panel_has_one_expression_or_several() -> None:
    text = '[{"y":["g_loss","d_loss / 2"],"x":"seconds"}]'
    (panel,) = decode(text).panels
    assert panel.curves == ("g_loss", "d_loss / 2")
    assert panel.called == "g_loss, d_loss / 2 over seconds"
    assert encode(Board((panel,))) == text
    # boards of before have one, which stays as it was written
    assert decode('[{"y":"fid"}]') == decode('[{"y":["fid"," fid "]}]')
    assert encode(decode('[{"y":["fid"]}]')) == '[{"y":"fid"}]'
    validator = Draft202012Validator(Board.model_json_schema())
    validator.validate(json.loads(text))
    assert not validator.is_valid([{"y": []}])
