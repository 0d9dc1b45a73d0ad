"""The files in deploy/ say what the program understands."""

from __future__ import annotations

import argparse
import ipaddress
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from treadle._cli.command_table import build_parser

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser, _ = build_parser([arguments[0]])
    return parser.parse_args(arguments)


def manifests() -> list[dict[str, Any]]:
    yaml = pytest.importorskip("yaml")
    return [one for path in sorted((DEPLOY / "kubernetes").iterdir()) for one in yaml.safe_load_all(path.read_text())]


def workloads() -> list[dict[str, Any]]:
    return [one for one in manifests() if one["kind"] in ("Deployment", "StatefulSet")]


def containers(app: str) -> list[dict[str, Any]]:
    [one] = [one for one in workloads() if one["metadata"]["name"] == app]
    return one["spec"]["template"]["spec"]["containers"]


def unit(name: str) -> tuple[str, argparse.Namespace]:
    """A unit's text, and what its command means; of a template, for the port 8461."""
    text = (DEPLOY / name).read_text().replace("\\\n", " ")
    line = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)
    assert line
    return text, parsed(shlex.split(line[1].replace("%i", "8461"))[1:])


@pytest.mark.parametrize("name", ["treadle.service", "treadle@.service"])
def test_systemd_starts_a_command_that_the_program_takes_and_nginx_leads_to(name: str):
    text, args = unit(name)
    assert (args.host, args.takeover, args.trust_proxy) == ("127.0.0.1", 30.0, ["127.0.0.1"])
    assert args.journal.startswith("postgres://")
    for wanted in ("NoNewPrivileges=yes", "ProtectSystem=strict", "DynamicUser=yes", "Restart=always"):
        assert wanted in text
    nginx = (DEPLOY / "nginx.conf").read_text()
    assert re.findall(r"location (\S+) {", nginx) == [f"{args.prefix}/"]
    assert f"server {args.host}:{args.port};" in nginx


def test_the_template_is_started_for_every_upstream_of_nginx():
    text, _ = unit("treadle@.service")
    started = re.findall(r"treadle@(\d+)", text)
    assert started == re.findall(r"server 127\.0\.0\.1:(\d+);", (DEPLOY / "nginx.conf").read_text())
    assert "--port %i " in text
    said = (ROOT / "docs" / "howto" / "deploy.md").read_text()
    assert f"systemctl enable --now {' '.join(f'treadle@{port}' for port in started)}" in said


def test_a_single_unit_and_the_template_differ_in_the_port_only():
    def lines(name: str) -> list[str]:
        text = unit(name)[0].replace("--port 8460", "--port %i").replace(", port %i", "")
        return [line for line in text.splitlines() if not line.startswith("#")]

    assert lines("treadle.service") == lines("treadle@.service")


def test_kubernetes_starts_commands_that_the_program_takes():
    [server], [worker] = containers("treadle"), containers("treadle-worker")
    served = parsed(["serve", *server["args"]])
    assert served.takeover == 30.0
    worked = parsed([*worker["command"][1:], *worker["args"]])
    assert worked.temporal == "temporal-frontend:7233"
    for container in (server, worker):
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"]
        assert not context["allowPrivilegeEscalation"]
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert {"config", "data", "tmp"} <= mounted
    assert server["readinessProbe"]["httpGet"]["path"] == "/health"


def test_every_service_budget_and_policy_finds_its_pods():
    labels = [one["spec"]["template"]["metadata"]["labels"] for one in workloads()]
    for one in manifests():
        spec = one.get("spec", {})
        selector = spec.get("selector") or spec.get("podSelector") or {}
        assert one["kind"] == "ConfigMap" or selector.get("matchLabels", selector) in labels


def test_what_the_manifests_use_is_in_them_and_found_by_its_name():
    services = {one["metadata"]["name"]: one["spec"] for one in manifests() if one["kind"] == "Service"}
    ports = {f"{name}:{port['port']}" for name, spec in services.items() for port in spec["ports"]}
    [worker], [temporal] = containers("treadle-worker"), containers("temporal")
    assert parsed([*worker["command"][1:], *worker["args"]]).temporal in ports
    told = {one["name"]: one.get("value", "") for one in temporal["env"]}
    assert f"{told['POSTGRES_SEEDS']}:{told['DB_PORT']}" in ports
    for name, spec in services.items():
        [listening] = containers(spec["selector"]["app"])
        assert {port["targetPort"] for port in spec["ports"]} <= {port["name"] for port in listening["ports"]}, name
    documented = (ROOT / "docs" / "howto" / "deploy.md").read_text()
    assert "@postgres/treadle" in documented
    for one in workloads():
        for container in one["spec"]["template"]["spec"]["containers"]:
            for source in [entry.get("valueFrom", {}) for entry in container.get("env", [])]:
                for kind, reference in source.items():
                    made = "secret generic" if kind == "secretKeyRef" else "configmap"
                    line = re.search(rf"kubectl create {made} {reference['name']} .*", documented)
                    assert line, reference
                    assert re.search(rf"--from-(literal|file)={reference['key']}\b", line[0]), reference


def test_no_manifest_believes_a_whole_private_network():
    [server] = containers("treadle")
    trusted = parsed(["serve", *server["args"]]).trust_proxy
    assert trusted == ["$(PROXY)"], "an address that the operator names"
    documented = re.search(r"treadle-proxy --from-literal=address=(\S+)", (ROOT / "docs/howto/deploy.md").read_text())
    assert documented
    assert ipaddress.ip_network(documented[1]).num_addresses <= 256
    policies = {one["metadata"]["name"]: one["spec"] for one in manifests() if one["kind"] == "NetworkPolicy"}
    assert set(policies) == {"treadle", "postgres", "temporal"}
    assert all(rule["from"] for spec in policies.values() for rule in spec["ingress"])


def test_nginx_tells_the_server_what_it_believes():
    text = (DEPLOY / "nginx.conf").read_text()
    for wanted in ("X-Forwarded-For $remote_addr;", "X-Forwarded-Proto $scheme;", "X-Forwarded-Host $host;"):
        assert f"proxy_set_header {wanted}" in text
    assert "proxy_buffering off;" in text
    assert text.count("{") == text.count("}")
