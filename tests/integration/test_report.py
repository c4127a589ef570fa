"""`packline count` says what the settings cost and warns; `packline report` writes the same as one HTML page."""

import html.parser
import json
import re
import sys

import pytest
from support import PACKLINE, ROOT, run, write_job, write_tokens

sys.path.insert(0, str(ROOT / "tools"))

import report_data  # noqa: E402

HOSTILE = "b <img src=x onerror=alert('1')> & \".jsonl"


class Page(html.parser.HTMLParser):
    """What a page says: numbers by key, bars by picture, warnings, tags, text."""

    def __init__(self, text):
        super().__init__()
        self.numbers, self.bars, self.warnings, self.tags, self.ids = {}, {}, [], set(), {}
        self.text, self.links = "", []
        self._picture = self._id = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        at = dict(attributes)
        self.tags.add(tag)
        self.links += [k for k in at if k in ("src", "href", "srcset", "action") or k.startswith("on")]
        self._id = at.get("id")
        if tag == "data":
            self.numbers.setdefault(at["data-key"], []).append(float(at["value"]))
        elif tag == "svg":
            self._picture = self.bars.setdefault(at["id"], [])
        elif tag == "rect":
            self._picture.append(int(at["data-n"]))
        if "data-kind" in at:
            self.warnings.append(at["data-kind"])

    def handle_data(self, data):
        self.text += data
        if self._id:
            self.ids.setdefault(self._id, data)

    def number(self, key):
        assert len(self.numbers[key]) == 1, key
        return self.numbers[key][0]


def counted(job, *options):
    done = run([PACKLINE, "count", job, "--format", "json", *options])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def reported(job, *options):
    page = job.parent / "page.html"
    done = run([PACKLINE, "report", job, "-o", page, *options])
    assert done.returncode == 0, done.stderr
    return Page(page.read_text(encoding="utf-8")), done


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """Two epochs of two sources, one of hostile name and with hostile records; some are too long."""
    folder = tmp_path_factory.mktemp("report")
    path = write_job(folder, name="<b>job</b>", epochs=2, pack={"lookahead_packs": 1}, sources=[
        {"path": "data/a.jsonl", "format": "tokens"}, {"path": "data/b*.jsonl", "format": "tokens"}])
    write_tokens(folder / "data/a.jsonl", 1, 900, high=260)
    write_tokens(folder / "data" / HOSTILE, 2, 600)
    with open(folder / "data" / HOSTILE, "ab") as out:
        for _ in range(40):
            out.write(b'{"input_ids": [1, "<img src=x onerror=alert(1)>\xff\x1b[2J"]}\n')
    return path


def test_the_page_has_the_numbers_of_count(job):
    document, _ = counted(job)
    for epoch in (0, 1):
        e = document["epochs"][epoch]
        page, _ = reported(job, "--epoch", str(epoch))
        for key in ("epoch", "packs", "samples", "tokens", "records", "steps", "fill", "windows"):
            assert page.number(key) == e[key], key
        assert page.ids["stream-digest"] == e["stream_digest"]
        assert page.ids["fingerprint"] == document["fingerprint"]
        for way in ("in_order_greedy", "one_sample_a_row"):
            assert page.number(f"{way}_fill") == e["fills"][way]
        assert page.number("own_padding") == e["packs"] * 256 - e["tokens"]
        advice = e["advice"]
        for shown, key in (("capacity", "capacity"), ("capacity_packs", "packs"), ("capacity_fill", "fill"),
                           ("capacity_best", "best_possible"), ("tokens_gone", "tokens_gone"),
                           ("over_long_samples", "over_long_samples")):
            assert page.numbers[shown] == [c[key] for c in advice["capacities"]], key
        for key in ("samples", "tokens"):
            assert page.numbers[f"source_{key}"] == [s[key] for s in advice["sources"]]
        for i, source in enumerate(advice["sources"]):
            assert page.bars[f"lengths-{i}"] == source["length_bins"]
        for key in ("balance", "balance_attention"):
            assert page.bars[key] == advice[key]["bins"]
            for part in ("mean", "worst", "waiting"):
                assert page.number(f"{key}_{part}") == advice[key][part]
        for reason, loss in advice["losses"].items():
            assert page.number(f"lost_{reason}") == loss["count"] == e["lost"][reason]
            assert page.number(f"lost_tokens_{reason}") == loss["tokens"]
            assert all(x["where"] in page.text for x in loss["examples"])
        assert page.warnings == [w["kind"] for w in e["warnings"]]
        assert all(w["text"] in page.text for w in e["warnings"])
        assert all(sentence in page.text for sentence in advice["sentences"])


def test_the_advice_adds_up(job):
    document, _ = counted(job)
    for e in document["epochs"]:
        advice = e["advice"]
        assert sum(s["samples"] for s in advice["sources"]) == e["samples"]
        assert sum(s["tokens"] for s in advice["sources"]) == e["tokens"]
        bins = zip(*(s["length_bins"] for s in advice["sources"]))
        assert [sum(b) for b in bins] == e["length_bins"]
        own = next(c for c in advice["capacities"] if c["capacity"] == 256)
        assert own["tokens"] == e["tokens"]
        assert own["over_long_samples"] == e["lost"]["over_long"] > 0
        assert e["fill"] <= own["best_possible"] <= 1
        assert own["fill"] == advice["look_ahead"]["at_once"]
        assert e["fill"] < advice["look_ahead"]["default"]
        assert sum(advice["balance"]["bins"]) == advice["balance"]["steps"] == e["steps"]
        assert advice["balance_attention"]["waiting"] < advice["balance"]["waiting"]
        larger = [c for c in advice["capacities"] if c["capacity"] > advice["longest"]]
        assert larger and all(c["tokens_gone"] == 0 for c in larger)


def test_the_page_is_one_file_that_runs_and_loads_nothing(job):
    page, _ = reported(job)
    assert not page.tags & {"script", "img", "link", "iframe", "object", "form", "base"}
    assert page.links == []
    assert HOSTILE in page.text
    assert "<b>job</b>" in page.text
    raw = (job.parent / "page.html").read_text(encoding="utf-8")  # which is UTF-8, whatever records hold
    assert "\x1b" not in raw
    assert not re.search(r"https?:|url\(|@import", raw)


def test_what_promised_balance_and_look_ahead_give(job):
    before = counted(job)[0]["epochs"][0]["advice"]
    e = counted(job, "--set", "pack.balance=attention")[0]["epochs"][0]["advice"]
    assert e["balance_attention"] is None
    for part in ("mean", "worst", "waiting"):
        assert e["balance"][part] == pytest.approx(before["balance_attention"][part])
    ahead = counted(job, "--set", "pack.lookahead_packs=8")[0]["epochs"][0]
    assert ahead["advice"]["look_ahead"]["default"] is None
    assert ahead["fill"] == pytest.approx(before["look_ahead"]["default"], abs=0.01)


def test_a_promised_capacity_gives_its_fill(job):
    document, _ = counted(job, "--set", "pack.plan=global")
    for c in document["epochs"][0]["advice"]["capacities"]:
        there = counted(job, "--set", "pack.plan=global", "--set", f"pack.capacity={c['capacity']}")[0]["epochs"][0]
        assert (there["packs"], there["tokens"]) == (c["packs"], c["tokens"])
        assert there["fill"] == pytest.approx(c["fill"])


def test_too_few_packs_is_said_before_the_table(tmp_path):
    path = write_job(tmp_path, deliver={"packs_per_optimizer_step": 16})
    write_tokens(tmp_path / "data/a.jsonl", 1, 30)
    done = run([PACKLINE, "count", path])
    assert done.returncode == 0
    assert re.search(r"packline: warning: epoch 0: \d+ packs are fewer than an optimizer step takes, 64", done.stderr)
    document, _ = counted(path)
    assert document["epochs"][0]["optimizer_steps"] == 0
    assert document["epochs"][0]["warnings"][0]["kind"] == "too_few_packs"
    enough, _ = counted(path, "--set", "deliver.packs_per_optimizer_step=1")
    assert "too_few_packs" not in [w["kind"] for w in enough["epochs"][0]["warnings"]]


def test_packs_without_a_label_are_counted(tmp_path):
    path = write_job(tmp_path, lanes=1, pack={"capacity": 8}, deliver={"dp_size": 1})
    with open(tmp_path / "data/a.jsonl", "w", encoding="utf-8") as out:
        for i in range(8):
            labels = [-100] * 8 if i % 4 == 3 else [-100] * 4 + [1] * 4
            out.write(json.dumps({"input_ids": [1] * 8, "labels": labels}) + "\n")
    document, stderr = counted(path, "--set", "pack.dp_size_multiple=1")
    assert document["epochs"][0]["advice"]["packs_without_labels"] == 2
    assert "2 of 8 packs have no token that carries loss" in stderr
    dropped, _ = counted(path, "--set", "pack.dp_size_multiple=1", "--set", "pack.drop_unsupervised=true")
    assert dropped["epochs"][0]["advice"]["packs_without_labels"] == 0


def test_what_is_cut_is_named(tmp_path):
    path = write_job(tmp_path, pack={"capacity": 64, "over_long": "truncate_right"})
    write_tokens(tmp_path / "data/a.jsonl", 1, 40, high=64)
    with open(tmp_path / "data/a.jsonl", "a", encoding="utf-8") as out:
        out.write(json.dumps({"input_ids": [1] * 900}) + "\n")
    document, stderr = counted(path)
    cut = document["epochs"][0]["advice"]["cut"]
    assert cut["where"].endswith("a.jsonl:41")
    assert cut["tokens"] == 900
    assert "a.jsonl:41: the sample has 900 tokens" in stderr


@pytest.mark.parametrize("options,says", [
    (["--epoch", "2"], "the job has epochs 0 to 1"),
    (["-o", "/nowhere/page.html"], "/nowhere/page.html could not be written"),
    (["-o", "/"], "could not be written"),
])
def test_a_report_that_cannot_be_is_a_sentence(job, options, says):
    done = run([PACKLINE, "report", job, *options])
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_the_pictured_job_has_something_of_everything(tmp_path):
    """What tools/report-screenshot shows."""
    report_data.main(tmp_path)
    page, done = reported(tmp_path / "job.yaml")
    assert "over_long" in page.warnings
    assert {"lengths-0", "lengths-1", "balance", "balance_attention", "windows"} <= set(page.bars)
    assert page.number("lost_parse") == 13
    assert done.stdout.count("\n") == 1
