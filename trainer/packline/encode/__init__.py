"""Encoder processes: what makes samples of a job's records in Python (docs/encoders.md).

    def encode(record, seed):
        return {"input_ids": tokenizer.encode(record["text"])}

`packline run` starts them for a job with `encode: {kind: python, function: "module:encode"}`;
`packline-encode --config job.yaml` (python -m packline.encode) starts one by hand.
"""

from .fields import per_sample, per_token

__all__ = ["per_sample", "per_token"]
