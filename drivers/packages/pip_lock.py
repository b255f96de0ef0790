# SPDX-License-Identifier: Apache-2.0
"""Write the locked list of what `pip install --dry-run --report FILE` would install: requirements with hashes.

  usage: python3 pip_lock.py FILE"""

import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    for row in sorted(report["install"], key=lambda each: each["metadata"]["name"].lower()):
        name, version = row["metadata"]["name"], row["metadata"]["version"]
        archive = row["download_info"].get("archive_info") or {}
        kind, _, value = archive.get("hash", "").partition("=")
        hashes = archive.get("hashes") or {kind: value}
        if not hashes.get("sha256"):
            sys.exit("%s %s has no hash, so it cannot be locked: name a package of an index, or a wheel"
                     % (name, version))
        print("%s==%s --hash=sha256:%s" % (name, version, hashes["sha256"]))


main()
