"""test_prometheus.py - Debian's Prometheus scrapes heapwright live --serve, and evaluates the rules and the dashboard of examples/fleet

HW_PROMETHEUS_SECONDS=300 lets it scrape for five minutes.
"""

import http.client
import json
import os
import re
import shutil
import subprocess
import time
import urllib.parse
from pathlib import Path

import pytest
from ports import free_port
from served import Served
from waiting import wait_until

yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed")

FLEET = Path(__file__).parents[2] / "examples/fleet"
SECONDS = int(os.environ.get("HW_PROMETHEUS_SECONDS", "3"))
TOKEN = "fedcba9876543210"
TOTALS = {"heapwright_allocations_total": "allocation_calls", "heapwright_frees_total": "free_calls", "heapwright_peak_bytes": "peak_bytes",
          "heapwright_allocated_bytes_total": "allocated_bytes", "heapwright_failed_calls_total": "failed_calls"}
LIVE = {"heapwright_live_bytes": "live_bytes_at_end", "heapwright_live_blocks": "live_blocks_at_end"}

needs_prometheus = pytest.mark.skipif(not shutil.which("prometheus") or not shutil.which("promtool"),
                                      reason="prometheus is not installed: apt-get install prometheus")


class Prometheus:
    """The server, with the example's configuration: only addresses, names of files and intervals are changed."""

    def __init__(self, folder, target, token):
        config = yaml.safe_load((FLEET / "prometheus.yml").read_text())
        job = config["scrape_configs"][0]
        job["authorization"]["credentials_file"] = str(token)
        job["static_configs"][0]["targets"] = [target]
        job["scrape_timeout"] = config["global"]["scrape_interval"] = config["global"]["evaluation_interval"] = "1s"
        job["params"] = {"top": ["5"]}
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        shutil.copy(FLEET / "rules.yml", folder)
        self.port = free_port()
        self.log = folder / "prometheus.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(["prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
                                             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=log, stderr=log)

    def ask(self, path, **query):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", f"/api/v1/{path}?{urllib.parse.urlencode(query)}")
            answer = json.loads(connection.getresponse().read())
        except ConnectionError:  # it is not up yet
            assert self.process.poll() is None, self.log.read_text()
            return None
        finally:
            connection.close()
        assert answer["status"] == "success", answer
        return answer["data"]

    def find(self, query):
        """The labels and values of a query."""
        data = self.ask("query", query=query)
        return [(row["metric"], float(row["value"][1])) for row in data["result"]] if data else []

    def value(self, query):
        found = self.find(query)
        return found[0][1] if len(found) == 1 else None

    def targets(self):
        data = self.ask("targets")
        return data["activeTargets"] if data else []


@pytest.fixture
def token(tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    return tmp_path / "token"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "recordings").mkdir()
    return tmp_path / "recordings"


@pytest.fixture
def scrape(tmp_path, token):
    made = []

    def start(target):
        made.append(Prometheus(tmp_path, target, token))
        return made[-1]

    yield start
    for server in made:
        server.process.kill()
        server.process.wait()


def image_of(hw, trace):
    process = hw("report", "--json", "--children", trace)
    return json.loads(process.stdout)["images"][0]


def check_values(hw, prometheus, trace):
    """Everything that Prometheus has of a process that is at rest is what the report says."""
    image = image_of(hw, trace)
    labels = f'{{recording="{trace.name}",pid="{image["pid"]}",command="steps",job="heapwright"}}'
    wait_until(lambda: prometheus.value(f"heapwright_live_blocks{labels}") == image["live_blocks_at_end"])
    for name, key in {**TOTALS, **LIVE}.items():
        wait_until(lambda: prometheus.value(f"{name}{labels}") == image[key])
    assert prometheus.value(f"heapwright_up{labels}") == 1


def at_rest(hw, program, blocks):
    program.tell(str(blocks))
    wait_until(lambda: image_of(hw, program.trace)["live_blocks_at_end"] >= blocks)


def expressions_of_dashboard():
    board = json.loads((FLEET / "dashboard.json").read_text())
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]]


def check_queries(prometheus):
    """Prometheus accepts each query of the dashboard and of the rules, and no rule fails."""
    for expression in expressions_of_dashboard():
        for variable, value in (("$instance", ".*"), ("$command", ".*"), ("$__rate_interval", "1m")):
            expression = expression.replace(variable, value)
        assert prometheus.ask("query", query=expression)["resultType"] == "vector"
    rules = [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]
    assert rules and all(rule["health"] == "ok" for rule in rules), rules


@needs_prometheus
def test_prometheus_scrapes(tool, hw, start_program, scrape, folder, token):
    port = free_port()
    address = f"127.0.0.1:{port}"
    served = Served(tool, address, "--token", token, folder)
    prometheus = scrape(address)
    program = start_program(folder / "run.hwt")
    at_rest(hw, program, 500)
    check_values(hw, prometheus, program.trace)
    assert prometheus.find('heapwright_stack_live_bytes{stack=~"main.*"}')
    # The target starts again: under the same name, it is another process.
    assert program.end() == 0
    program = start_program(folder / "run.hwt")
    at_rest(hw, program, 1234)
    check_values(hw, prometheus, program.trace)
    # The server starts again: figures that count calls go on where they were.
    counted = prometheus.value("heapwright_allocations_total")
    served.end()
    wait_until(lambda: [target["health"] for target in prometheus.targets()] == ["down"])
    served = Served(tool, address, "--token", token, folder)
    wait_until(lambda: [target["health"] for target in prometheus.targets()] == ["up"])
    wait_until(lambda: prometheus.value("heapwright_allocations_total") == counted)
    program.tell("f")
    end = time.monotonic() + SECONDS
    rounds = 0
    while time.monotonic() < end or rounds < 2:
        at_rest(hw, program, 100 + rounds)
        check_values(hw, prometheus, program.trace)
        program.tell("f")
        rounds += 1
    resets = prometheus.find("sum(resets(heapwright_allocations_total[1h]))")
    assert [value for _, value in resets] == [0]
    assert all(target["lastError"] == "" for target in prometheus.targets())
    check_queries(prometheus)
    served.end()


@needs_prometheus
def test_promtool_finds_nothing(tool, program, tmp_path, token):
    served = Served(tool, "127.0.0.1:0", program.trace)
    try:
        wait_until(lambda: served.metrics().find("rss_bytes"))
        _, _, body = served.ask("/metrics?top=5")
        checked = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True, timeout=60)
        assert checked.returncode == 0 and not checked.stdout and not checked.stderr, checked
    finally:
        served.end()
    checked = subprocess.run(["promtool", "check", "rules", FLEET / "rules.yml"], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0 and "SUCCESS" in checked.stdout, checked
    config = (FLEET / "prometheus.yml").read_text().replace("/etc/prometheus/heapwright.token", str(token))
    (tmp_path / "prometheus.yml").write_text(config)
    shutil.copy(FLEET / "rules.yml", tmp_path)
    checked = subprocess.run(["promtool", "check", "config", tmp_path / "prometheus.yml"], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked


@needs_prometheus
@pytest.mark.parametrize("series, alert, minutes", [
    ("heapwright_live_bytes: 10e6+0.5e6x200", "HeapwrightGrowth", 150),
    ("heapwright_live_bytes: 100e6+30e6x200", "HeapwrightFastGrowth", 60),
    ("heapwright_lost_events_total: 0x30 5x100", "HeapwrightLostEvents", 35),
    ("heapwright_cgroup_oom_kills_total: 0x30 1x100", "HeapwrightOutOfMemory", 35),
    ("heapwright_recording_up: 0x60", "HeapwrightUnreadable", 30),
    ("heapwright_behind_seconds: 100x60", "HeapwrightLate", 30),
    ("heapwright_recordings_left_out: 3x60", "HeapwrightLeftOut", 30),
    ("up: 0x60", "HeapwrightServerDown", 30),
])
def test_alerts(tmp_path, series, alert, minutes):
    """Each alert fires for such a series, and not for one that does not change."""
    name, _, values = series.partition(": ")
    labels = 'instance="node:9876",job="heapwright",recording="a.hwt",pid="7",command="server"'
    quiet = "1x300" if name in ("up", "heapwright_recording_up") else "0x300"

    def check(given, fires):
        test = {"rule_files": [str(FLEET / "rules.yml")], "evaluation_interval": "1m",
                "tests": [{"interval": "1m", "input_series": [{"series": f"{name}{{{labels}}}", "values": given}],
                           "promql_expr_test": [{"expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})', "eval_time": f"{minutes}m",
                                                 "exp_samples": [{"labels": "{}", "value": 1}] if fires else []}]}]}
        (tmp_path / "test.yml").write_text(yaml.safe_dump(test))
        checked = subprocess.run(["promtool", "test", "rules", tmp_path / "test.yml"], capture_output=True, text=True, timeout=60)
        assert checked.returncode == 0, checked

    check(values, True)
    check(quiet, False)


@needs_prometheus
def test_the_alert_near_a_limit(tmp_path):
    labels = 'instance="node:9876",job="heapwright",recording="a.hwt",pid="7",command="server"'
    series = [{"series": f"{name}{{{labels}}}", "values": values}
              for name, values in (("heapwright_cgroup_limit_bytes", "100x60"), ("heapwright_cgroup_bytes", "50x20 95x40"))]
    fires = [{"expr": 'count(ALERTS{alertname="HeapwrightNearLimit",alertstate="firing"})', "eval_time": f"{minutes}m",
              "exp_samples": [{"labels": "{}", "value": 1}] if minutes > 25 else []} for minutes in (20, 40)]
    test = {"rule_files": [str(FLEET / "rules.yml")], "evaluation_interval": "1m",
            "tests": [{"interval": "1m", "input_series": series, "promql_expr_test": fires}]}
    (tmp_path / "test.yml").write_text(yaml.safe_dump(test))
    checked = subprocess.run(["promtool", "test", "rules", tmp_path / "test.yml"], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked


def test_every_metric_exists(build):
    """The rules, the dashboard and the documents name only metrics that the server has."""
    source = (Path(__file__).parents[2] / "src/live/fleet/metrics.c").read_text()
    known = set()
    for name, is_counter in re.findall(r'\] = \{"(heapwright_\w+)", (?:NULL|"\w+"), (true|false)', re.sub(r"\s+", " ", source)):
        known.add(f"{name}_total" if is_counter == "true" else name)
    assert len(known) > 20
    docs = Path(__file__).parents[2] / "docs/fleet.md"
    for page in (FLEET / "rules.yml", FLEET / "dashboard.json", FLEET / "README.md", docs):
        named = set(re.findall(r"(?<![:\w])heapwright_[a-z_]+", page.read_text()))
        assert named <= known, (page, named - known)
    documented = set(re.findall(r"`(heapwright_[a-z_]+)", docs.read_text()))
    assert documented >= known, known - documented
