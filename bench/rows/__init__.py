"""The measurements of bench/run, a file each: `measure(rounds)` gives its rows. RUN is their order in the table."""

RUN = ["jsonl", "megatron", "text", "planning", "fill", "balance", "first_pack", "memory", "waiting"]
