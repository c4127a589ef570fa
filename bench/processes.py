"""What a tree of processes uses: CPU seconds and anonymous memory, from /proc."""

import os
import threading
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def _stat(pid):
    """The fields of /proc/PID/stat from the third on, None when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def parents():
    """{pid: parent} of all processes."""
    found = {}
    for entry in os.listdir("/proc"):
        stat = _stat(entry) if entry.isdigit() else None
        if stat:
            found[int(entry)] = int(stat[1])
    return found


def tree(root):
    """The process and all below it."""
    parent_of = parents()
    below = {root}
    grown = True
    while grown:
        grown = False
        for pid, parent in parent_of.items():
            if parent in below and pid not in below:
                below.add(pid)
                grown = True
    return below


def cpu_seconds(root):
    """User and system time of a process, of all below it, and of those among them that ended already."""
    total = 0
    for pid in tree(root):
        stat = _stat(pid)
        if stat:
            total += sum(int(field) for field in stat[11:15])
    return total / _TICKS


def name_of(pid):
    """The base name of its executable as it was called, "" when it is gone."""
    try:
        return os.path.basename(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode())
    except OSError:
        return ""


def anonymous_bytes(pid):
    """RssAnon, 0 when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon:")]
    return int(found[0]) * 1024 if found else 0


class MemoryWatch:
    """Samples the anonymous memory of a process's children until stopped; `peaks` by the executable's name. Of several with
    one name the largest counts. `each` is called with {pid: name} at every turn."""

    EVERY_S = 0.005
    _LOOK_FOR_CHILDREN = 20  # turns

    def __init__(self, pid, each=lambda names: None):
        self.peaks = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(pid, each))
        self._thread.start()

    def _run(self, pid, each):
        names, turn = {}, 0
        while not self._stop.wait(self.EVERY_S):
            if turn % self._LOOK_FOR_CHILDREN == 0:
                names.update({child: name_of(child) for child, parent in parents().items() if parent == pid})
            turn += 1
            each(names)
            for child, name in names.items():
                self.peaks[name] = max(self.peaks.get(name, 0), anonymous_bytes(child))

    def stop(self):
        self._stop.set()
        self._thread.join()
        return self.peaks
