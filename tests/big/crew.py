"""The processes of a test: the payment server, the person, and workers that are killed and started again."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from board import Board, Phase
from commands import environment
from judge import WINDOWS, window_of
from payments import charges_in
from plan import Plan

HERE = Path(__file__).parent

#: How long a process may take to leave when it was asked to, in seconds.
GOODBYE = 20.0

#: Longest pause between two kills, and longest wait between seeing the victim and killing it, in seconds.
BETWEEN_KILLS, AIM = 0.1, 0.002

#: How many of the kills go elsewhere: where the ledger writes an intent, waits for another worker, or reconciles.
ELSEWHERE = 0.15

_PHASE = {"before": Phase.BEFORE, "inside": Phase.INSIDE, "after": Phase.OVER, "elsewhere": Phase.CALLING}


class Helper:
    """A process that serves until its standard input is closed, and says one thing on its standard output."""

    def __init__(self, program: str, plan: Plan) -> None:
        line = [sys.executable, str(HERE / program), plan.to_json()]
        self.name = program
        self._process = subprocess.Popen(
            line, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def word(self) -> str:
        """The line that it prints."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    @property
    def alive(self) -> bool:
        """Whether it still serves."""
        return self._process.poll() is None

    def leave(self) -> str:
        """Let it end; what else it prints. It is killed if it does not."""
        try:
            return self._process.communicate(timeout=GOODBYE)[0].strip()
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.communicate()[0].strip()


class Crew:
    """The workers. Each start has a slot of its own on the board, so that the last word of the killed is not overwritten."""

    def __init__(self, plan: Plan, board: Board) -> None:
        self._plan, self._board = plan, board
        self._alive: dict[int, subprocess.Popen[bytes]] = {}
        self._lifeline = (
            os.pipe()
        )  # all read it; what is written on it is nothing, but it breaks when this process ends
        self._started = 0
        self.kills: Counter[str] = Counter()
        self.faults: list[str] = []

    def keep_up(self) -> None:
        """Note who ended unasked, and start workers until the crew is complete."""
        for slot, process in list(self._alive.items()):
            if process.poll() is not None:
                self._gone(slot)
        while len(self._alive) < self._plan.workers and not self._board.all_settled:
            line = [sys.executable, str(HERE / "worker.py"), self._plan.to_json(), str(self._started)]
            self._alive[self._started] = subprocess.Popen(line, env=environment(), stdin=self._lifeline[0])
            self._started += 1

    def _gone(self, slot: int) -> None:
        code = self._alive.pop(slot).wait()
        if code != 0:
            self.faults.append(f"a worker ended with {code} at {self._board.place(slot)}")

    def kill_in(self, window: str, chance: random.Random) -> bool:
        """Kill a worker that seems to be in this window, and count where it really was."""
        seen = [slot for slot in self._alive if self._board.place(slot).phase == _PHASE[window]]
        if not seen:
            return False
        slot = chance.choice(seen)
        time.sleep(chance.uniform(0, AIM))
        process = self._alive[slot]
        if process.poll() is not None:
            return False
        del self._alive[slot]
        process.kill()
        if process.wait() == 0:  # it came to its own end at this moment
            return False
        self.kills[window_of(self._board.place(slot), charges_in(self._plan.log))] += 1
        return True

    def dismiss(self) -> None:
        """Let the workers end, which see that all is settled or that time is up; kill who does not."""
        until = time.monotonic() + GOODBYE
        for slot, process in list(self._alive.items()):
            try:
                process.wait(max(until - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                process.kill()
                self.faults.append(f"a worker did not end, at {self._board.place(slot)}")
                process.wait()
                del self._alive[slot]
            else:
                self._gone(slot)
        for end in self._lifeline:
            os.close(end)


class Killer:
    """Decides when a worker dies and where: mostly in the window that had the fewest kills, until each had enough."""

    def __init__(self, crew: Crew, enough: int, chance: random.Random) -> None:
        self._crew, self._enough, self._chance = crew, enough, chance
        self._next, self._elsewhere = 0.0, False

    @property
    def share(self) -> float:
        """How much of the killing is done, from 0 to 1."""
        done = sum(min(self._crew.kills[window], self._enough) for window in WINDOWS)
        return done / (self._enough * len(WINDOWS)) if self._enough else 1.0

    def strike(self) -> None:
        """Kill, if it is time and somebody is where the next kill belongs."""
        if self.share < 1 and time.monotonic() >= self._next:
            window = min(WINDOWS, key=lambda name: self._crew.kills[name])
            if self._crew.kill_in("elsewhere" if self._elsewhere else window, self._chance):
                self._next = time.monotonic() + self._chance.uniform(0, BETWEEN_KILLS)
                self._elsewhere = self._chance.random() < ELSEWHERE
