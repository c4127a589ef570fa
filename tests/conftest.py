"""What the Python tests share: `--long`, and where the executables under test are."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="also run what is too long for every change")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--long"):
        return
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="long: run with --long"))


@pytest.fixture(scope="session")
def packline_bin():
    """The folder of the executables: PACKLINE_BIN, else the release build."""
    folder = Path(os.environ.get("PACKLINE_BIN", ROOT / "build/release/bin"))
    if not (folder / "packline").exists():
        pytest.fail(f"no executables in {folder}: build them first (cmake --build --preset release)")
    return folder
