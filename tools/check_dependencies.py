#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The versions of everything the program is built on, and what is known to be wrong with them.

    tools/check_dependencies.py              ask the OSV database (https://osv.dev) too
    tools/check_dependencies.py --offline    versions, and what apt would upgrade

System packages are those of tools/apt-packages.txt as they are installed here; the rest are those of tools/dependencies.lock.

Exit code: 0 nothing is known, 1 something is, 2 it could not be looked up.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
OSV = "https://api.osv.dev"


def system_packages():
    """(package, installed version, source package, its version) of each that is installed."""
    lines = (ROOT / "tools/apt-packages.txt").read_text().splitlines()
    names = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    form = "${db:Status-Status} ${Package} ${Version} ${source:Package} ${source:Version}\n"
    shown = subprocess.run(["dpkg-query", "-W", "-f", form, *names], capture_output=True, text=True).stdout
    return [tuple(line.split()[1:]) for line in shown.splitlines() if line.startswith("installed ")]


def upgrades(names):
    """What apt knows a newer version of, by package."""
    shown = subprocess.run(["apt-cache", "policy", *names], capture_output=True, text=True).stdout
    found, name, installed = {}, None, None
    for line in shown.splitlines():
        if line and not line.startswith(" "):
            name = line.rstrip(":")
        elif "Installed:" in line:
            installed = line.split()[1]
        elif "Candidate:" in line and line.split()[1] not in (installed, "(none)"):
            found[name] = line.split()[1]
    return found


def fetched_packages():
    locked = tomllib.loads((ROOT / "tools/dependencies.lock").read_text())
    return [tuple(package["requirement"].split("==")) for package in locked["package"]]


def debian_release():
    for line in pathlib.Path("/etc/os-release").read_text().splitlines():
        key, _, value = line.partition("=")
        if key == "VERSION_ID":
            release = value.strip('"')
        if key == "ID":
            system = value.strip('"').capitalize()
    return f"{system}:{release}"


def known_faults(packages, address):
    """The names of what OSV knows of each (ecosystem, name, version)."""
    queries = [{"package": {"ecosystem": ecosystem, "name": name}, "version": version} for ecosystem, name, version in packages]
    request = urllib.request.Request(address + "/v1/querybatch", json.dumps({"queries": queries}).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        results = json.load(answer)["results"]
    return {package: [fault["id"] for fault in result.get("vulns", [])] for package, result in zip(packages, results)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--offline", action="store_true", help="ask nobody")
    parser.add_argument("--osv", default=OSV, help=f"address of the database [{OSV}]")
    options = parser.parse_args()

    system, fetched = system_packages(), fetched_packages()
    newer = upgrades([package for package, *_ in system])
    for package, version, *_ in system:
        print(f"{package:28} {version:28}" + (f" apt has {newer[package]}: sudo apt-get upgrade {package}" if package in newer else ""))
    for name, version in fetched:
        print(f"{name:28} {version}")
    asked = [(debian_release(), source, version) for _, _, source, version in system] + [("PyPI", *each) for each in fetched]
    asked = sorted(set(asked))
    if options.offline:
        print(f"{len(asked)} packages; known faults were not looked up (--offline)")
        sys.exit(1 if newer else 0)
    try:
        faults = known_faults(asked, options.osv)
    except (OSError, ValueError, KeyError, urllib.error.URLError) as error:
        print(f"check_dependencies: known faults could not be looked up at {options.osv}: {error}", file=sys.stderr)
        sys.exit(2)
    bad = {package: names for package, names in faults.items() if names}
    for (ecosystem, name, version), names in bad.items():
        print(f"KNOWN FAULTS of {name} {version} ({ecosystem}): {', '.join(names)}")
    print(f"{len(asked)} packages, {len(bad)} with known faults")
    sys.exit(1 if bad or newer else 0)


if __name__ == "__main__":
    main()
