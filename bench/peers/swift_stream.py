"""ms-swift's streaming path as its trainer reads it: JSONL of ready tokens, IterablePackingDataset, a DataLoader with one
worker, the template's collator.

    python swift_stream.py FILE.jsonl all|first    a line on stdin starts a round
    per round on stdout: {"tokens", "packs", "seconds", "cpu_seconds"}

Rows hold tokens already, so encode() only copies them; everything else is the template's own. Imports and the template
are made before; a round begins with its dataset. `first` ends a round with its first batch.
"""

import json
import os
import sys
import tempfile
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from processes import cpu_seconds  # noqa: E402

CAPACITY = 8192


def write_model(folder):
    """A Qwen2 of two layers with a tokenizer of a few words: the collator needs its ids, nothing more."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate([*special, "a"])}, unk_token="a"))
    PreTrainedTokenizerFast(
        tokenizer_object=words, eos_token="<|im_end|>", pad_token="<|endoftext|>", unk_token="a"
    ).save_pretrained(folder)
    config = {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 32000,
        "max_position_embeddings": 32768,
        "torch_dtype": "bfloat16",
    }
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)


def make_template(folder):
    from swift.model import get_processor
    from swift.template import get_template

    template = get_template(
        get_processor(folder, model_type="qwen2"), max_length=CAPACITY, template_type="qwen"
    )
    template.set_mode("train")

    def encode(row, return_length=False, **_):
        ids = list(row["input_ids"])
        return {"input_ids": ids, "labels": list(row["labels"]), "length": len(ids), "lengths": [len(ids)]}

    template.encode = encode
    return template


def measure(template, path, only_first):
    import datasets
    from swift.dataset import IterablePackingDataset
    from torch.utils.data import DataLoader

    cpu, began = cpu_seconds(os.getpid()), time.perf_counter()
    rows = datasets.load_dataset("json", data_files=path, split="train", streaming=True)
    packed = IterablePackingDataset(template, rows, num_proc=1)
    batches = iter(DataLoader(packed, batch_size=1, num_workers=1, collate_fn=template.data_collator))
    packs = tokens = 0
    for batch in batches:
        packs += 1
        tokens += batch["input_ids"].numel()
        if only_first:
            break
    seconds, cpu = time.perf_counter() - began, cpu_seconds(os.getpid()) - cpu
    del batches
    for worker in packed.workers:  # nothing of its own ends them
        worker.kill()
        worker.join()
    return {"tokens": tokens, "packs": packs, "seconds": seconds, "cpu_seconds": cpu}


def main(path, what):
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the peer prints is not an answer
    with tempfile.TemporaryDirectory() as folder:
        write_model(folder)
        template = make_template(folder)
        print(json.dumps("ready"), file=answers)
        for _ in sys.stdin:
            print(json.dumps(measure(template, path, what == "first")), file=answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
