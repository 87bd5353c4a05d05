"""test_fleet_examples.py - the files of examples/fleet are valid, restricted, and start what the tool has"""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from served import Served
from waiting import wait_until

yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed")

ROOT = Path(__file__).parents[2]
FLEET = ROOT / "examples/fleet"
UNIT = "heapwright-live@.service"


@pytest.fixture(scope="session")
def options(build):
    said = subprocess.run([build / "bin/heapwright", "help", "live"], capture_output=True, text=True, timeout=60).stdout
    return set(re.findall(r"--[a-z-]+", said))


def check_command(words, options):
    """heapwright live --serve ADDRESS..., with options that exist."""
    assert words[:2] == ["live", "--serve"]
    assert {word for word in words if word.startswith("--")} <= options


# --- the dashboard: the main fields of Grafana's schema, kinds/dashboard/dashboard_kind.cue ---

FIELDS = {"id": (int, type(None)), "uid": str, "title": str, "description": str, "tags": list, "timezone": str, "editable": bool,
          "graphTooltip": int, "time": dict, "refresh": (str, bool), "schemaVersion": int, "version": int, "panels": list, "templating": dict,
          "annotations": dict, "links": list}
PANEL_FIELDS = {"id": int, "type": str, "title": str, "description": str, "datasource": dict, "gridPos": dict, "targets": list,
                "fieldConfig": dict, "options": dict}
VARIABLE_TYPES = {"query", "adhoc", "constant", "datasource", "interval", "textbox", "custom", "system"}


def check_fields(had, fields):
    assert set(had) <= set(fields), set(had) - set(fields)
    for name, value in had.items():
        assert isinstance(value, fields[name]), name


def test_the_dashboard():
    board = json.loads((FLEET / "dashboard.json").read_text())
    check_fields(board, FIELDS)
    assert 8 <= len(board["uid"]) <= 40 and board["schemaVersion"] >= 36 and board["graphTooltip"] in (0, 1, 2)
    assert set(board["time"]) == {"from", "to"}
    names = {variable["name"] for variable in board["templating"]["list"]}
    assert all(variable["type"] in VARIABLE_TYPES and variable["hide"] in (0, 1, 2) for variable in board["templating"]["list"])
    ids, taken = set(), set()
    for panel in board["panels"]:
        check_fields(panel, PANEL_FIELDS)
        place = panel["gridPos"]
        assert place["h"] > 0 and 0 < place["w"] <= 24 and 0 <= place["x"] <= 24 - place["w"] and place["y"] >= 0
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken, f"{panel['title']} is on another panel"
        taken |= cells
        assert panel["id"] not in ids
        ids.add(panel["id"])
        assert panel["targets"] and set(panel["fieldConfig"]) == {"defaults", "overrides"}
        for target in panel["targets"]:
            assert target["refId"] and target["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
            assert set(re.findall(r"\$(\w+)", target["expr"])) <= names | {"__rate_interval"}


# --- systemd ---


def sections_of_unit():
    sections, section = {}, None
    for line in (FLEET / UNIT).read_text().splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            section.setdefault(name, []).append(value)
    return sections


def test_the_service(options):
    service = sections_of_unit()["Service"]
    check_command(shlex.split(service["ExecStart"][0])[1:], options)
    for name in ("NoNewPrivileges", "MemoryDenyWriteExecute", "RestrictSUIDSGID", "LockPersonality", "PrivateDevices", "ProtectKernelTunables"):
        assert service[name] == ["yes"]
    assert service["CapabilityBoundingSet"] == [""] and service["ProtectSystem"] == ["strict"]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_systemd_accepts_the_service(build, tmp_path):
    text = (FLEET / UNIT).read_text().replace("/usr/local/bin/heapwright", str(build / "bin/heapwright"))
    unit = tmp_path / UNIT.replace("@", "@daemon")
    unit.write_text(text)
    checked = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
    complaints = [line for line in checked.stderr.splitlines() if unit.name in line]
    assert checked.returncode == 0 and not complaints, checked
    rated = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--threshold=30", "--no-pager", unit], capture_output=True, text=True,
                           timeout=60)
    if "unrecognized option" not in rated.stderr:
        assert rated.returncode == 0, rated.stdout


# --- containers ---


def test_the_container(options):
    text = (ROOT / "packaging/container/Containerfile").read_text().replace("\\\n", "")
    steps = [line.split(None, 1) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert {word for word, _ in steps} <= {"FROM", "COPY", "WORKDIR", "RUN", "ENV", "USER", "EXPOSE", "ENTRYPOINT", "CMD"}
    assert [rest for word, rest in steps if word == "FROM"] == ["debian:12-slim AS build", "scratch"]
    last = dict(steps)
    assert not last["USER"].startswith(("0", "root"))
    assert json.loads(last["ENTRYPOINT"]) == ["/usr/bin/heapwright"]
    check_command(json.loads(last["CMD"]), options)


def documents():
    return [document for document in yaml.safe_load_all((FLEET / "kubernetes.yaml").read_text()) if document]


def test_the_pod_is_restricted(options):
    """As the restricted profile of Kubernetes' Pod Security Standards demands."""
    (deployment,) = documents()
    assert (deployment["apiVersion"], deployment["kind"]) == ("apps/v1", "Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    pod = deployment["spec"]["template"]["spec"]
    security = pod["securityContext"]
    assert security["runAsNonRoot"] is True and security["runAsUser"] > 0
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["shareProcessNamespace"] is True and pod["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert all(set(volume) - {"name"} <= {"emptyDir", "secret"} for volume in volumes.values())
    for container in pod["initContainers"] + pod["containers"]:
        own = container["securityContext"]
        assert own == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
        assert "memory" in container["resources"]["limits"]
        assert {mount["name"] for mount in container["volumeMounts"]} <= set(volumes)
    program, sidecar = pod["containers"]
    check_command(sidecar["args"], options)
    mounts = {mount["name"]: mount for mount in sidecar["volumeMounts"]}
    assert mounts["recordings"]["readOnly"] and mounts["token"]["readOnly"]
    variables = {variable["name"]: variable["value"] for variable in program["env"]}
    assert Path(variables["LD_PRELOAD"]).name == "libheapwright-record.so"
    assert str(Path(variables["HEAPWRIGHT_OUTPUT"]).parent) == sidecar["args"][-1]
    # Kubernetes evicts a pod whose volume exceeds its limit.
    most, limit = variables["HEAPWRIGHT_MAX_SIZE"], volumes["recordings"]["emptyDir"]["sizeLimit"]
    assert most.endswith("GiB") and limit.endswith("Gi") and int(most[:-3]) < int(limit[:-2])


def test_as_the_sidecar_does(build, tool, compile_c, tmp_path):
    """The program and the server are started as in the example."""
    program, sidecar = documents()[0]["spec"]["template"]["spec"]["containers"]
    variables = {variable["name"]: variable["value"] for variable in program["env"]}
    recordings = tmp_path / "recordings"
    recordings.mkdir()
    variables["LD_PRELOAD"] = str(build / "lib/libheapwright-record.so")
    variables["HEAPWRIGHT_OUTPUT"] = variables["HEAPWRIGHT_OUTPUT"].replace("/recordings", str(recordings))
    (tmp_path / "token").write_text("0123456789abcdef\n")
    places = {"/recordings": str(recordings), "/run/secrets/heapwright/token": str(tmp_path / "token")}
    words = [places.get(word, word) for word in sidecar["args"][2:]]
    words[0] = words[0].rpartition(":")[0] + ":0"
    executable = compile_c(Path(__file__).parent / "programs/steps.c", name="steps")
    with subprocess.Popen([executable], env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        served = Served(tool, *words)
        try:
            process.stdin.write("1000\n")
            process.stdin.flush()
            bearer = {"Authorization": "Bearer 0123456789abcdef"}
            wait_until(lambda: (served.metrics(**bearer).value("live_blocks", pid=str(process.pid), command="steps") or 0) >= 1000)
            process.kill()
            process.wait()
            wait_until(lambda: served.metrics(**bearer).value("up") == 0)
        finally:
            served.end()
            process.kill()
