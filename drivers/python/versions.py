# SPDX-License-Identifier: Apache-2.0
"""Decide which versions of a package satisfy "==1.2", "~=1.4, !=1.4.2" and the like, by PEP 440.

The library for this comes with pip, and either may be missing. These functions only handle text, because
pip_list.py also uses them, in a process of its own."""

import re

VERSION = re.compile(
    r"\s*v?(?:(\d{1,9})!)?(\d{1,18}(?:\.\d{1,18})*)(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?(\d{0,9}))?"
    r"(?:-(\d{1,9})|[-_.]?(post|rev|r)[-_.]?(\d{0,9}))?(?:[-_.]?(dev)[-_.]?(\d{0,9}))?(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*$",
    re.I,
)
CLAUSE = re.compile(r"\s*(===|==|~=|!=|<=|>=|<|>)\s*([^\s,;()]+)\s*$")
STAGES = {"a": 0, "b": 1}


class Version:
    """A version for comparisons. `key` lacks the local part after "+"; `release` is as written."""

    def __init__(self, text):
        found = VERSION.match(text)
        if found is None:
            raise ValueError("%r is not a version" % text)
        epoch, release, stage, pre, dash, post, n_post, dev, n_dev, local = found.groups()
        self.release = [int(part) for part in release.split(".")]
        self.epoch = int(epoch or 0)
        self.is_pre, self.is_post = bool(stage or dev), bool(dash or post)
        self.local = re.sub("[-_]", ".", (local or "").lower())
        if stage:
            before = (STAGES.get(stage[0].lower(), 2), int(pre or 0))
        else:
            before = (-1, 0) if dev and not self.is_post else (3, 0)
        self.base = (self.epoch, trimmed(self.release))
        self.key = (*self.base, before, int(dash or n_post or 0) if self.is_post else -1, int(n_dev or 0) if dev else 1 << 62)


def trimmed(numbers):
    end = len(numbers)
    while end > 1 and numbers[end - 1] == 0:
        end -= 1
    return tuple(numbers[:end])


def begins(there, wanted):
    """Return whether a version matches "1.2.*"."""
    padded = there.release + [0] * len(wanted.release)
    return there.epoch == wanted.epoch and padded[: len(wanted.release)] == wanted.release


def holds(there, operator, text):
    if operator == "===":
        return there.lower() == text.lower()
    there = Version(there)
    if operator in ("==", "!=") and text.endswith(".*"):
        return begins(there, Version(text[:-2])) == (operator == "==")
    wanted = Version(text)
    if operator in ("==", "!="):
        same = there.key == wanted.key and (not wanted.local or there.local == wanted.local)
        return same == (operator == "==")
    if operator == "~=":
        stem = Version(text)
        if len(stem.release) < 2:
            raise ValueError("~=%s needs at least two numbers" % text)
        stem.release = stem.release[:-1]
        return there.key >= wanted.key and begins(there, stem)
    if operator in ("<=", ">="):
        return there.key <= wanted.key if operator == "<=" else there.key >= wanted.key
    if operator == "<":  # "<2.0" does not include 2.0rc1
        return there.key < wanted.key and (wanted.is_pre or not there.is_pre or there.base != wanted.base)
    return there.key > wanted.key and (wanted.is_post or not there.is_post or there.base != wanted.base)


def satisfies(version, wanted):
    """
    Return whether @version satisfies the comma-separated clauses @wanted. Raises: ValueError for invalid
    text.
    """
    answer = True
    for clause in wanted.strip().strip("()").split(","):
        found = CLAUSE.match(clause)
        if found is None:
            if clause.strip():
                raise ValueError("%r contains no version" % clause.strip())
            continue
        answer = holds(version, found[1], found[2]) and answer
    return answer
