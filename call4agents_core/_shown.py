"""Text that a person decides by: nothing in it is invisible, and nothing in it rearranges what stands beside it."""

import re
from typing import Final

# What `str.isprintable` lets through although nothing (or a blank) is drawn for it: the default-ignorable marks and
# letters of Unicode, the variation selectors, and the empty Braille cell.
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def escaped(text: str) -> str:
    r"""Return `text` with each character that cannot be seen written as `\xNN`, `\uNNNN` or `\UNNNNNNNN`.

    Escaped are control, format (bidi and zero width among them), surrogate, private-use and unassigned characters,
    separators other than the plain space, and everything default-ignorable. Visible characters of any script stay.
    """
    if text.isprintable() and not _UNSEEN.search(text):
        return text
    return "".join(map(_one, text))


def shown(value: object, most: int = 2000) -> str:
    """Return the escaped `repr` of `value`, cut after `most` characters with a remark on how many are missing.

    Never raises: a `repr` that does is replaced by a remark with the name of the class.
    """
    try:
        text = escaped(repr(value))
    except Exception:  # whatever somebody else's __repr__ raises
        text = f"<{escaped(type(value).__name__)}: repr failed>"
    if len(text) <= most:
        return text
    return f"{text[:most]}… ({len(text) - most} more characters)"


def _one(character: str) -> str:
    if character.isprintable() and not _UNSEEN.match(character):
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def command(*words: str, options: tuple[str, ...] = (), ledger: str = "") -> str:
    """A command line to type, quoted for a shell and safe to print. ``words``: the command and what it is about."""
    import shlex  # it brings the regular expressions, which few starts need

    tail = (*options, "--ledger", ledger) if ledger else options
    if any(word.startswith("-") for word in words):  # a run or a tool of such a name would be taken for an option
        return escaped(shlex.join(("call4agents", words[0], *tail, "--", *words[1:])))
    return escaped(shlex.join(("call4agents", *words, *tail)))
