"""Escaped text: nothing that a person decides by is invisible or rearranges its surroundings."""

import unicodedata

import pytest

from call4agents_core._shown import escaped, shown


@pytest.mark.parametrize(
    "text", ["", "plain text", "é 漢 ß Ω", "e\u0301", "🙂", "a\\b", "'\"", "שלום", "¡¢"], ids=ascii
)
def test_visible_characters_of_any_script_stay(text):
    """Escaping must not make honest text unreadable."""
    assert escaped(text) == text


@pytest.mark.parametrize(
    ("character", "escape"),
    [
        ("\x00", r"\x00"), ("\n", r"\x0a"), ("\x1b", r"\x1b"), ("\x7f", r"\x7f"), ("\x9b", r"\x9b"), ("\xa0", r"\xa0"),
        ("\xad", r"\xad"), ("\u034f", r"\u034f"), ("\u061c", r"\u061c"), ("\u115f", r"\u115f"), ("\u1160", r"\u1160"),
        ("\u180e", r"\u180e"), ("\u200b", r"\u200b"), ("\u200d", r"\u200d"), ("\u202e", r"\u202e"),
        ("\u2028", r"\u2028"),
        ("\u2029", r"\u2029"), ("\u2066", r"\u2066"), ("\u2800", r"\u2800"), ("\u3000", r"\u3000"),
        ("\u3164", r"\u3164"),
        ("\ufe0f", r"\ufe0f"), ("\ufeff", r"\ufeff"), ("\uffa0", r"\uffa0"), ("\ud800", r"\ud800"),
        ("\ue000", r"\ue000"),
        ("\U000e0041", r"\U000e0041"), ("\U000e0100", r"\U000e0100"), ("\U0010fffd", r"\U0010fffd"),
        ("\u17b4", r"\u17b4"),
    ],
    ids=ascii,
)  # fmt: skip
def test_a_character_that_cannot_be_seen_is_escaped(character, escape):
    """Control, format, bidi, zero width, separators, surrogates, private use, default-ignorable (DESIGN 5, Approval)."""
    assert escaped(f"a{character}b") == f"a{escape}b"


def test_no_character_of_an_invisible_category_is_left():
    """Checked over all of Unicode, as this Python knows it."""
    left = escaped("".join(map(chr, range(0x110000))))
    assert not {unicodedata.category(c) for c in left} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert [c for c in left if unicodedata.category(c) == "Zs"].count(" ") == left.count(" ") == 1


def test_shown_is_the_escaped_repr():
    """What repr leaves invisible, and what it does not own, is escaped too."""
    assert shown("a\u202eb\u2800") == r"'a\u202eb\u2800'"
    assert shown({"é": [1, "漢"]}) == "{'é': [1, '漢']}"


def test_long_values_are_cut_with_a_remark():
    """A request for approval stays readable, and says that it is not whole."""
    assert shown("x" * 10, most=5) == "'xxxx… (7 more characters)"
    assert shown("x" * 3, most=5) == "'xxx'"


@pytest.mark.parametrize("error", [ValueError("no"), RecursionError(), UnicodeDecodeError("utf-8", b"", 0, 1, "")])
def test_a_repr_that_raises_is_replaced(error):
    """Showing a value never fails the call that it is about."""

    class Broken:
        def __repr__(self):
            raise error

    assert shown(Broken()) == "<Broken: repr failed>"
    assert shown([Broken()]) == "<list: repr failed>"


def test_an_integer_beyond_the_limit_of_digits_does_not_raise():
    """The repr of an int has a limit of 4300 digits."""
    assert shown(10**5000) == "<int: repr failed>"


def test_a_repr_that_is_no_text_is_replaced():
    """TypeError comes from repr itself."""

    class Broken:
        def __repr__(self):
            return 1

    assert shown(Broken()) == "<Broken: repr failed>"
