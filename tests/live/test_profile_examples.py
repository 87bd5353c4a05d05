"""test_profile_examples.py - the scrape configurations of Parca and Grafana Alloy in examples/fleet have what these projects document

The fields are those of parca's pkg/config/config.go, and of Alloy's reference of pyroscope.scrape and pyroscope.write.
"""

import re
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed")

ROOT = Path(__file__).parents[2]
FLEET = ROOT / "examples/fleet"
SERVED = set(re.findall(r'HWI_PPROF_FOLDER "(\w+)"', (ROOT / "src/live/fleet/pprof.h").read_text()))
PARCA_JOB = {"job_name", "params", "scrape_interval", "scrape_timeout", "scheme", "normalized_addresses", "profiling_config",
             "relabel_configs", "static_configs", "authorization", "basic_auth", "oauth2", "tls_config", "proxy_url", "follow_redirects"}
PARCA_TYPES = {"memory", "block", "goroutine", "mutex", "process_cpu"}
PARCA_TYPE = {"enabled", "path", "delta", "keep_sample_type"}
ALLOY = {
    "pyroscope.scrape": {"targets", "forward_to", "bearer_token_file", "params", "scrape_interval", "scrape_timeout", "job_name", "scheme"},
    "profiling_config": {"path_prefix"},
    **{f"profile.{name}": {"delta", "enabled", "path"} for name in ("block", "goroutine", "memory", "mutex", "process_cpu")},
    "pyroscope.write": {"external_labels"},
    "endpoint": {"url", "bearer_token_file", "headers", "name", "remote_timeout"},
}
ON_BY_DEFAULT = {"block", "goroutine", "memory", "mutex", "process_cpu"}


def seconds(text):
    return int(re.fullmatch(r"(\d+)s", text)[1])


@pytest.mark.parametrize("is_whole", [False, True])
def test_parca(is_whole):
    """As it is, and with the lines that are commented out."""
    text = (FLEET / "parca.yaml").read_text()
    if is_whole:
        text = re.sub(r"^    # ( *)(?=\w+:)", r"    \1", text, flags=re.M)
    config = yaml.safe_load(text)
    assert set(config) == {"object_storage", "scrape_configs"} and set(config["object_storage"]["bucket"]) == {"type", "config"}
    [job] = config["scrape_configs"]
    assert set(job) <= PARCA_JOB and ("authorization" in job and "params" in job) == is_whole
    assert seconds(job["scrape_timeout"]) > seconds(job["scrape_interval"])  # else Parca refuses it
    types = job["profiling_config"]["pprof_config"]
    assert set(types) == PARCA_TYPES and all(set(one) <= PARCA_TYPE for one in types.values())
    on = [name for name, one in types.items() if one["enabled"]]
    assert on == ["memory"] and types["memory"]["path"].removeprefix("/debug/pprof/") in SERVED
    kept = {(kind["type"], kind["unit"]) for kind in types["memory"]["keep_sample_type"]}
    assert kept == {("inuse_space", "bytes"), ("alloc_space", "bytes")}
    assert all("/" not in target for group in job["static_configs"] for target in group["targets"])


def blocks_of(text):
    """(block, names of its arguments), with nested blocks."""
    text = re.sub(r"//[^\n]*", "", re.sub(r'"[^"\n]*"', lambda found: found[0].replace("//", ":"), text))
    stack, found = [], []
    for line in text.splitlines():
        begin = re.fullmatch(r'\s*([\w.]+)(?: "\w+")? \{', line)
        argument = re.match(r"\s*(\w+)\s*=", line)
        if begin:
            stack.append((begin[1], {}))
            found.append(stack[-1])
        elif line.strip() == "}":
            stack.pop()
        elif argument:
            stack[-1][1][argument[1]] = line.split("=", 1)[1].strip()
    assert not stack
    return found


@pytest.mark.parametrize("is_whole", [False, True])
def test_alloy(is_whole):
    text = (FLEET / "profiles.alloy").read_text()
    if is_whole:
        text = re.sub(r"^(\s+)// (?=\w+ = )", r"\1", text, flags=re.M)
    blocks = blocks_of(text)
    for name, arguments in blocks:
        assert set(arguments) <= ALLOY[name], name
    types = {name.removeprefix("profile."): arguments for name, arguments in blocks if name.startswith("profile.")}
    assert set(types) == ON_BY_DEFAULT
    assert [name for name, arguments in types.items() if arguments["enabled"] == "true"] == ["memory"]
    assert types["memory"]["path"].strip('"').removeprefix("/debug/pprof/") in SERVED and types["memory"]["delta"] == "false"
    scrape = dict(blocks)["pyroscope.scrape"]
    assert {"targets", "forward_to"} <= set(scrape)
    assert scrape["forward_to"] == "[pyroscope.write.server.receiver]" and 'pyroscope.write "server"' in text
    assert ("bearer_token_file" in scrape) == is_whole
