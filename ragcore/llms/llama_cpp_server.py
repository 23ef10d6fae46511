"""The process in which llama.cpp runs: `ragcore.llms.llama_cpp` starts it by its path. It imports only the
package xllamacpp.

It reads one line of JSON from standard input, the configuration, and writes one line of JSON to standard
output, the address, after the model is loaded. It ends when standard input ends, or when the process that
started it ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from typing import Any

NOT_LOADED = 3  # its exit status where llama.cpp cannot load the model
BATCH = 512  # tokens that are read between two looks at who else wants something, or has gone
PING = 5  # seconds
PROMPT_CACHE = 256  # megabytes, of prompts that no slot holds any more
POLL_SECONDS = 1.0  # seconds between two looks whether the parent is there


def main() -> None:
    config = json.loads(sys.stdin.readline())
    parent = os.getppid()
    threading.Thread(target=_end_with_input, daemon=True).start()
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # llama.cpp writes to standard output, too
    try:
        server = _serve(config)
    except RuntimeError:
        traceback.print_exc()
        os._exit(NOT_LOADED)
    print(json.dumps({"address": server.listening_address}), file=answer, flush=True)
    while os.getppid() == parent:  # a copy of the pipe may live on in another child of the parent's
        time.sleep(POLL_SECONDS)
    os._exit(0)


def _serve(config: dict[str, Any]) -> Any:
    """`slots` calls at once, each with `context` tokens."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = config["model"]
    params.n_parallel = config["slots"]
    params.n_ctx = config["context"] * config["slots"]  # llama.cpp divides it among the slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = config["threads"]
    params.n_batch = params.n_ubatch = BATCH
    params.cache_ram_mib = PROMPT_CACHE
    params.n_ctx_checkpoints = 4
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [config["key"]]
    params.endpoint_slots = False  # it would show prompts
    params.sse_ping_interval = PING
    params.use_jinja = True
    params.enable_reasoning = 0  # thoughts take minutes on a processor, and the room for the answer
    params.offline = True
    params.ui = False
    params.verbosity = 1
    return xllamacpp.Server(params)


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
