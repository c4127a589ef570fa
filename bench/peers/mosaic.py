"""mosaicml-streaming over local MDS shards of int32 arrays, ids and labels, read in this process: no packing, no second
process.

    python mosaic.py NAME.idx FOLDER    one round; prints {"tokens", "seconds"}

The shards hold the documents of the Megatron pair, written into FOLDER when it is not there. A process a round: what its
shared memory keeps from one to the next has made it hang.
"""

import json
import os
import shutil
import sys
import time
import types

import numpy as np

ID_DTYPE_AT = 17  # of the header: magic 9, version 8, then the code of the dtype
COUNTS_AT = 18


def stub_torchvision():
    """It imports torchvision for image data sets, which are not read here."""

    class Stub(types.ModuleType):
        __path__ = []

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return type(name, (), {})

    import transformers.utils.import_utils as there

    there.is_torchvision_available()  # looks before the stub is there
    import transformers

    transformers.AutoTokenizer, transformers.PreTrainedTokenizerBase
    for part in ("", ".transforms", ".transforms.functional", ".datasets"):
        sys.modules["torchvision" + part] = Stub("torchvision" + part)


def documents(index):
    """The documents of a pair of int32, in file order."""
    raw = np.fromfile(index, np.uint8)
    assert raw[ID_DTYPE_AT] == 4, "int32"
    count = int(raw[COUNTS_AT : COUNTS_AT + 8].view(np.uint64)[0])
    lengths = raw[COUNTS_AT + 16 : COUNTS_AT + 16 + 4 * count].view(np.int32)
    tokens = np.memmap(index[: -len(".idx")] + ".bin", np.int32, "r")
    ends = np.cumsum(lengths, dtype=np.int64)
    for length, end in zip(lengths, ends):
        yield tokens[end - length : end]


def main(index, folder):
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the peer prints is not an answer
    stub_torchvision()
    from streaming import MDSWriter, StreamingDataset
    from streaming.base.util import clean_stale_shared_memory
    from torch.utils.data import DataLoader

    clean_stale_shared_memory()
    if not os.path.exists(folder):
        part = folder + ".part"
        shutil.rmtree(part, ignore_errors=True)
        with MDSWriter(out=part, columns={"input_ids": "ndarray:int32", "labels": "ndarray:int32"}) as writer:
            for ids in documents(index):
                writer.write({"input_ids": np.array(ids), "labels": np.array(ids)})
        os.rename(part, folder)
    began = time.perf_counter()
    rows = StreamingDataset(local=folder, batch_size=8, shuffle=False)
    tokens = 0
    for batch in DataLoader(rows, batch_size=8, num_workers=0, collate_fn=list):
        tokens += sum(len(row["input_ids"]) for row in batch)
    print(json.dumps({"tokens": tokens, "seconds": time.perf_counter() - began}), file=answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
