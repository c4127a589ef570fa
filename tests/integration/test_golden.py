"""Law L1 across machines: ten digests that every compiler, library and Debian must give."""

import json
import sys

import pytest
from support import PACKLINE, ROOT, run

sys.path.insert(0, str(ROOT / "tests/golden"))
import jobs as golden  # noqa: E402

KEPT = ROOT / "tests/golden/digests.json"


@pytest.mark.loopback
def test_golden_digests(tmp_path):
    got = {}
    for name, settings, files in golden.jobs():
        done = run([PACKLINE, "count", golden.write(tmp_path / name, settings, files), "--format", "json"])
        assert done.returncode == 0, done.stderr
        got[name] = json.loads(done.stdout)["totals"]["stream_digest"]
    assert len(set(got.values())) == 10
    # A change that is meant raises stream_version; then these are written anew, from what this prints.
    assert got == json.loads(KEPT.read_text()), json.dumps(got, indent=1)
