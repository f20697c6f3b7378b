"""The Kustomize folder: every field is one of Kubernetes' API, what is referred to is there, and
pods start what Compose starts."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client
from pydantic import ValidationError

from ganboard.worker.supervisor import secrets

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "deploy" / "kubernetes"
KUSTOMIZATION = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
OBJECTS = [
    found
    for name in KUSTOMIZATION["resources"]
    for found in yaml.safe_load_all((FOLDER / name).read_text())
]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
PODS = {
    found["metadata"]["name"]: found["spec"]["template"]["spec"]
    for found in OBJECTS
    if "template" in found.get("spec", {})
}


def checked(found: dict[str, Any]) -> Any:
    """An object of Kubernetes' client, whose types know every field."""
    version = found["apiVersion"].rpartition("/")[2].capitalize()
    return getattr(client, f"{version}{found['kind']}").model_validate(found)


def containers() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    for name, pod in PODS.items():
        for one in (*pod.get("initContainers", ()), *pod["containers"]):
            yield name, pod, one


@pytest.mark.parametrize(
    "found", OBJECTS, ids=lambda one: f"{one['kind']} {one['metadata']['name']}"
)
def test_every_field_is_one_of_kubernetes(found: dict[str, Any]) -> None:
    assert checked(found).metadata.name == found["metadata"]["name"]


@pytest.mark.parametrize(
    ("spec", "says"), [({"port": []}, r"spec\.port"), ({"ports": [{"name": "a"}]}, "port")]
)
def test_a_misspelled_or_missing_field_is_noticed(spec: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        checked({"apiVersion": "v1", "kind": "Service", "spec": spec})


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kustomize_makes_what_is_applied(tmp_path: Path) -> None:
    folder = shutil.copytree(FOLDER, tmp_path / "kubernetes")
    for name, make in {
        "database": secrets.make_database_password,
        "queue": secrets.make_queue_password,
        "web": secrets.make_web_secrets,
    }.items():
        (folder / "secrets" / name).mkdir(parents=True)
        make(folder / "secrets" / name)
    made = subprocess.run(
        ["kubectl", "kustomize", folder], capture_output=True, text=True, check=True
    )
    assert made.stderr == "", "what kustomize warns of"
    found = [checked(one) for one in yaml.safe_load_all(made.stdout)]
    names = {(one.kind, one.metadata.name) for one in found}
    assert len(found) == len(names) == len(OBJECTS) + 4, "the generated ones have hashes"
    spaces = {one.metadata.namespace for one in found if one.kind != "Namespace"}
    assert spaces == {"ganboard"}
    generated = {name for kind, name in names if kind in ("Secret", "ConfigMap")}
    assert all(made.stdout.count(name) > 1 for name in generated), "pods refer to each"


def test_what_is_mounted_and_named_is_there() -> None:
    secrets = {one["name"] for one in KUSTOMIZATION["secretGenerator"]}
    claims = {one["metadata"]["name"] for one in OBJECTS if one["kind"] == "PersistentVolumeClaim"}
    templates = {
        one["metadata"]["name"]: {claim["metadata"]["name"] for claim in claims_of}
        for one in OBJECTS
        if (claims_of := one.get("spec", {}).get("volumeClaimTemplates"))
    }
    for name, pod, container in containers():
        volumes = {one["name"]: one for one in pod.get("volumes", ())}
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted <= set(volumes) | templates.get(name, set()), name
        for volume in volumes.values():
            if "secret" in volume:
                assert volume["secret"]["secretName"] in secrets
            if "persistentVolumeClaim" in volume:
                assert volume["persistentVolumeClaim"]["claimName"] in claims
        for source in container.get("envFrom", ()):
            assert source["configMapRef"]["name"] == KUSTOMIZATION["configMapGenerator"][0]["name"]


def test_pods_are_as_closed_as_the_containers_of_compose() -> None:
    for name, pod, container in containers():
        assert pod["automountServiceAccountToken"] is False
        security = container["securityContext"]
        assert security["allowPrivilegeEscalation"] is False
        assert security["capabilities"]["drop"] == ["ALL"]
        if container["image"].startswith("ganboard-"):
            assert pod["securityContext"]["runAsUser"] == 10001
            assert security["readOnlyRootFilesystem"] is True
        elif "add" in security["capabilities"]:  # PostgreSQL's image starts as root
            assert set(security["capabilities"]["add"]) == set(COMPOSE["db"]["cap_add"]), name


def test_they_start_what_compose_starts() -> None:
    compose = {service["image"] for service in COMPOSE.values() if "profiles" not in service}
    ours = {container["image"] for _, _, container in containers()}
    assert ours == compose
    commands = {tuple(one["command"]) for _, _, one in containers() if "command" in one}
    for name in ("migrate", "alerts", "searches", "claims", "inference-worker"):
        assert tuple(COMPOSE[name]["command"]) in commands


def test_nothing_reaches_the_dashboard_without_sign_in() -> None:
    (dashboard,) = (one for _, _, one in containers() if one["name"] == "dashboard")
    assert dashboard["command"][-2:] == ["--address", "127.0.0.1"]
    assert {one["metadata"]["name"] for one in OBJECTS if one["kind"] == "Service"} == {
        "database",
        "queue",
    }
