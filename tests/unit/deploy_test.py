"""deploy/compose.yaml: accepted by compose, and of one mind with deploy/job.yaml."""

import shutil
import subprocess
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[2]
COMPOSE = ROOT / "deploy/compose.yaml"


def compose_command():
    own = ROOT / "build/venv/bin/docker-compose"
    if own.exists():
        return [str(own)]
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    pytest.skip("docker compose is not here: tools/install-deps --test installs it")


def config(file):
    return subprocess.run(
        [*compose_command(), "-f", str(file), "config", "-q"], capture_output=True, text=True, timeout=60
    )


def test_compose_accepts_the_file():
    done = config(COMPOSE)
    assert (done.returncode, done.stderr) == (0, "")


def test_compose_refuses_a_misspelt_key(tmp_path):
    """Else the test above holds nothing."""
    file = tmp_path / "compose.yaml"
    file.write_text(COMPOSE.read_text().replace("    command:", "    comand:", 1))
    done = config(file)
    assert done.returncode != 0 and "comand" in done.stderr


def test_every_address_of_the_job_is_a_service_and_every_role_is_started():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    job = yaml.safe_load((ROOT / "deploy/job.yaml").read_text())
    line = job["line"]
    hosts = [address.split("//")[1].split(":")[0] for address in line["producers"] + line["sinks"]]
    assert set(services) == {*hosts, "packer"}
    assert len(line["sinks"]) == job["deliver"]["dp_size"]
    for index, address in enumerate(line["producers"]):
        assert services[f"producer-{index}"]["command"][-2:] == ["--index", str(index)], address
    for rank, address in enumerate(line["sinks"]):
        assert services[f"sink-{rank}"]["command"][-2:] == ["--dp-rank", str(rank)], address


def test_the_image_has_what_the_commands_name():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    programs = {service["command"][0] for service in services.values()}
    assert programs == {"packline-producer", "packline-packer", "packline-sink"}
    dockerfile = (ROOT / "deploy/Dockerfile").read_text()
    copied = [line.split()[1] for line in dockerfile.splitlines() if line.startswith("COPY ") and "--from" not in line]
    for path in copied:
        assert (ROOT / path).exists(), f"deploy/Dockerfile copies {path}, which is not in the tree"
