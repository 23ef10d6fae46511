from __future__ import annotations

import json
import subprocess
import sys

import pytest

import ragcore.evaluation
import ragcore.query_engine


@pytest.mark.parametrize("package", [ragcore.evaluation, ragcore.query_engine])
def test_every_name_exists_and_a_wrong_one_is_reported(package: object) -> None:
    for name in getattr(package, "__all__"):  # noqa: B009 - packages have no type with it
        assert getattr(package, name).__name__ == name
    with pytest.raises(AttributeError, match="NoSuchName"):
        getattr(package, "NoSuchName")  # noqa: B009


def test_importing_loads_nothing_heavy() -> None:
    program = (
        "import json, sys; import ragcore.evaluation, ragcore.query_engine; "
        "print(json.dumps(sorted(sys.modules)))"
    )
    loaded = json.loads(
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    )
    assert not {"numpy", "torch", "pydantic", "tiktoken"} & set(loaded)
