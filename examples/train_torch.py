"""A toy language model, trained on packs by plain torch: what a training loop does with a
PackStream.

    packline run examples/job/job.yaml -- \\
        torchrun --nproc-per-node 4 examples/train_torch.py --out a.json
    packline run examples/job/job.yaml -- \\
        python examples/train_torch.py --ranks-as-accumulation --out b.json

With `packline run examples/job/job.yaml --set eval.fraction=0.1` and `--evaluate-every 50` both
also evaluate on the records that this sets aside, in the midst of the training.

Both see the same packs in the same steps; the second takes those of all ranks in one process, by
gradient accumulation, so the losses agree to rounding. The file written has the loss of each step
and what the processes started: "forks" and "starts", both empty, because a stream starts nothing.
"""

import os
import sys

# Before anything else is imported, so that nothing goes unseen.
FORKS, STARTS = [], []
os.register_at_fork(before=lambda: FORKS.append("fork"))
sys.addaudithook(
    lambda event, args: (
        STARTS.append(f"{event} {args[0]!r}")
        if event
        in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.forkpty")
        else None
    )
)

import argparse  # noqa: E402
import itertools  # noqa: E402
import json  # noqa: E402

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from packline import PackStream, close_all  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

VOCABULARY = 258  # of `encode: {kind: bytes}`: 256 bytes, begin and end of a sequence
LONGEST = 4096


class ToyModel(nn.Module):
    """Two causal transformer blocks over a pack. What keeps the samples of a pack apart is the
    mask made of cu_seq_lens; a Hugging Face model does the same from position_ids, if it is called
    with use_cache=False."""

    def __init__(self, width=64, heads=4, blocks=2):
        super().__init__()
        self.heads = heads
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Embedding(LONGEST, width)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "before": nn.LayerNorm(width),
                    "qkv": nn.Linear(width, 3 * width),
                    "out": nn.Linear(width, width),
                    "after": nn.LayerNorm(width),
                    "up": nn.Linear(width, 4 * width),
                    "down": nn.Linear(4 * width, width),
                }
            )
            for _ in range(blocks)
        )
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, input_ids, labels, position_ids, cu_seq_lens_q, **_):
        """The mean loss of the supervised tokens; labels are unshifted, -100 where there is no
        loss."""
        tokens = input_ids.shape[1]
        sample = torch.bucketize(torch.arange(tokens), cu_seq_lens_q[1:].long(), right=True)
        mask = (sample[:, None] == sample[None, :]).tril()
        x = self.tokens(input_ids) + self.positions(position_ids % LONGEST)
        for b in self.blocks:
            q, k, v = (
                part.view(1, tokens, self.heads, -1).transpose(1, 2)
                for part in b["qkv"](b["before"](x)).chunk(3, dim=-1)
            )
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            x = x + b["out"](mixed.transpose(1, 2).reshape(1, tokens, -1))
            x = x + b["down"](F.gelu(b["up"](b["after"](x))))
        logits, wanted = self.head(x)[0, :-1], labels[0, 1:]
        total = F.cross_entropy(logits, wanted, ignore_index=-100, reduction="sum")
        return total / (wanted != -100).sum().clamp(min=1)


def line_of_this_process():
    """The job and dp_size of the line that started this command."""
    path = os.environ.get("PACKLINE_LINE")
    if not path:
        sys.exit("PACKLINE_LINE is not set: start this by `packline run JOB -- ...`, see --help")
    with open(path) as f:
        line = json.load(f)
    return line["job"], line["dp_size"]


def packs_of(streams):
    """One list a step, with a pack of each stream; over all epochs of the job. Every rank has
    equally many packs, so zip_longest ends all streams at the same step (zip would end the first
    one alone)."""
    while True:
        handed = 0
        for handed, packs in enumerate(itertools.zip_longest(*streams), 1):
            yield packs
        if not handed:
            return


def evaluate(streams, model):
    """The mean loss of one whole evaluation over all ranks: one `for` over a stream of the eval
    split, the same packs each time and equally many on every rank."""
    total = torch.zeros(2)
    with torch.no_grad():
        for packs in itertools.zip_longest(*streams):
            total += torch.stack([torch.stack((model(**p), torch.ones(()))) for p in packs]).sum(0)
    if dist.is_initialized():
        dist.all_reduce(total)
    return (total[0] / total[1].clamp(min=1)).item()


def train(streams, model, optimizer, steps, done=0, after_step=lambda step: None):
    """Losses of the steps, the mean over all ranks; up to `steps` in all."""
    losses = []
    for packs in itertools.islice(packs_of(streams), steps - done):
        optimizer.zero_grad()
        mean = torch.zeros(())
        for pack in packs:
            loss = model(**pack) / len(packs)
            loss.backward()
            mean += loss.detach()
        if dist.is_initialized():
            dist.all_reduce(mean)
            mean /= dist.get_world_size()
        optimizer.step()
        losses.append(mean.item())
        after_step(done + len(losses))
    return losses


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--evaluate-every", type=int, default=0, help="steps; 0: never")
    parser.add_argument("--out", help="JSON file for the losses")
    parser.add_argument("--ranks-as-accumulation", action="store_true")
    parser.add_argument("--save", help="checkpoint to write at the end")
    parser.add_argument("--resume", help="checkpoint to go on from, model and data alike")
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(0)
    job, dp_size = line_of_this_process()
    model = ToyModel()
    net = model
    ranks = [None]  # this process's own, from the launcher's environment
    if args.ranks_as_accumulation:
        ranks = range(dp_size)
    elif "RANK" in os.environ:
        dist.init_process_group("gloo")
        net = DistributedDataParallel(model)
    streams = [PackStream(job, dp_rank=r) for r in ranks]
    evals = [PackStream(job, split="eval", dp_rank=r) for r in ranks] if args.evaluate_every else []
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    done = 0
    if args.resume:
        saved = torch.load(args.resume, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        done = saved["stream"]["step"]
        for stream in streams:
            stream.load_state_dict(saved["stream"])

    evaluations = []

    def after_step(step):
        if args.evaluate_every and step % args.evaluate_every == 0:
            evaluations.append(evaluate(evals, model))

    losses = train(streams, net, optimizer, args.steps, done, after_step)

    first = not dist.is_initialized() or dist.get_rank() == 0
    if args.save and first:
        # One state does for all ranks: it is equal on all of them after a step.
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                 "stream": streams[0].state_dict()}  # fmt: skip
        torch.save(state, args.save)
    if dist.is_initialized():
        dist.barrier()  # nobody is done before the checkpoint is safe
    close_all([*streams, *evals])

    began = [len(FORKS), list(STARTS)]
    processes = [began]
    if dist.is_initialized():
        processes = [None] * dist.get_world_size()
        dist.all_gather_object(processes, began)
        dist.destroy_process_group()
    if first:
        forks, starts = sum(r[0] for r in processes), [s for r in processes for s in r[1]]
        if losses:
            last = done + len(losses)
            print(f"steps {done + 1} to {last}: loss {losses[0]:.3f} -> {losses[-1]:.3f}")
        if evaluations:
            from_to = f"{evaluations[0]:.3f} -> {evaluations[-1]:.3f}"
            print(f"{len(evaluations)} evaluations: loss {from_to}")
        print(f"forks {forks}, starts {starts} in {len(processes)} process(es)", flush=True)
        if args.out:
            with open(args.out, "w") as f:
                json.dump({"losses": losses, "evaluations": evaluations, "forks": forks,
                           "starts": starts}, f)  # fmt: skip


if __name__ == "__main__":
    main()
