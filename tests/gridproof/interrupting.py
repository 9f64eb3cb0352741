"""Interrupts a run of the command line when it is at work, however long the machine takes to get there."""

import os
import signal
import sys
import threading

from gridproof import cli, parallel_prove
from spec.prove import Prover

SECONDS = 0.2  # after the work has begun, so that it is in the midst of it


def interrupted_in(owner, name, interrupt):
    """Have this function start a clock when it is called, which interrupts."""
    exact = getattr(owner, name)

    def timed(*arguments):
        clock = threading.Timer(SECONDS, interrupt)
        clock.daemon = True
        clock.start()
        return exact(*arguments)

    setattr(owner, name, timed)


if __name__ == "__main__":
    if sys.argv[sys.argv.index("--jobs") + 1] == "1":
        interrupted_in(Prover, "prove", lambda: os.kill(os.getpid(), signal.SIGINT))
    else:
        # All processes of the group, as a terminal does; they have been started when results are waited for.
        interrupted_in(parallel_prove, "_received", lambda: os.killpg(os.getpgrp(), signal.SIGINT))
    cli.run()
