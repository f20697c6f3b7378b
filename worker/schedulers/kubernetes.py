"""Kubernetes, by its API: a JobSet (jobset.sigs.k8s.io, v1alpha2) for each run, whose indexed job
has a pod on each machine.

The installation names a pod template with image, secrets and volumes (`GANBOARD_POD_TEMPLATE`);
what a run adds to it is here.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

from ganboard.db.models import Run
from ganboard.db.settings import Settings, SettingsError
from ganboard.gan.scheduler_options import kubernetes_options
from ganboard.worker.context import Context
from ganboard.worker.placement.waiting import TITLES
from ganboard.worker.schedulers.scheduler import JobState, SchedulerAway, SchedulerRefused

GROUP, VERSION, PLURAL = "jobset.x-k8s.io", "v1alpha2", "jobsets"
RUN = "ganboard.io/run"  # the label that names the run
MAX_RESTARTS = 10  # of a JobSet whose pods are lost
GRACE_SECONDS = 90  # for rank 0 to save a checkpoint
KEPT_SECONDS = 24 * 3600  # of a JobSet that has ended
_REQUEST_SECONDS = 30.0
_REFUSED = (400, 403, 404, 409, 422)  # HTTP: asking again would not help


class Kubernetes:
    """The cluster of the kubeconfig, or the one that this process runs in."""

    name = "kubernetes"
    title = TITLES["kubernetes"]
    missing = "install the extra kubernetes and set GANBOARD_POD_TEMPLATE"

    def __init__(self) -> None:
        import kubernetes

        load: Any = kubernetes.config
        file = os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
        try:
            if os.path.exists(file):
                load.load_kube_config(config_file=file)
            else:
                load.load_incluster_config()
        except kubernetes.config.ConfigException as error:
            raise SettingsError(f"No Kubernetes cluster is configured: {error}") from None
        self._api: Any = kubernetes.client.CustomObjectsApi()
        self._error = kubernetes.client.ApiException

    @staticmethod
    def available(settings: Settings) -> bool:
        return bool(settings.pod_template) and importlib.util.find_spec("kubernetes") is not None

    def submit(self, context: Context, run: Run) -> str:
        document = manifest(run, template(context.settings))
        namespace = document["metadata"]["namespace"]
        with self._requests():
            made = self._api.create_namespaced_custom_object(
                GROUP, VERSION, namespace, PLURAL, document, _request_timeout=_REQUEST_SECONDS
            )
        return f"{namespace}/{made['metadata']['name']}"

    def find(self, run: Run) -> str | None:
        namespace = _options(run)["namespace"]
        with self._requests():
            listed = self._api.list_namespaced_custom_object(
                GROUP,
                VERSION,
                namespace,
                PLURAL,
                label_selector=f"{RUN}={run.id}",
                _request_timeout=_REQUEST_SECONDS,
            )
        names = [one["metadata"]["name"] for one in listed["items"] if not _state(one).ended]
        return f"{namespace}/{names[0]}" if names else None

    def states(self, job_ids: Collection[str]) -> Mapping[str, JobState]:
        return {job_id: self._look(job_id) for job_id in job_ids if job_id}

    def cancel(self, job_id: str) -> None:
        namespace, name = job_id.split("/")
        try:
            self._api.delete_namespaced_custom_object(
                GROUP, VERSION, namespace, PLURAL, name, _request_timeout=_REQUEST_SECONDS
            )
        except self._error as error:
            if error.status != 404:
                raise SchedulerAway(f"{error.status} {error.reason}") from None

    def _look(self, job_id: str) -> JobState:
        namespace, name = job_id.split("/")
        try:
            return _state(
                self._api.get_namespaced_custom_object(
                    GROUP, VERSION, namespace, PLURAL, name, _request_timeout=_REQUEST_SECONDS
                )
            )
        except self._error as error:
            if error.status == 404:
                return JobState("Deleted", ended=True, cancelled=True)
            raise SchedulerAway(f"{error.status} {error.reason}") from None
        except OSError as error:
            raise SchedulerAway(_first_line(error)) from None

    @contextmanager
    def _requests(self) -> Iterator[None]:
        from urllib3.exceptions import HTTPError

        try:
            yield
        except self._error as error:
            said = f"{error.status} {error.reason}: {_first_line(error.body or '')}"
            raise (SchedulerRefused if error.status in _REFUSED else SchedulerAway)(said) from None
        except (HTTPError, OSError) as error:
            raise SchedulerAway(_first_line(error)) from None


def template(settings: Settings) -> dict[str, Any]:
    """The pod template of the installation. Raises SchedulerRefused where it cannot be used."""
    import yaml

    try:
        with open(settings.pod_template, encoding="utf-8") as file:
            found = yaml.safe_load(file)
        containers = found["spec"]["containers"]
        if not containers or not containers[0]["image"]:
            raise ValueError("its first container has no image")
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise SchedulerRefused(
            f"GANBOARD_POD_TEMPLATE={settings.pod_template} is no pod template with"
            f" spec.containers[0].image ({_first_line(error)})"
        ) from None
    return {"metadata": found.get("metadata") or {}, "spec": found["spec"]}


def manifest(run: Run, pod: Mapping[str, Any]) -> dict[str, Any]:
    """The JobSet that trains a run in pods of this template."""
    options = _options(run)
    hosts = int(run.config.get("hosts") or 1)
    name = f"ganboard-{run.id}-{run.attempt}"
    labels = {RUN: run.id}
    if queue := options.get("queue"):
        labels["kueue.x-k8s.io/queue-name"] = queue
    filled = deepcopy(dict(pod))
    spec, metadata = filled["spec"], dict(filled["metadata"])
    metadata["labels"] = {**(metadata.get("labels") or {}), RUN: run.id}
    spec["restartPolicy"] = "Never"
    spec.setdefault("terminationGracePeriodSeconds", GRACE_SECONDS)
    container = spec["containers"][0]
    container["command"] = ["python", "-m", "ganboard.worker.schedulers.node", run.id]
    container.pop("args", None)
    container["env"] = [
        *(container.get("env") or []),
        {"name": "GANBOARD_JOB", "value": name},
        {"name": "GANBOARD_JOB_TASKS", "value": str(hosts)},
        {"name": "GANBOARD_ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ]
    wanted = {"cpu": "cpus", "memory": "memory", "nvidia.com/gpu": "gpus"}
    amounts = {key: options[option] for key, option in wanted.items() if option in options}
    if amounts:
        resources = container.setdefault("resources", {})
        for kind in ("requests", "limits"):
            resources[kind] = {**(resources.get(kind) or {}), **amounts}
    if priority := options.get("priority-class"):
        spec["priorityClassName"] = priority
    job = {
        "parallelism": hosts,
        "completions": hosts,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": {"metadata": metadata, "spec": spec},
    }
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": options["namespace"], "labels": labels},
        "spec": {
            # one pod that is lost ends all, and all start again from the checkpoint
            "failurePolicy": {"maxRestarts": MAX_RESTARTS},
            "ttlSecondsAfterFinished": KEPT_SECONDS,
            "replicatedJobs": [{"name": "node", "replicas": 1, "template": {"spec": job}}],
        },
    }


def _state(jobset: Mapping[str, Any]) -> JobState:
    status = jobset.get("status") or {}
    conditions = {
        one["type"]: one for one in status.get("conditions") or [] if one.get("status") == "True"
    }
    for word in ("Completed", "Failed"):
        if word in conditions:
            return JobState(word, str(conditions[word].get("message") or ""), ended=True)
    ready = sum(one.get("ready") or 0 for one in status.get("replicatedJobsStatus") or [])
    if ready:
        return JobState("Running")
    waits = conditions.get("Suspended") or {}
    return JobState("Suspended" if waits else "Pending", str(waits.get("message") or ""))


def _options(run: Run) -> dict[str, str]:
    found = kubernetes_options(str(run.config.get("scheduler_options") or ""))
    return {"namespace": "default", **found}


def _first_line(text: object) -> str:
    return (str(text).strip().splitlines() or [""])[0][:300]
