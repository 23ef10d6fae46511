"""What every test gets: no network but this machine's own, no account, no home folder, one thread for each model."""

from __future__ import annotations

import os

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")
for name in ("OPENAI_API_KEY", "LECTERN_HOME", "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
    os.environ.pop(name, None)
