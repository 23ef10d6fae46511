"""Which IP addresses a link may lead to. They are classified here, and never connected to."""

from __future__ import annotations

import ipaddress
import re
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import InputError
from ragcore.readers.web.download import Limits, fetch, is_public

# IANA's special-purpose address registries (RFC 6890), those whose column "Globally Reachable" does not say
# True, with the deprecated ones and the networks around an exception whose addresses hold no web pages;
# multicast; and all of IPv6 that is not given out.
NOT_GLOBAL = [
    *(
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
    ),
    *(
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
    ),
    *("224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32", "168.63.129.16/32"),
    *(
        "::/128",
        "::1/128",
        "::/96",
        "::ffff:0:0:0/96",
        "64:ff9b:1::/48",
        "100::/64",
        "100:0:0:1::/64",
        "2001::/23",
    ),
    *(
        "2001::/32",
        "2001:2::/48",
        "2001:10::/28",
        "2001:db8::/32",
        "2002::/16",
        "3fff::/20",
        "5f00::/16",
        "fc00::/7",
    ),
    *("fe80::/10", "fec0::/10", "ff00::/8", "4000::/2", "8000::/2", "::/8", "200::/7", "400::/6", "e000::/4"),
]


@pytest.mark.parametrize("network", NOT_GLOBAL)
def test_only_globally_reachable_addresses_are_public(network: str) -> None:
    whole = ipaddress.ip_network(network)
    for address in (whole[0], whole[whole.num_addresses // 2], whole[-1]):
        if address.version == 4 or address.ipv4_mapped is None:
            assert not is_public(str(address)), address


PRIVATE = [
    "127.0.0.1",
    "10.0.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "192.0.0.192",
    "100.100.100.200",
    "0.0.0.0",
    "224.0.0.1",
]


@pytest.mark.parametrize("inner", PRIVATE)
def test_no_other_form_of_an_ipv4_address_gets_past(inner: str) -> None:
    number = int(ipaddress.IPv4Address(inner))
    high, low = number >> 16, number & 0xFFFF
    mapped, compatible, translated = f"::ffff:{inner}", f"::{inner}", f"::ffff:0:{inner}"
    nat64, local_nat64, six_to_four = f"64:ff9b::{inner}", f"64:ff9b:1::{inner}", f"2002:{high:x}:{low:x}::1"
    teredo = f"2001:0:808:808:0:0:{high ^ 0xFFFF:x}:{low ^ 0xFFFF:x}"
    for address in (inner, mapped, compatible, translated, nat64, local_nat64, six_to_four, teredo):
        assert not is_public(address), address
        if ":" in address:
            assert not is_public(f"{address}%eth0"), address


@given(st.integers(0, 2**32 - 1))
def test_what_ipv4_says_of_an_address_holds_inside_ipv6(number: int) -> None:
    inner = ipaddress.IPv4Address(number)
    assert is_public(f"::ffff:{inner}") == is_public(f"64:ff9b::{inner}") == is_public(str(inner))


@pytest.mark.parametrize(
    "address",
    [
        *(
            "1.1.1.1",
            "8.8.8.8",
            "93.184.216.34",
            "192.0.1.1",
            "192.31.196.1",
            "198.17.255.255",
            "198.20.0.1",
            "223.255.255.254",
        ),
        *(
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "2a00:1450::1",
            "2400:cb00::1",
            "2003::1",
            "64:ff9b::808:808",
        ),
    ],
)
def test_addresses_of_the_internet_stay_reachable(address: str) -> None:
    assert is_public(address)


REFUSED = re.compile("is an address of this computer|is not a web link")

# Numbers in any form that the system's resolver takes for an address, without a look-up; or for no address at
# all.
WRITTEN = ["127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.0.1", "0", "0x0"]
WRITTEN += [
    "3232235777",
    "0300.0250.1.1",
    "[::ffff:7f00:1]",
    "[::1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[::ffff:0:7f00:1]",
]


@pytest.mark.parametrize("host", WRITTEN)
def test_a_number_is_what_the_resolver_makes_of_it(host: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=REFUSED):
        fetch(f"http://{host}:9/", tmp_path / "page", Limits())


@pytest.mark.parametrize(
    "host", ["127。0。0。1", "①②⑦.⓪.⓪.①", "１２７.0.0.1", "localhost.", "LOCALHOST", "127.0.0.1%00.example"]
)
def test_disguised_host_names_lead_to_no_private_address(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is made of the name: what it stands for is looked at."""
    here = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 9))]
    # no look-up leaves this machine
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_given, **_more: here)
    with pytest.raises(InputError, match=REFUSED):
        fetch(f"http://{host}:9/", tmp_path / "page", Limits())
