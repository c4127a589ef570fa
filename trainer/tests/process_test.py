"""Law L8: "The client forks nothing, spawns nothing, uses no collective, opens its socket lazily
in the process that iterates, survives being pickled, and holds no reference to a model." """

import os
import subprocess
import sys
import textwrap
import time

import pytest
from small_job import SmallJob

from packline import InUse, PackStream, WrongProcess

JOB = SmallJob([[2, 2], [2]], epochs=2, dp_size=1, samples=2)
TRAINER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def script(text, path, timeout=60):
    env = {**os.environ, "PYTHONPATH": TRAINER, "JOB": path}
    program = "import os, sys\njob = os.environ['JOB']\n" + textwrap.dedent(text)
    return subprocess.run(
        [sys.executable, "-c", program], env=env, timeout=timeout, capture_output=True, text=True
    )


def test_importing_and_making_a_stream_opens_nothing_and_imports_little(line):
    path, sinks = line(JOB)
    done = script(
        """
        import threading, msgpack, numpy, zmq
        before = set(sys.modules)
        import packline
        stream = packline.PackStream(job, layout="numpy")
        stream.state_dict()
        bad = {"torch", "subprocess", "multiprocessing", "yaml", "xxhash", "packline.local"}
        print(sorted(bad & set(sys.modules) - before), threading.active_count())
        """,
        path,
    )
    assert done.stdout == "[] 1\n", done
    assert not sinks[0].subscribes


def test_iterating_forks_and_starts_nothing(line):
    path, _ = line(JOB)
    done = script(
        """
        events = []
        started = {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.forkpty"}
        sys.addaudithook(lambda name, args: events.append(name) if name in started else None)
        os.register_at_fork(before=lambda: events.append("fork"))
        import packline
        with packline.PackStream(job, layout="rows") as stream:
            n = sum(len(list(stream)) for _ in range(2))
        print(n, events, "multiprocessing" in sys.modules)
        """,
        path,
    )
    assert done.stdout == "12 [] False\n", done


def test_a_job_read_to_its_end_says_done_at_exit(line):
    path, sinks = line(JOB)
    text = """
        import packline
        def train():
            stream = packline.PackStream(job, layout="rows")
            for _ in range(2):
                for pack in stream: pass
        train()  # the stream itself is gone before the program ends
        """
    began = time.monotonic()
    assert script(text, path).returncode == 0
    assert time.monotonic() - began < 5
    assert sinks[0].subscribes[-1]["done"]


@pytest.mark.parametrize("end", ["1/0", "sys.exit(3)", "os._exit(4)", ""])
def test_a_program_that_stops_early_ends_at_once_and_is_not_done(line, end):
    path, sinks = line(JOB)
    text = f"""
        import packline
        stream = packline.PackStream(job, layout="rows")
        it = iter(stream)
        next(it)
        {end}
        """
    began = time.monotonic()
    script(text, path)
    assert time.monotonic() - began < 4
    assert sinks[0].subscribes and not any(s["done"] for s in sinks[0].subscribes)


def test_a_failure_after_the_last_pack_is_not_done(line):
    path, sinks = line(JOB)
    text = """
        import packline
        stream = packline.PackStream(job, layout="rows")
        list(stream), list(stream)
        raise OSError("the last checkpoint could not be written")
        """
    assert script(text, path).returncode == 1
    assert not any(s["done"] for s in sinks[0].subscribes)


def in_fork(do):
    """What `do()` gave, as text, in a forked child."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            said = repr(do())
        except BaseException as e:
            said = f"{type(e).__name__}: {e}"
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as f:
        said = f.read()
    os.waitpid(pid, 0)
    return said


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_is_told_why_not_and_the_parent_goes_on(line):
    path, _ = line(JOB)
    stream = PackStream(path, layout="rows")
    fresh = PackStream(path, layout="rows")
    it = iter(stream)
    next(it)
    state = stream.state_dict()
    for do in (lambda: next(it), lambda: next(iter(fresh)), stream.peek):
        said = in_fork(do)
        assert said.startswith("WrongProcess: ") and f"made in process {os.getpid()}" in said
    assert in_fork(lambda: stream.state_dict() == state) == "True"
    assert in_fork(lambda: len(list(PackStream(path, layout="rows")))) == "6"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_newer_process_does_not_disturb_the_objects_of_the_older(line):
    path, _ = line(JOB)
    stream = PackStream(path, layout="rows")
    it = iter(stream)
    next(it)
    in_fork(lambda: stream.close())
    assert len(list(it)) == 5


torch_only = pytest.mark.skipif(
    __import__("importlib.util").util.find_spec("torch") is None,
    reason="torch is absent: DataLoader and tensors are NOT tested",
)


@torch_only
def test_a_dataloader_takes_the_stream_as_it_is(line):
    import torch
    from torch.utils.data import DataLoader, IterableDataset

    path, _ = line(JOB)
    stream = PackStream(path)
    assert isinstance(stream, IterableDataset)
    loader = DataLoader(stream, batch_size=None, num_workers=0)
    for _ in range(2):
        packs = list(loader)
        assert len(packs) == 6 and all(p["input_ids"].dtype == torch.int64 for p in packs)
    assert list(loader) == []


@torch_only
def test_torch_may_be_imported_after_the_stream_is_made(line):
    path, _ = line(JOB)
    done = script(
        """
        import packline
        stream = packline.PackStream(job)
        assert "torch" not in sys.modules
        from torch.utils.data import DataLoader, IterableDataset
        print(isinstance(stream, IterableDataset), len(list(DataLoader(stream, batch_size=None))))
        import pickle
        print(type(stream).__name__, type(pickle.loads(pickle.dumps(stream))).__name__)
        """,
        path,
        timeout=120,
    )
    assert done.stdout == "True 6\nPackStream PackStream\n", done


@torch_only
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_dataloader_worker_is_told_why_not(line, start):
    from torch.utils.data import DataLoader

    path, sinks = line(JOB)
    stream = PackStream(path, layout="rows")
    loader = DataLoader(stream, batch_size=None, num_workers=1, multiprocessing_context=start)
    with pytest.raises(WrongProcess, match=r"DataLoader worker 0.*num_workers=0"):
        next(iter(loader))  # list() would ask for the length, in this process
    assert not sinks[0].subscribes


@torch_only
def test_a_stateful_dataloader_resumes_exactly(line):
    pytest.importorskip("torchdata", reason="torchdata is absent: StatefulDataLoader is NOT tested")
    from torchdata.stateful_dataloader import StatefulDataLoader

    path, _ = line(JOB)

    def loader():
        return StatefulDataLoader(PackStream(path, layout="rows"), batch_size=None, num_workers=0)

    def ids(packs):
        return [[r["sample_id"] for r in p] for p in packs]

    whole = loader()
    epochs, states = [[], []], []
    for epoch in epochs:
        for pack in whole:
            epoch += ids([pack])
            states.append(whole.state_dict())
        states.append(whole.state_dict())
    for k in (0, 3, 6, 7, 9):
        other = loader()
        other.load_state_dict(states[k])
        got = [ids(other), ids(other)]
        epoch, done = divmod(k, 7)
        done += 1
        if done > 6:  # the state of an epoch's end is the start of the next
            epoch, done = epoch + 1, 0
        want = [epochs[epoch][done:], *epochs[epoch + 1 :], []]
        assert [g for g in got if g] == [w for w in want if w], k
    broken = loader()
    for pack in broken:
        break
    assert len(ids(broken)) == 5


def test_a_loader_that_would_take_packs_away_is_refused(line, monkeypatch):
    path, _ = line(SmallJob([[2]], dp_size=2))
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")

    class IterableDatasetShard:
        num_processes = 2

        def __init__(self, dataset):
            self.dataset = dataset

        def __iter__(self):
            for i, pack in enumerate(self.dataset):
                if i % 2 == 0:
                    yield pack

    with pytest.raises(InUse, match="every n-th pack"):
        list(IterableDatasetShard(PackStream(path, layout="rows")))
    assert len(list(PackStream(path, layout="rows"))) == 1
