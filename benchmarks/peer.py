"""call4agents 0.5.0, another author's package, in an environment of its own outside the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VERSION = "0.5.0"
_PATIENCE = 300.0


class NotToBeHad(Exception):
    """The peer cannot be installed here; the text says why."""


def cache() -> Path:
    """Where things lie that may be deleted at any time: the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "call4agents-core-benchmarks"


def python_of_peer() -> str:
    """The interpreter of an environment that holds the peer; it is made the first time. Raises NotToBeHad."""
    tag = sys.implementation.cache_tag or "python"
    place = cache() / f"peer-{VERSION}-{tag}"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix="making-", dir=place.parent))
        try:
            _make(making)
            os.rename(making, place)  # a whole environment or none
        except OSError as error:
            if not place.exists():  # another run may have been faster
                raise NotToBeHad(str(error)) from error
        finally:
            shutil.rmtree(making, ignore_errors=True)
    return str(_python(place))


def _make(place: Path) -> None:
    _run(sys.executable, "-m", "venv", "--without-pip", str(place))
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(_python(place)))
    _run(*pip, "install", "--quiet", f"call4agents=={VERSION}")


def _python(place: Path) -> Path:
    return place / "Scripts" / "python.exe" if os.name == "nt" else place / "bin" / "python"


def _run(*words: str) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=_PATIENCE)  # noqa: S603
    except subprocess.TimeoutExpired as error:
        raise NotToBeHad(f"no answer within {_PATIENCE:.0f} seconds") from error
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise NotToBeHad(lines[-1] if lines else f"{words[-1]}: exit {done.returncode}")
