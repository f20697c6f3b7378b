"""worker.schedulers.kubernetes against an API server of the test's own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ganboard.db.models import Run
from ganboard.db.placement import jobs
from ganboard.db.runs import commands, queries
from ganboard.db.settings import Settings, SettingsError
from ganboard.worker.context import Context
from ganboard.worker.placement import waiting
from ganboard.worker.schedulers import driver, known
from ganboard.worker.schedulers.kubernetes import Kubernetes, manifest, template
from ganboard.worker.schedulers.scheduler import SchedulerRefused

POD = """
metadata: {labels: {team: vision}}
spec:
  serviceAccountName: ganboard
  containers:
    - name: ganboard
      image: registry.example/ganboard:1
      env: [{name: GANBOARD_STORE, value: "s3://bucket/ganboard"}]
      resources: {limits: {memory: 8Gi}}
"""
CONFIG = {
    "strategy": "multi_worker",
    "replicas": 2,
    "hosts": 2,
    "placement": "kubernetes",
    "scheduler_options": "--namespace=lab --gpus=1 --queue=gpu",
}
ROOT = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/lab/jobsets"


class Api(ThreadingHTTPServer):
    """As much of a Kubernetes API server as holds JobSets."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.jobsets: dict[str, dict[str, Any]] = {}
        self.refuses: tuple[int, str] | None = None


class _Handler(BaseHTTPRequestHandler):
    server: Api

    def _answer(self, code: int, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path.partition("?")[0] == ROOT
        if self.server.refuses:
            code, message = self.server.refuses
            self._answer(code, {"kind": "Status", "message": message})
            return
        self.server.jobsets[document["metadata"]["name"]] = document
        self._answer(201, document)

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == ROOT:
            self._answer(200, {"items": list(self.server.jobsets.values())})
            return
        found = self.server.jobsets.get(path.rpartition("/")[2])
        self._answer(200 if found else 404, found or {"kind": "Status"})

    def do_DELETE(self) -> None:
        found = self.server.jobsets.pop(self.path.partition("?")[0].rpartition("/")[2], None)
        self._answer(200 if found else 404, {"kind": "Status"})

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    with Api() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        kubeconfig = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": address}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        yield server
        server.shutdown()


@pytest.fixture
def cluster(context: Context, tmp_path: Path) -> Context:
    (tmp_path / "pod.yaml").write_text(POD)
    settings = context.settings.model_copy(update={"pod_template": str(tmp_path / "pod.yaml")})
    return Context(settings, context.engine)


def waiting_run(context: Context, **changes: object) -> Run:
    return commands.create_run(context.engine, name="a run", config={**CONFIG, **changes})


def now(context: Context, run: Run) -> Run:
    found = queries.get_run(context.engine, run.id)
    assert found is not None
    return found


def only(api: Api) -> dict[str, Any]:
    (jobset,) = api.jobsets.values()
    return jobset


def condition(kind: str, message: str = "") -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": "True", "message": message}]}


def test_a_run_becomes_a_jobset_with_a_pod_on_each_machine(
    context: Context, tmp_path: Path
) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    run = waiting_run(context)
    pod = template(Settings(home=tmp_path, pod_template=str(tmp_path / "pod.yaml")))
    made = manifest(run, pod)
    assert made["metadata"]["namespace"] == "lab"
    assert made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "gpu"
    (job,) = made["spec"]["replicatedJobs"]
    spec = job["template"]["spec"]
    assert (spec["completions"], spec["parallelism"], spec["completionMode"]) == (2, 2, "Indexed")
    assert spec["template"]["metadata"]["labels"] == {"team": "vision", "ganboard.io/run": run.id}
    container = spec["template"]["spec"]["containers"][0]
    assert container["command"][-1] == run.id
    assert container["resources"]["limits"] == {"memory": "8Gi", "nvidia.com/gpu": "1"}
    variables = {one["name"]: one.get("value") for one in container["env"]}
    assert variables["GANBOARD_STORE"] == "s3://bucket/ganboard"
    assert variables["GANBOARD_JOB"] == made["metadata"]["name"]
    assert variables["GANBOARD_JOB_TASKS"] == "2"
    assert "resources" in pod["spec"]["containers"][0]
    assert "command" not in pod["spec"]["containers"][0], "the template itself stays"


def test_a_job_is_followed_from_submission_to_its_deletion(api: Api, cluster: Context) -> None:
    scheduler, run = Kubernetes(), waiting_run(cluster)
    assert driver.advance(cluster, scheduler) == 1
    assert driver.advance(cluster, scheduler) == 0, "one job a run"

    def why() -> str:
        return waiting.reasons(cluster, [now(cluster, run)])[run.id].reason

    name = f"lab/ganboard-{run.id}-0"
    assert why() == f"Kubernetes job {name} is pending"
    only(api)["status"] = condition("Suspended", "waits for quota")
    driver.advance(cluster, scheduler)
    assert why() == f"Kubernetes job {name} is suspended: waits for quota"
    commands.request_stop(cluster.engine, run_id=run.id)
    driver.advance(cluster, scheduler)
    assert api.jobsets == {}


def test_a_jobset_that_a_person_deletes_stops_its_run(api: Api, cluster: Context) -> None:
    scheduler, run = Kubernetes(), waiting_run(cluster)
    driver.advance(cluster, scheduler)
    api.jobsets.clear()
    driver.advance(cluster, scheduler)
    assert now(cluster, run).status == "stopped"


def test_a_jobset_that_fails_before_training_is_repeated_and_given_up(
    api: Api, cluster: Context
) -> None:
    scheduler, run = Kubernetes(), waiting_run(cluster)
    for _ in range(jobs.MAX_FAILURES):
        assert driver.advance(cluster, scheduler) == 1
        only(api)["status"] = condition("Failed", "image not found")
        driver.advance(cluster, scheduler)
        api.jobsets.clear()
    assert driver.advance(cluster, scheduler) == 0
    failed = now(cluster, run)
    assert failed.status == "failed"
    assert failed.error is not None
    assert "image not found" in failed.error
    assert "3 jobs in a row" in failed.error


def test_a_cluster_that_is_away_is_asked_again_and_one_that_refuses_ends_the_run(
    api: Api, cluster: Context
) -> None:
    scheduler, run = Kubernetes(), waiting_run(cluster)
    api.refuses = (503, "try later")
    assert driver.advance(cluster, scheduler) == 0
    assert now(cluster, run).status == "queued"
    api.refuses = (403, "jobsets is forbidden")
    assert driver.advance(cluster, scheduler) == 0
    failed = now(cluster, run)
    assert failed.status == "failed"
    assert failed.error is not None
    assert failed.error.startswith("Kubernetes refused the job: 403")
    assert "jobsets is forbidden" in failed.error


@pytest.mark.parametrize("text", ["", "spec: {}", "spec: {containers: [{name: a}]}", "- [", "{"])
def test_a_template_without_an_image_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(text)
    with pytest.raises(SchedulerRefused, match="is no pod template"):
        template(Settings(home=tmp_path, pod_template=str(path)))


def test_a_scheduler_that_is_not_here_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GANBOARD_POD_TEMPLATE", raising=False)
    with pytest.raises(SettingsError, match="Kubernetes cannot be used here: install the extra"):
        known.find("kubernetes")
    with pytest.raises(SettingsError, match="There is no scheduler 'ray': choose slurm or"):
        known.find("ray")
