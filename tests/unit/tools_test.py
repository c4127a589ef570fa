"""The scripts behind the README's two commands: what can be held without building."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
sys.path.insert(0, str(TOOLS))

import quickstart_data  # noqa: E402
import quickstart_report  # noqa: E402


def bash(script):
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"source {TOOLS}/common.sh; {script}"],
        capture_output=True, text=True, timeout=60,
    )


TOTALS = [
    ("100% tests passed, 0 tests failed out of 123", "123 0 0"),
    ("98% tests passed, 2 tests failed out of 100", "98 2 0"),
    ("100% tests passed out of 524", "524 0 0"),
    ("99% tests passed, 1 test failed out of 100", "99 1 0"),
    ("12 passed, 1 skipped in 3.20s", "12 0 1"),
    ("1 failed, 3 passed, 2 errors, 1 warning in 0.10s", "3 3 0"),
    ("==== 4 passed, 9 deselected in 65.10s (0:01:05) ====", "4 0 0"),
    ("a test printed: 5 passed", "0 0 0"),
    ("no tests ran in 0.01s", "0 0 0"),
]


@pytest.mark.parametrize("line, totals", TOTALS, ids=[t[0] for t in TOTALS])
def test_totals_are_read_from_closing_lines(tmp_path, line, totals):
    log = tmp_path / "log"
    log.write_text(f"before\n{line}\nafter\n")
    assert bash(f"tally {log}").stdout.strip() == totals


def test_totals_of_several_runners_are_added(tmp_path):
    for number, (line, _) in enumerate(TOTALS):
        (tmp_path / f"{number}.log").write_text(line + "\n")
    assert bash(f"tally {tmp_path}/*.log").stdout.strip() == "863 6 1"


def test_a_step_tells_its_time_and_hides_its_output():
    done = bash("step good echo hidden")
    assert done.returncode == 0 and "hidden" not in done.stdout + done.stderr
    assert done.stdout.startswith("good ") and done.stdout.endswith(" s\n")


def test_a_failed_step_shows_its_output_and_ends_the_script():
    done = bash("step bad sh -c 'echo the cause; exit 7'; echo not reached")
    assert done.returncode == 7 and "the cause" in done.stderr and "exit 7" in done.stderr
    assert "not reached" not in done.stdout


def test_a_failed_runner_keeps_its_exit_code_behind_tee():
    done = bash("shown runner sh -c 'echo seen; exit 3'; echo not reached")
    assert done.returncode == 3 and "seen" in done.stdout and "not reached" not in done.stdout


def test_an_unknown_option_is_refused_with_the_options():
    for tool in ("install-deps", "test"):
        done = subprocess.run([TOOLS / tool, "--nonsense"], capture_output=True, text=True)
        assert done.returncode == 2 and f"tools/{tool} --" in done.stdout


def fake_wheel(folder):
    rows = {
        "bfcl_eval/data/BFCL_v4_simple.json":
            [{"id": "s0", "question": [[{"role": "user", "content": "area?"}]], "function": [{"name": "area"}]},
             {"id": "s1", "question": [[{"role": "user", "content": "none?"}]], "function": []}],
        "bfcl_eval/data/possible_answer/BFCL_v4_simple.json": [{"id": "s0", "ground_truth": [{"area": {"b": [1]}}]}],
        "bfcl_eval/data/BFCL_v4_turns.json":
            [{"id": "t0", "question": [[{"role": "user", "content": "one"}], []], "missed_function": {"1": ["sort"]}}],
        "bfcl_eval/data/possible_answer/BFCL_v4_turns.json": [{"id": "t0", "ground_truth": [["cd()"], ["sort()"]]}],
        "bfcl_eval/data/BFCL_v4_format_sensitivity.json": [{"not": "chat"}],
    }
    with zipfile.ZipFile(folder / "bfcl_eval-1-py3-none-any.whl", "w") as archive:
        for name, content in rows.items():
            archive.writestr(name, "\n".join(json.dumps(row) for row in content))  # no final newline


def make(folder, wheels):
    subprocess.run([sys.executable, TOOLS / "quickstart_data.py", folder, "--wheels", wheels], check=True,
                   capture_output=True)
    return (folder / "data/functions.jsonl").read_bytes()


def test_chat_records_keep_ids_turns_and_answers(tmp_path):
    fake_wheel(tmp_path)
    records = [json.loads(line) for line in make(tmp_path / "out", tmp_path).splitlines()]
    assert [r["id"] for r in records] == ["s0", "s1", "t0"]
    assert [m["role"] for m in records[0]["messages"]] == ["system", "user", "assistant"]
    assert json.loads(records[0]["messages"][2]["content"]) == [{"area": {"b": [1]}}]
    assert records[1]["messages"][-1]["content"] == quickstart_data.REFUSAL
    assert [m["content"] for m in records[2]["messages"]] == ["one", '["cd()"]', "You can now also call: sort", '["sort()"]']


def test_the_same_wheels_give_the_same_bytes(tmp_path):
    fake_wheel(tmp_path)
    assert make(tmp_path / "a", tmp_path) == make(tmp_path / "b", tmp_path)


def test_without_wheels_the_records_are_documented_functions(tmp_path):
    (tmp_path / "module.py").write_text('def f():\n    """Adds."""\n    return 1\n\ndef g():\n    return 2\n')
    (tmp_path / "template.py").write_text("def {{name}}: broken")
    records = list(quickstart_data.library_records(tmp_path))
    assert [r["id"] for r in records] == ["module.f:1"]
    assert records[0]["messages"][0]["content"] == "Write module.f.\nAdds."
    assert records[0]["messages"][1]["content"].startswith("def f():")


@pytest.mark.parametrize("lengths, packs", [([], 0), ([4, 4], 1), ([5, 4], 2), ([3, 6, 3, 2], 2), ([8, 8], 2)])
def test_in_order_greedy_opens_a_row_when_a_sample_does_not_fit(lengths, packs):
    assert quickstart_report.greedy_packs(lengths, 9 if 6 in lengths else 8) == packs


def test_sample_ids_name_their_record():
    ids = ["simple_12@s0:4711+1/0", "s0:7", "a@b@s0:3/2"]
    assert [quickstart_report.record_of(i) for i in ids] == [4711, 7, 3]


def test_the_report_names_unequal_ranks():
    assert "2 to each of 2 ranks" in quickstart_report.rank_line([{"packs": [1, 1]}, {"packs": [1, 1]}])
    assert "UNEQUAL" in quickstart_report.rank_line([{"packs": [1, 1]}, {"packs": [1]}])
