"""Chroma in tests: closing what they opened, so that a long run does not run out of files."""

from __future__ import annotations


def close_clients() -> None:
    """Stop every embedded Chroma of this process."""
    from chromadb.api.shared_system_client import SharedSystemClient

    systems = SharedSystemClient._identifier_to_system
    for identifier in [key for key, system in systems.items() if system.settings.is_persistent]:
        systems.pop(identifier).stop()
