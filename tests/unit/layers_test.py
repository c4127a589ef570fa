"""ARCHITECTURE.md, "Rooms": each outside library has one owner, arrows point down only, pure parts read no
clock, start no thread, open no file; and the Python client stays inside its own walls."""

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROLES = ("producer", "packer", "sink", "launcher")
SOURCES = [*ROLES, "lib"]

# Outside library -> how its headers begin, and the folders (or files, without their ending) that may include them.
OWNERS = {
    "zmq": (r"zmq", ["lib/transport"]),
    "msgpack": (r"msgpack", ["lib/wire"]),
    "yaml-cpp": (r"yaml-cpp/", ["lib/config"]),
    "simdjson": (r"simdjson", ["lib/corpus"]),
    "zlib": (r"zlib", ["lib/corpus"]),
    "libzstd": (r"zstd", ["lib/corpus"]),
    "xxHash": (r"xxh", ["lib/hash"]),
    "sentencepiece": (r"sentencepiece", ["lib/encode"]),
    "cpp-httplib": (r"httplib", ["lib/telemetry"]),
    "spdlog": (r"spdlog/", ["lib/telemetry"]),
    "CLI11": (r"CLI/", ["lib/app", "launcher/main"]),
    "nlohmann_json": (r"nlohmann/", ["lib/telemetry", "launcher"]),
}
ANYWHERE = (r"fmt/", r"tl/expected\.hpp")
PLATFORM = r"(sys|netinet|arpa|net|linux|bits)/|[a-z0-9_]+\.h$"

PURE = [
    "lib/base/*", "lib/hash/*", "lib/sample/*", "lib/packing/*", "lib/delivery/*",
    "lib/corpus/permutation.*", "lib/corpus/order.*", "lib/corpus/position.*",
    "producer/producer.*", "packer/packer.*", "sink/sink.*", "lib/client/*",
]
NOT_PURE = ["lib/base/fd.*", "lib/base/whole_file.*"]  # in a pure folder; no pure file includes them
IMPURE_HEADERS = {
    "thread", "mutex", "shared_mutex", "condition_variable", "future", "atomic", "stop_token",
    "fstream", "iostream", "filesystem", "ctime", "time.h", "sys/time.h", "unistd.h", "fcntl.h",
    "random", "pthread.h",
}
IMPURE_CALLS = re.compile(
    r"\b\w*_clock\s*::\s*now\b|\bfopen\s*\(|(?<![\w.>:])open\s*\(|::open\s*\(|\bgetenv\s*\(|\btime\s*\(\s*(NULL|nullptr|0)\s*\)"
)

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
LAYER = re.compile(r"packline_(layer|role)\((\w+)([^)]*)\)")

CLIENT_MAY_IMPORT = {"zmq", "msgpack", "numpy"}
CLIENT_LAZILY = {"torch", "yaml", "xxhash"}  # inside functions only
STARTS_PROCESSES = {"subprocess", "multiprocessing", "concurrent", "pty"}


def cpp_files(root):
    for folder in SOURCES:
        for pattern in ("*.h", "*.cc"):
            yield from sorted((root / folder).rglob(pattern))


def includes(path):
    return [(kind == "<", name) for kind, name in INCLUDE.findall(path.read_text())]


def room_of(path, root):
    """lib/wire/codec.h -> "wire", sink/sink.h -> "sink"; None outside the rooms."""
    parts = path.relative_to(root).parts
    if parts[0] == "lib" and len(parts) > 2:
        return parts[1]
    return parts[0] if parts[0] in ROLES else None


def needs_of(root):
    """{room: the rooms that it may include, in CMakeLists.txt's words}, closed over what those need."""
    direct, order = {}, []
    for _, name, rest in LAYER.findall((root / "CMakeLists.txt").read_text()):
        words = re.split(r"\s+", rest.strip())
        needs = words[words.index("NEEDS") + 1:] if "NEEDS" in words else []
        stop = next((i for i, word in enumerate(needs) if word in ("USES", "NAME")), len(needs))
        direct[name] = needs[:stop]
        order.append(name)
    closed = {}
    for name in order:  # a room stands behind all it needs, so one pass is enough
        closed[name] = {name}.union(*(closed[need] | {need} for need in direct[name] if need in closed))
    return direct, order, closed


def is_pure(path, root):
    place = path.relative_to(root)
    return any(map(place.match, PURE)) and not any(map(place.match, NOT_PURE))


def code_of(path):
    """Without comments and texts, which may speak of clocks."""
    return COMMENT_OR_TEXT.sub(" ", path.read_text())


def owner_violations(root):
    for path in cpp_files(root):
        place = path.relative_to(root).as_posix()
        for angled, name in includes(path):
            for library, (pattern, owners) in OWNERS.items():
                if re.match(pattern, name) and not any(re.match(rf"{owner}[/.]", place) for owner in owners):
                    if not name.startswith("lib/"):
                        yield f"{place} includes <{name}>: only {' and '.join(owners)} may use {library}"


def unknown_library_violations(root):
    known = [pattern for pattern, _ in OWNERS.values()] + list(ANYWHERE) + [PLATFORM]
    for path in cpp_files(root):
        for angled, name in includes(path):
            standard = "/" not in name and "." not in name
            if angled and not standard and not any(re.match(pattern, name) for pattern in known):
                yield f"{path.relative_to(root)} includes <{name}>: this library has no owner in layers_test.py"


def arrow_violations(root):
    _, _, allowed = needs_of(root)
    for path in cpp_files(root):
        room, place = room_of(path, root), path.relative_to(root)
        for angled, name in includes(path):
            if angled:
                continue
            target = room_of(root / name, root)
            if target is None:
                yield f'{place} includes "{name}": write the path from the root of the tree'
            elif target not in allowed.get(room, {room}):
                yield f'{place} includes "{name}": {room} does not need {target} in CMakeLists.txt'
            elif target in ROLES and target != room:
                yield f'{place} includes "{name}": roles do not know one another'


def order_violations(root):
    direct, order, _ = needs_of(root)
    for name in order:
        for need in direct[name]:
            if need not in order[:order.index(name)]:
                yield f"CMakeLists.txt: {name} needs {need}, which does not stand above it"


def purity_violations(root):
    for path in cpp_files(root):
        if not is_pure(path, root):
            continue
        place = path.relative_to(root)
        for _, name in includes(path):
            if name in IMPURE_HEADERS or name.startswith("zmq") or any(map(Path(name).match, NOT_PURE)):
                yield f"{place} includes <{name}>: it must be pure"
        for found in IMPURE_CALLS.finditer(code_of(path)):
            yield f"{place} says {found.group().strip()}: it must be pure"


def imports(tree, top_only):
    nodes = tree.body if top_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]
        elif top_only and isinstance(node, (ast.If, ast.Try)):
            yield from imports(ast.Module(body=node.body, type_ignores=[]), True)


def client_violations(root):
    package = root / "trainer/packline"
    for path in sorted(package.glob("*.py")):  # sub-packages are adapters, which may import their framework
        tree = ast.parse(path.read_text())
        every, at_top = set(imports(tree, False)), set(imports(tree, True))
        place = path.relative_to(root)
        for name in sorted(every - set(sys.stdlib_module_names) - CLIENT_MAY_IMPORT - {"packline", "__future__"}):
            if name not in CLIENT_LAZILY:
                yield f"{place} imports {name}: the client uses zmq, msgpack and numpy alone"
            elif name in at_top:
                yield f"{place} imports {name} at its top: only when it is asked for"
        if path.name != "local.py":
            for name in sorted(every & STARTS_PROCESSES):
                yield f"{place} imports {name}: the client starts no process (law L8)"
            if "fork" in {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}:
                yield f"{place} calls fork: the client forks nothing (law L8)"
            if imports_local_at_top(tree):
                yield f"{place} imports packline.local at its top: the client must not"


def imports_local_at_top(tree):
    return any(
        isinstance(node, ast.ImportFrom) and node.level and (
            node.module == "local" or any(alias.name == "local" for alias in node.names))
        for node in tree.body
    )


CHECKS = [
    owner_violations, unknown_library_violations, arrow_violations, order_violations, purity_violations,
    client_violations,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_tree_has_no(check):
    assert list(check(ROOT)) == []


def test_files_are_found():
    """Else every check above passes on nothing."""
    assert len(list(cpp_files(ROOT))) > 20
    assert sum(is_pure(path, ROOT) for path in cpp_files(ROOT)) > 15
    assert list((ROOT / "trainer/packline").glob("*.py"))


PLANTED = [
    (owner_violations, "lib/packing/planner.cc", "#include <zmq.hpp>", "only lib/transport may use zmq"),
    (owner_violations, "sink/sink_service.cc", "#include <msgpack.hpp>", "only lib/wire may use msgpack"),
    (owner_violations, "packer/packer.cc", "#include <nlohmann/json.hpp>", "may use nlohmann_json"),
    (unknown_library_violations, "lib/wire/codec.cc", "#include <boost/asio.hpp>", "has no owner"),
    (arrow_violations, "lib/base/check.h", '#include "lib/wire/codec.h"', "base does not need wire"),
    (arrow_violations, "packer/packer.cc", '#include "sink/sink.h"', "packer does not need sink"),
    (arrow_violations, "lib/wire/codec.cc", '#include "codec.h"', "from the root of the tree"),
    (purity_violations, "sink/sink.cc", "#include <thread>", "must be pure"),
    (purity_violations, "lib/delivery/place.cc", "auto t = std::chrono::steady_clock::now();", "must be pure"),
    (purity_violations, "lib/base/check.cc", '#include "lib/base/fd.h"', "must be pure"),
    (purity_violations, "lib/corpus/order.cc", "int f = ::open(path, 0);", "must be pure"),
    (client_violations, "trainer/packline/stream.py", "import torch", "at its top"),
    (client_violations, "trainer/packline/stream.py", "def f():\n    import requests", "alone"),
    (client_violations, "trainer/packline/stream.py", "import subprocess", "starts no process"),
    (client_violations, "trainer/packline/stream.py", "from .local import local_line", "must not"),
]


@pytest.mark.parametrize("check, place, text, told", PLANTED, ids=[f"{p[1]}: {p[2]}" for p in PLANTED])
def test_a_planted_violation_is_found(tmp_path, check, place, text, told):
    (tmp_path / "CMakeLists.txt").write_text((ROOT / "CMakeLists.txt").read_text())
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text(text + "\n")
    found = list(check(tmp_path))
    assert len(found) == 1 and told in found[0], found


ALLOWED = [
    ("lib/transport/socket.cc", '#include <zmq.hpp>\n#include "lib/base/check.h"'),
    ("launcher/line_run.cc", '#include "lib/client/subscriber.h"\n#include <nlohmann/json.hpp>'),
    ("launcher/main.cc", "#include <CLI/CLI.hpp>"),
    ("sink/sink.cc", "// reads no std::chrono::steady_clock::now() and does not open(it)\nbool is_open(int);"),
    ("trainer/packline/layouts.py", "def tensors():\n    import torch\n    return torch"),
    ("trainer/packline/local.py", "import subprocess"),
]


@pytest.mark.parametrize("place, text", ALLOWED, ids=[a[0] for a in ALLOWED])
def test_what_is_allowed_is_not_reported(tmp_path, place, text):
    (tmp_path / "CMakeLists.txt").write_text((ROOT / "CMakeLists.txt").read_text())
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text(text + "\n")
    assert [v for check in CHECKS for v in check(tmp_path)] == []


def test_a_layer_that_needs_one_below_it_is_found(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text("packline_layer(base NEEDS wire)\npackline_layer(wire NEEDS base)\n")
    assert len(list(order_violations(tmp_path))) == 1
