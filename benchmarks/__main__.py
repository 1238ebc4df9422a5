"""The command line of the benchmarks: `python -m benchmarks --help`."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import callers, commands, grown, machine, peer, report
from benchmarks.children import Subject
from benchmarks.settings import Settings, quick

if TYPE_CHECKING:
    from collections.abc import Sequence

_QUICK_ACTIONS = 100


def main(words: Sequence[str] | None = None) -> int:
    """Measure, or take what was measured before, and print it."""
    options = _parser().parse_args(words)
    if options.show is not None:
        measured = report.Measured.from_json(json.loads(options.show.read_text(encoding="utf-8")))
    else:
        measured = _measured(options)
    if options.json is not None:
        options.json.write_text(json.dumps(measured.as_json(), indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(report.markdown(measured) if options.markdown else report.text(measured))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Speed of the ledger, as ratios to what runs beside it in the same rounds.",
    )
    parser.add_argument(
        "--actions", type=_count, metavar="N", help=f"actions in the ledger called full (default: {Settings().actions})"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples and figures to FILE")
    parser.add_argument("--markdown", action="store_true", help="print the tables of docs/performance.md")
    parser.add_argument("--show", type=Path, metavar="FILE", help="measure nothing: print what --json wrote to FILE")
    parser.add_argument(
        "--folder",
        type=Path,
        metavar="DIR",
        help="where the ledgers are to lie: on the disk that is meant (default: the user's cache folder)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="a few actions, to see that everything works; its figures say little"
    )
    return parser  # fmt: skip


def _count(given: str) -> int:
    number = int(given)
    if number < _QUICK_ACTIONS:
        raise argparse.ArgumentTypeError(f"at least {_QUICK_ACTIONS}")
    return number


def _measured(options: argparse.Namespace) -> report.Measured:
    settings = quick(options.actions or _QUICK_ACTIONS) if options.quick else Settings()
    settings = settings._replace(actions=options.actions or settings.actions)
    parent = options.folder or peer.cache()
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="ledgers-", dir=parent))
    try:
        return _measured_in(folder, settings)
    finally:
        shutil.rmtree(folder)


def _measured_in(folder: Path, settings: Settings) -> report.Measured:
    ours = Subject("ours", sys.executable)
    subjects, notes = [Subject("floor", sys.executable), ours], list[str]()
    if machine.in_memory(folder):
        notes.append("The ledgers lie in memory, where a sync costs nothing: give --folder on a disk.")
    try:
        subjects.insert(1, Subject("peer", peer.python_of_peer()))
    except peer.NotToBeHad as error:
        notes.append(f"call4agents {peer.VERSION} cannot be had here, so nothing was compared with it: {error}")
    about = machine.described(folder)
    samples: dict[str, list[float]] = {}
    for name, measure in (
        ("one caller", callers.one_caller),
        ("threads", callers.threads),
        ("tasks", callers.tasks),
        ("processes", callers.processes),
    ):
        _tell(name)
        samples |= measure(subjects, folder, settings)
    _tell("a grown ledger")
    samples |= grown.grown(ours, folder, settings, _tell)
    _tell("starts")
    samples |= commands.starts(folder / "ten" / "ledger.sqlite", settings)
    return report.Measured(about, settings._asdict(), notes, samples)


def _tell(what: str) -> None:
    """Progress, on standard error."""
    sys.stderr.write(f"{what} ...\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
