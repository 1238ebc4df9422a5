"""Run a program and print what it cost: seconds, bytes of memory at most (0: not known), exit code. Run by its path, as a process of its own.

The system counts the memory of whoever starts a program as that of the program, so this one imports next to nothing.
"""

from __future__ import annotations

import os
import sys
import time

#: The unit of ru_maxrss, in bytes.
_MAXRSS = 1 if sys.platform == "darwin" else 1024


def main(words: list[str]) -> None:
    """Start ``words`` with nothing to read and nobody to read it; wait for its end."""
    start = time.perf_counter()
    code, memory = _waited_for(words)
    seconds = time.perf_counter() - start
    sys.stdout.write(f"{seconds} {memory} {code}\n")


def _waited_for(words: list[str]) -> tuple[int, int]:
    if sys.platform == "win32":
        import subprocess

        return subprocess.run(words, capture_output=True, check=False).returncode, 0  # noqa: S603
    null = os.open(os.devnull, os.O_RDWR)
    silence = [(os.POSIX_SPAWN_DUP2, null, stream) for stream in range(3)]
    pid = os.posix_spawn(words[0], words, os.environ, file_actions=silence)
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss * _MAXRSS


if __name__ == "__main__":
    main(sys.argv[1:])
