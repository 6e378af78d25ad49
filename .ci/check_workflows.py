"""Whether the workflows are what they should be: readable, with no more rights than they need, and without a job that is forgotten."""

import pathlib
import re

import yaml

# What jobs may do beyond reading the repository.
RIGHTS = {
    ("release.yml", "rehearsal"): {"contents: read", "actions: read"},
    ("release.yml", "draft"): {"contents: write"},
    **{("release.yml", job): {"contents: write", "id-token: write", "attestations: write"} for job in ["programs", "wheels"]},
    **{("weekly.yml", job): {"contents: read", "issues: write"} for job in ["long", "next-numpy"]}, # a failure becomes an issue
    ("release.yml", "publish"): {"contents: write", "id-token: write"},
}
ROOT = pathlib.Path(__file__).resolve().parent.parent


def check(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}, f"{path.name}: what all jobs may do"
    jobs = workflow["jobs"]
    for name, job in jobs.items():
        where = f"{path.name}, {name}"
        assert "timeout-minutes" in job or len(job["steps"]) == 1, f"{where}: no timeout"
        rights = {f"{on}: {may}" for on, may in job.get("permissions", {}).items()}
        assert rights <= RIGHTS.get((path.name, name), set()), f"{where}: it may do more than it needs: {rights}"
        assert "env" not in workflow and "env" not in job, f"{where}: all steps see its tokens"
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w/.-]+@[0-9a-f]{40}", step["uses"]), f"{where}: {step['uses']} is not pinned by its hash"
                assert "checkout" not in step["uses"] or step["with"]["persist-credentials"] is False, f"{where}: the checkout keeps a token"
            for script in re.findall(r"\.ci/([a-z_]+)", step.get("run", "")):
                assert (ROOT / ".ci" / script).exists(), f"{where}: there is no .ci/{script}"
            assert "secrets." not in str(step), f"{where}: a secret that does not expire"
            for tool in re.findall(r"pip install (.*)", step.get("run", "")):
                assert path.name != "release.yml" or "--require-hashes" in tool, f"{where}: tools without their hashes"
        for check in job.get("strategy", {}).get("matrix", {}).get("check", []):
            assert (ROOT / ".ci" / check.split()[0]).exists(), f"{where}: there is no .ci/{check}"
    if "conclusion" in jobs:
        assert set(jobs["conclusion"]["needs"]) == jobs.keys() - {"conclusion"}, f"{path.name}: the conclusion needs all jobs"
    return len(jobs)


paths = sorted((ROOT / ".github/workflows").glob("*.yml"))
print(sum(map(check, paths)), "jobs in", len(paths), "workflows")
