"""Completing the address of a model server as a person types it, and checking whether it is on this
computer."""

from __future__ import annotations

import ipaddress
import os
import re

import httpx

from ragcore.errors import ConfigError

OPENAI_URL = "https://api.openai.com/v1"

# A number, because `localhost` may lead to ::1 first, where another account may listen.
OLLAMA_URL = "http://127.0.0.1:11434"

_PORTS = {"http": 80, "https": 443}


def server_address(text: str, *, usual: str, local_port: int | None = None) -> httpx.URL:
    """The complete address: `localhost:1234` -> `http://localhost:1234`. "" is the usual address.

    Without a scheme, any host with a port and a host of this machine or network has http, others https. An
    address without scheme and port has `local_port`.
    """
    address = text.strip() or usual
    if not address:
        raise ConfigError(
            "No address is given for the model server.",
            hint="Enter it in Settings, like http://127.0.0.1:1234/v1",
        )
    bare = "://" not in address
    try:
        url = httpx.URL(f"http://{address}" if bare else address)
        _ = url.host  # decodes an international name, which may be invalid
    except (httpx.InvalidURL, UnicodeError) as error:
        raise _bad_address(address) from error
    if (
        url.scheme not in ("http", "https")
        or not url.host
        or re.search(r"\s", address)
        or url.query
        or url.userinfo
    ):
        raise _bad_address(address)
    if bare and url.port is None and local_port is not None:
        url = url.copy_with(port=local_port)
    if bare and url.port is None and not _is_near(url.host):
        url = url.copy_with(scheme="https")
    if url.host == "0.0.0.0":  # a server listens there, but a client cannot connect to it
        url = url.copy_with(host="127.0.0.1")
    return url.copy_with(path=url.path.rstrip("/") or "/", fragment=None)


def api_address(base_url: str) -> httpx.URL:
    """The base of an OpenAI-compatible server's paths, with the /v1 that people often omit."""
    url = server_address(base_url, usual="")
    path = re.sub(r"/(chat/completions|completions|embeddings|models)$", "", url.path.rstrip("/"))
    return url.copy_with(path=path if re.search(r"/v\d", path) else f"{path}/v1")


def origin_of(url: httpx.URL) -> str:
    """Scheme, host and port: the receiver of a request.

    >>> origin_of(httpx.URL("https://API.example.com/v1"))
    'https://api.example.com:443'
    """
    port = "" if url.port is not None else f":{_PORTS.get(url.scheme, 0)}"
    return f"{url.scheme}://{url.netloc.decode('ascii').lower()}{port}"


def openai_base_url() -> str:
    """OPENAI_BASE_URL of the environment, as in OpenAI's own client, or OpenAI's address."""
    return os.environ.get("OPENAI_BASE_URL", "").strip() or OPENAI_URL


def _bad_address(address: str) -> ConfigError:
    address = re.sub(r"//[^/@]*@", "//…@", address.split("?")[0])  # it may contain a password or key
    return ConfigError(
        f"{address!r} is not an address of a model server.",
        hint=(
            "It looks like http://127.0.0.1:1234 or https://api.example.com/v1, with no user name and "
            "no question mark."
        ),
    )


def is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_near(host: str) -> bool:
    """Whether the name is that of this machine or of its network."""
    if is_loopback(host) or "." not in host or host.endswith((".local", ".lan", ".internal")):
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False
