"""How good the answers are that a language model writes: `python -m benchmarks.written_answers --help`."""
