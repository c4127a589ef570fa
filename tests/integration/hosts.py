"""Hosts made of network namespaces: each has its own address on one bridge, which lies in a namespace of its own, so
that nothing of this machine's network is touched. Needs root and iproute2.

    with Hosts(["data-0", "gpu-0"]) as hosts:
        process = hosts.start("data-0", ["packline-producer", ...], stdout=log)
        hosts.cut("data-0"); hosts.heal("data-0")
"""

import os
import shutil
import subprocess

SUBNET = "10.79.0"


def why_not():
    """The sentence that says why namespaces cannot be made here; None when they can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not shutil.which("ip"):
        return "network namespaces need iproute2 (tools/install-deps --test)"
    name = f"plprobe{os.getpid()}"
    tried = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if tried.returncode:
        return f"no network namespace can be made here: {tried.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", name], check=True)
    return None


class Hosts:
    """Namespaces that live as long as the `with`; processes started in them are killed at its end.

    `names` are at most 250 words; a host's address is `address(name)`. Names of namespaces and devices carry this
    process's id, so that several test runs do not meet.
    """

    def __init__(self, names):
        self._tag = f"{os.getpid() % 100000:05d}"
        self._numbers = {name: number for number, name in enumerate(names, start=1)}
        self._made = []
        self._processes = []

    def __enter__(self):
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self._processes:
            if process.poll() is None:
                process.kill()
        for process in self._processes:
            process.wait()
        for namespace in reversed(self._made):
            subprocess.run(["ip", "netns", "del", namespace], check=False)
        self._made.clear()

    def address(self, name):
        return f"{SUBNET}.{self._numbers[name]}"

    def start(self, name, command, **keywords):
        """subprocess.Popen of the command on that host."""
        process = subprocess.Popen(["ip", "netns", "exec", self._space(name), *map(str, command)], **keywords)
        self._processes.append(process)
        return process

    def cut(self, name):
        """Unplugs the host: nothing reaches it or leaves it, and nobody is told."""
        self._ip(self._switch, "link", "set", self._port(name), "down")

    def heal(self, name):
        self._ip(self._switch, "link", "set", self._port(name), "up")

    @property
    def _switch(self):
        return f"pl{self._tag}sw"

    def _space(self, name):
        return f"pl{self._tag}h{self._numbers[name]}"

    def _port(self, name):
        return f"p{self._numbers[name]}"

    def _make(self):
        self._add(self._switch)
        self._ip(self._switch, "link", "add", "br0", "type", "bridge", "forward_delay", "0")
        self._ip(self._switch, "link", "set", "br0", "up")
        for name in self._numbers:
            space = self._space(name)
            self._add(space)
            self._ip(space, "link", "set", "lo", "up")
            self._ip(space, "link", "add", "eth0", "type", "veth", "peer", "name", self._port(name),
                     "netns", self._switch)
            self._ip(space, "addr", "add", f"{self.address(name)}/24", "dev", "eth0")
            self._ip(space, "link", "set", "eth0", "up")
            self._ip(self._switch, "link", "set", self._port(name), "master", "br0")
            self._ip(self._switch, "link", "set", self._port(name), "up")

    def _add(self, namespace):
        subprocess.run(["ip", "netns", "add", namespace], check=True, capture_output=True)
        self._made.append(namespace)

    @staticmethod
    def _ip(namespace, *words):
        done = subprocess.run(["ip", "-n", namespace, *words], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"ip -n {namespace} {' '.join(words)}: {done.stderr.strip()}")
