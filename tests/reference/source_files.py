"""Files of random sources, at odd shapes: packed text, JSON arrays, Megatron pairs (docs/sources.md)."""

import gzip
import struct

import reference_zstd

# dtype of a Megatron pair -> (struct's letter, the largest id that is drawn)
DTYPES = {1: ("B", 255), 2: ("b", 127), 3: ("h", 2**15 - 1), 4: ("i", 2**31 - 1), 5: ("q", 2**31 - 1),
          8: ("H", 2**16 - 1)}
NO_IDS = {2: [-1, -128], 3: [-1, -(2**15)], 4: [-1, -(2**31)], 5: [-1, 2**31, -(2**63), 2**63 - 1]}


def cut(rng, data):
    """1 to 3 pieces."""
    at = sorted(rng.randint(0, len(data)) for _ in range(rng.choice([0, 0, 1, 2])))
    return [data[a:b] for a, b in zip([0, *at], [*at, len(data)])]


def packed(rng, data, ending):
    """`data` as a file of that ending holds it: "" plain, ".gz" in members, ".zst" in frames."""
    if ending == ".gz":
        return b"".join(gzip.compress(piece, rng.choice([0, 1, 9])) for piece in cut(rng, data))
    if ending == ".zst":
        frames = [reference_zstd.frame(piece, rng.choice([7, 1000, 100_000])) for piece in cut(rng, data)]
        # The first bytes of a file decide how it is packed: a skippable frame may stand behind them only.
        return frames[0] + b"".join(rng.choice([b"", reference_zstd.skippable(b"note")]) + f for f in frames[1:])
    return data


def array(rng, elements):
    """One JSON array, over as few or as many lines as it likes."""
    blanks = rng.choice([[b""], [b"\n"], [b"", b" ", b"\t", b"\r\n", b"\n  "]])

    def blank():
        return rng.choice(blanks)

    inner = b",".join(blank() + e + blank() for e in elements)
    bom = rng.choice([b"", b"", b"\xef\xbb\xbf"])
    return bom + blank() + b"[" + blank() + inner + b"]" + blank()


def sequences_of(rng, ids):
    """A document's sequences; of a document without ids none, or an empty one."""
    if not ids:
        return rng.choice([[], [[]]])
    return [s for s in cut(rng, ids) if s or rng.random() < 0.1]


def megatron(rng, base, documents, dtype, record):
    """Writes the pair base.idx, base.bin of these lists of ids; ids beyond what `dtype` holds are brought down."""
    letter, most = DTYPES[dtype]
    sequences, ends = [], [0]
    for ids in documents:
        stored = [v % (most + 1) for v in ids]
        if stored and dtype in NO_IDS and rng.random() < 0.05:
            stored[rng.randrange(len(stored))] = rng.choice(NO_IDS[dtype])
        sequences += sequences_of(rng, stored)
        ends.append(len(sequences))
    order = list(range(len(sequences)))
    if record == "sequence":  # their places in the .bin are their own
        rng.shuffle(order)
    data, places = b"", [0] * len(sequences)
    for i in order:
        places[i] = len(data)
        data += struct.pack(f"<{len(sequences[i])}{letter}", *sequences[i])
        data += b"\x55" * (rng.choice([0, 0, 3]) if record == "sequence" else 0)
    n = len(sequences)
    modes = rng.choice([b"", bytes(n)])
    base.with_name(base.name + ".bin").write_bytes(data)
    base.with_name(base.name + ".idx").write_bytes(
        b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, dtype, n, len(ends))
        + struct.pack(f"<{n}i", *map(len, sequences)) + struct.pack(f"<{n}q", *places)
        + struct.pack(f"<{len(ends)}q", *ends) + modes)
