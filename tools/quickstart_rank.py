"""A trainer without a model: four ranks that take their packs and write down what they got.

    packline run JOB -- python quickstart_rank.py JOB --ranks 4 --out FOLDER

With --ranks it starts that many processes of itself, each with its rank in the environment as torchrun
would set it, and ends with the first exit code that is not 0.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path


def take(job, out, rank):
    """Iterates one rank's stream to its end; writes counts, each pack's tokens, each sample's length."""
    from packline import PackStream

    stream = PackStream(job, layout="numpy")
    packs, samples = [], []
    for pack in stream:
        packs.append(int(pack["input_ids"].size))
        samples.extend(zip(pack["sample_ids"], (int(n) for n in pack["lengths"])))
    stream.close()
    out.mkdir(parents=True, exist_ok=True)
    (out / f"rank{rank}.json").write_text(json.dumps({"packs": packs, "samples": samples}))


def start_ranks(ranks):
    processes = []
    for rank in range(ranks):
        env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks))
        processes.append(subprocess.Popen([sys.executable, *sys.argv], env=env))

    def end(number, _frame):
        for process in processes:
            process.send_signal(number)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    codes = [process.wait() for process in processes]
    bad = [code for code in codes if code]
    return (bad[0] if bad[0] > 0 else 128 - bad[0]) if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    if "RANK" not in os.environ:
        return start_ranks(args.ranks)
    take(args.job, args.out, int(os.environ["RANK"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
