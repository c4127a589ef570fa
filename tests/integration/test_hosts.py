"""The hosts of the integration tests reach one another, each by its own address, until one is cut off."""

import socket
import subprocess
import sys

import pytest

from hosts import Hosts, why_not

SERVER = """
import socket
listening = socket.create_server(("", 7000))
print("up", flush=True)
while True:
    other, address = listening.accept()
    other.sendall(address[0].encode())
    other.close()
"""
CLIENT = """
import socket, sys
with socket.create_connection((sys.argv[1], 7000), timeout=1) as s:
    print(s.recv(100).decode())
"""


@pytest.fixture
def hosts():
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with Hosts(["a", "b"]) as made:
        yield made


def ask(hosts):
    client = hosts.start("b", [sys.executable, "-c", CLIENT, hosts.address("a")], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True)
    return client.communicate(timeout=20)[0].strip()


def test_hosts_reach_one_another_until_one_is_cut(hosts):
    server = hosts.start("a", [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "up\n"
    assert ask(hosts) == hosts.address("b")
    hosts.cut("a")
    assert ask(hosts) == ""
    hosts.heal("a")
    assert ask(hosts) == hosts.address("b")


def test_nothing_of_this_machines_network_is_touched(hosts):
    assert not {"eth-a", "br0", "p1", "p2"} & {name for _, name in socket.if_nameindex()}


def test_nothing_is_left():
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with Hosts(["a"]) as made:
        process = made.start("a", ["sleep", "1000"])
        name = made._space("a")
    assert process.returncode is not None
    assert name not in subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
