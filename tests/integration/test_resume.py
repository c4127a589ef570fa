"""A cursor holds positions: from the state after k steps a new line gives exactly the rest. L1, L9."""

import json
import sys

import pytest
from support import packline_run, ranks_command, write_job, write_tokens

RECORDS = 300
# Packs of one rank through a DataLoader: state after --steps, or on from it.
LOADER = """
import json, sys
from packline import PackStream, close_all
from torch.utils.data import DataLoader
job, out, state, steps = sys.argv[1:4] + [int(sys.argv[4])]
stream = PackStream(job, layout="rows")
if not steps:
    stream.load_state_dict(json.load(open(state)))
got = []
for rows in DataLoader(stream, batch_size=None, num_workers=0):
    got.append([list(stream.place), list(stream.sample_ids), [[int(t) for t in r["input_ids"]] for r in rows]])
    if len(got) == steps:
        break
if steps:
    json.dump(stream.state_dict(), open(state, "w"))
json.dump(got, open(out, "w"))
stream.close()
"""


def make(folder, **over):
    job = write_job(folder, epochs=2, **over)
    write_tokens(folder / "data/a.jsonl", seed=10, records=RECORDS)
    return job


def drive(job, out, *options, line=()):
    done, summary = packline_run(job, *line, command=ranks_command(job, out, *options))
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text())


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("resume")
    job = make(folder)
    return job, drive(job, folder / "whole.json")


@pytest.mark.parametrize("steps", [1, 50])
def test_a_new_line_gives_exactly_the_rest(whole, tmp_path, steps):
    job, uninterrupted = whole
    state = tmp_path / "state.json"
    first = drive(job, tmp_path / "1.json", "--steps", steps, "--state", state, line=("--producers", 2))
    rest = drive(job, tmp_path / "2.json", "--state", state, line=("--packers", 2))
    assert {len(packs) for packs in first} == {steps}
    assert [a + b for a, b in zip(first, rest)] == uninterrupted


def test_the_state_at_the_end_of_an_epoch_is_the_start_of_the_next(whole, tmp_path):
    job, uninterrupted = whole
    steps = sum(p["at"][0] == 0 for p in uninterrupted[0])
    state = tmp_path / "state.json"
    drive(job, tmp_path / "1.json", "--steps", steps, "--state", state)
    rest = drive(job, tmp_path / "2.json", "--state", state)
    assert {p["at"][0] for packs in rest for p in packs} == {1}
    assert [packs[:1] for packs in rest] == [packs[steps:steps + 1] for packs in uninterrupted]


def test_another_dp_size_goes_on_from_the_same_state(whole, tmp_path):
    job, uninterrupted = whole
    state = tmp_path / "state.json"
    drive(job, tmp_path / "1.json", "--steps", 40, "--state", state)
    two = ["--set", "deliver.dp_size=2"]
    rest = drive(job, tmp_path / "2.json", "--state", state, "--ranks", 2, line=two)
    in_order = [pack for step in zip(*uninterrupted) for pack in step][4 * 40:]
    assert [pack for step in zip(*rest) for pack in step] == in_order


def test_another_jobs_state_is_refused_by_the_settings_name(whole, tmp_path):
    job, _ = whole
    state = tmp_path / "state.json"
    drive(job, tmp_path / "1.json", "--steps", 3, "--state", state)
    done, _ = packline_run(job, "--set", "pack.capacity=512",
                           command=ranks_command(job, tmp_path / "2.json", "--state", state))
    assert done.returncode != 0
    assert "OtherJob" in done.stderr and "pack.capacity is 512, was 256" in done.stderr


def test_a_dp_size_that_does_not_divide_is_refused_with_what_to_set(tmp_path):
    job = make(tmp_path)
    settings = json.loads(job.read_text())
    del settings["pack"]["dp_size_multiple"]  # then it is deliver.dp_size
    job.write_text(json.dumps(settings))
    state = tmp_path / "state.json"
    drive(job, tmp_path / "1.json", "--steps", 3, "--state", state)
    done, _ = packline_run(job, "--set", "deliver.dp_size=2",
                           command=ranks_command(job, tmp_path / "2.json", "--state", state, "--ranks", 2))
    assert done.returncode != 0
    assert "pack.dp_size_multiple is 2, was 4" in done.stderr


def test_under_a_dataloader_too(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed (tools/install-deps --test)")
    job = make(tmp_path, deliver={"dp_size": 1}, pack={"dp_size_multiple": 1})

    def take(name, steps, state="unused"):
        out = tmp_path / name
        done, _ = packline_run(job, command=[sys.executable, "-c", LOADER, job, out, tmp_path / state, str(steps)])
        assert done.returncode == 0, done.stderr
        return json.loads(out.read_text())

    whole = take("whole", 10**9)  # the first epoch, as one `for` gives it
    first = take("first", 25, "cursor.json")
    rest = take("rest", 0, "cursor.json")
    assert len(first) == 25 and first + rest == whole
