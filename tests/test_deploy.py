"""What deploy/ promises. `python -m tests.installed_wheel` runs its install lines and its health check."""

from __future__ import annotations

import json

import yaml

from lectern.cli_parser import command_parser
from lectern.settings import on_server
from ragcore.sql.postgres_address import address_of
from tests.dockerfile import DOCKERFILE, health_command, instructions

PASSWORD = "${LECTERN_PASSWORD:?Set LECTERN_PASSWORD in the file .env}"
COMPOSE = yaml.safe_load((DOCKERFILE.parent / "compose.yaml").read_text("utf-8"))


def test_the_container_is_not_root_and_its_library_is_a_volume() -> None:
    text = DOCKERFILE.read_text("utf-8")
    assert instructions("USER") == ["lectern"]
    assert text.index("\nUSER ") < text.index("\nENTRYPOINT ")
    assert instructions("VOLUME") == ["/data"]
    assert "LECTERN_HOME=/data" in instructions("ENV")


def test_the_container_starts_and_checks_the_application() -> None:
    entry, arguments = (json.loads(instructions(name)[-1]) for name in ("ENTRYPOINT", "CMD"))
    assert entry == ["lectern"]
    port = command_parser().parse_args(arguments).port
    assert instructions("EXPOSE") == [str(port)]
    assert f"http://127.0.0.1:{port}/_stcore/health" in health_command()[-1]


def test_compose_has_the_application_a_worker_and_a_database() -> None:
    services = COMPOSE["services"]
    assert set(services) == {"application", "worker", "database"}
    assert "pgvector" in services["database"]["image"]
    assert command_parser().parse_args(services["worker"]["command"]).command == "worker"
    for name in ("application", "worker"):
        service = services[name]
        dockerfile = DOCKERFILE.parent / service["build"]["context"] / service["build"]["dockerfile"]
        assert dockerfile.resolve() == DOCKERFILE.resolve()
        assert service["depends_on"]["database"]["condition"] == "service_healthy"
        url = service["environment"]["LECTERN_DATABASE"]
        assert on_server(url)
        address = address_of(url.replace(PASSWORD, "secret"))
        assert (address.host, address.user, address.database) == ("database", "lectern", "lectern")
    assert services["application"].get("healthcheck") is None  # that of the Dockerfile
    assert services["worker"]["healthcheck"]["disable"] is True  # it answers no requests


def test_compose_opens_ports_on_this_machine_alone() -> None:
    ports = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]
    assert ports == ["127.0.0.1:8501:8501"]


def test_compose_has_no_password_and_keeps_all_data_in_volumes() -> None:
    services = COMPOSE["services"]
    assert services["database"]["environment"]["POSTGRES_PASSWORD"] == PASSWORD
    volumes = [volume for service in services.values() for volume in service["volumes"]]
    assert [volume.split(":")[0] for volume in volumes] == list(COMPOSE["volumes"])
    assert services["application"]["volumes"] == ["application:/data"]
