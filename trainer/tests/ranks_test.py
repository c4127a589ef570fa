"""Which rank a process is, and where its sink is."""

import json

import pytest

from packline.errors import NoLine, OtherJob, WrongRank
from packline.line import find_line, sink_of, subscriber_endpoint
from packline.ranks import new_session, resolve, world


def test_the_launchers_variables_are_read_in_order():
    env = {"RANK": "3", "WORLD_SIZE": "8", "SLURM_PROCID": "1", "SLURM_NTASKS": "2"}
    assert world(env)[:2] == (3, 8)
    assert world({"SLURM_PROCID": "1", "SLURM_NTASKS": "2"})[:2] == (1, 2)
    assert world({"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "6"})[:2] == (5, 6)
    assert world({"RANK": "3"})[:2] == (0, 1)
    assert world({})[:2] == (0, 1)


def test_ranks_of_one_group_share_a_dp_rank():
    got = [resolve(2, 2, env={"RANK": str(r), "WORLD_SIZE": "4"}) for r in range(4)]
    assert got == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_a_world_that_does_not_fit_is_refused_with_both_numbers():
    with pytest.raises(WrongRank, match=r"world has 6 ranks .*dp_size 4 .* = 4"):
        resolve(4, 1, env={"RANK": "0", "WORLD_SIZE": "6"})
    with pytest.raises(WrongRank, match="no launcher"):
        resolve(4, 1, env={})


def test_nonsense_in_the_environment_is_named():
    for rank, size in (("x", "4"), ("4", "4"), ("-1", "4")):
        with pytest.raises(WrongRank, match="RANK="):
            world({"RANK": rank, "WORLD_SIZE": size})


def test_an_explicit_dp_rank_wins_and_is_checked():
    env = {"RANK": "7", "WORLD_SIZE": "99"}
    assert resolve(4, 1, dp_rank=2, env=env) == (2, 0)
    assert resolve(4, 2, dp_rank=2, peer=1, env=env) == (2, 1)
    with pytest.raises(WrongRank, match="peer=0..1"):
        resolve(4, 2, dp_rank=2, env=env)
    with pytest.raises(WrongRank, match="dp_rank 4"):
        resolve(4, 1, dp_rank=4, env=env)


def test_sessions_rise():
    old = new_session({})
    assert old < new_session({}) < new_session({"TORCHELASTIC_RESTART_COUNT": "1"})


def test_a_base_address_gives_the_subscribers_port():
    assert subscriber_endpoint("tcp://gpu-3:5600") == "tcp://gpu-3:5601"
    assert subscriber_endpoint("ipc:///run/x/s0") == "ipc:///run/x/s0.1"
    for bad in ("tcp://gpu-3", "tcp://gpu-3:0", "tcp://gpu-3:99999", "gpu:5600", "ipc://"):
        with pytest.raises(NoLine, match="no sink's address"):
            subscriber_endpoint(bad)
    with pytest.raises(NoLine, match="107"):
        subscriber_endpoint("ipc:///" + "x" * 120)


def write(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def test_the_line_file_names_the_sinks(tmp_path):
    job = write(tmp_path, "job.yaml", "")
    about = {"version": 1, "job": job, "sinks": ["ipc:///r/s0", "ipc:///r/s1"], "dp_size": 2,
             "ranks_per_dp_rank": 1, "warn_after_s": 2, "fail_after_s": 9}  # fmt: skip
    env = {"PACKLINE_LINE": write(tmp_path, "line.json", json.dumps(about))}
    line = find_line(job, env)
    assert sink_of(line, 1) == "ipc:///r/s1.1" and line.fail_after_s == 9
    with pytest.raises(OtherJob, match="other.yaml"):
        find_line(str(tmp_path / "other.yaml"), env)
    with pytest.raises(WrongRank):
        sink_of(line, 2)
    write(tmp_path, "line.json", "{")
    with pytest.raises(NoLine, match="still there"):
        find_line(job, env)


def test_a_job_file_with_addresses_is_read(tmp_path):
    pytest.importorskip("yaml", reason="PyYAML is absent: job files are NOT tested")
    text = "deliver: {dp_size: 2, fail_after_s: 7}\nline: {sinks: ['tcp://a:1', 'tcp://b:1']}\n"
    line = find_line(write(tmp_path, "job.yaml", text), {})
    assert line.sinks == ("tcp://a:1", "tcp://b:1") and line.fail_after_s == 7
    with pytest.raises(NoLine, match="packline run"):
        find_line(write(tmp_path, "job.yaml", "name: x"), {})
    with pytest.raises(NoLine, match="dp_size is 3, but there are 1"):
        find_line(write(tmp_path, "job.yaml", "deliver: {dp_size: 3}\nline: {sinks: [x]}"), {})


def test_without_pyyaml_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    with pytest.raises(NoLine, match="PyYAML.*packline run"):
        find_line(write(tmp_path, "job.yaml", "name: x"), {})
