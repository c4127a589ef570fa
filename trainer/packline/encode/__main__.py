"""packline-encode: an encoder process. `packline run` starts as many as the job says; by hand:

    packline-encode --config job.yaml          connects to the job's line.producers
"""

from __future__ import annotations

import argparse
import sys

from . import settings as settings_module
from .log import Log
from .supervisor import Supervisor


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(
        prog="packline-encode", description="encodes records of a job for its producers, on any host"
    )
    parser.add_argument("--config", metavar="JOB", help="the job file")
    parser.add_argument("--set", action="append", default=[], metavar="a.b=VALUE",
                        help="a setting in place of the job file's")  # fmt: skip
    parser.add_argument("--connect", action="append", default=[], metavar="ADDRESS",
                        help="where a producer takes encoders: base port + 3, or ipc path .3; repeated")  # fmt: skip
    parser.add_argument("--settings", help=argparse.SUPPRESS)  # by `packline run`
    parser.add_argument("--index", type=int, default=0, help="which one it is, for logs")
    parser.add_argument("--log-format", choices=("text", "json"), default="text")
    options = parser.parse_args(argv)
    try:
        if options.settings:
            settings = settings_module.from_json(options.settings)
        elif options.config:
            settings = settings_module.from_job_file(options.config, options.set, options.connect)
        else:
            parser.error("--config JOB is missing")
    except settings_module.WrongSettings as e:
        print(f"packline-encode: {e}", file=sys.stderr)
        return 2
    log = Log(options.log_format, settings.job, options.index)
    ended = Supervisor(settings, log).run()
    if ended.code not in (0, 130, 143):
        log.error(ended.text)
    return ended.code


if __name__ == "__main__":
    sys.exit(main())
