# SPDX-License-Identifier: Apache-2.0
"""The shape of a record, field by field, as the contract promises it."""

import re

STATUSES = {"ok", "error", "timeout", "oom", "killed", "denied", "running"}
OUTCOMES = {"committed", "rolled_back", "replayed", "diverged", "lost"}
CHANGES = {"created", "modified", "deleted"}

# What a limit is when nothing is asked for: src/sandbox/limits.h, DESIGN 2.2.
DEFAULT_LIMITS = {
    "memory_bytes": 1 << 30,
    "cpus": 1,
    "cpu_ms": 30_000,
    "timeout_ms": 30_000,
    "pids": 128,
    "disk_bytes": 256 << 20,
    "disk_inodes": 65_536,
    "file_bytes": 256 << 20,
    "output_bytes": 10 << 20,
    "open_files": 1024,
}
ENFORCERS = {"cgroup v1", "cgroup v2", "rlimit", "engine", "affinity", "mount"}

ALWAYS = {
    "schema", "step", "parent", "session", "runtime", "status", "displays", "stdout", "stderr",
    "truncated", "exit_code", "signal", "state", "files", "tools", "usage", "limits",
}
SOMETIMES = {"value", "error", "run"}


def check_record(case, record):
    """Every field of @record has the type and the range that the contract gives it."""
    fields = {name for name in record if not name.startswith("_")}
    case.assertEqual(ALWAYS - fields, set(), "missing fields")
    case.assertEqual(fields - ALWAYS - SOMETIMES, set(), "fields that nobody promised")
    case.assertEqual(record["schema"], 1)
    case.assertRegex(record["step"], r"^[0-9a-f]{64}$")
    case.assertTrue(record["parent"] is None or re.match(r"^[0-9a-f]{64}$", record["parent"]))
    case.assertRegex(record["session"], r"^s-[a-z0-9]{4,}$")
    case.assertEqual(record["runtime"], "python")
    case.assertIn(record["status"], STATUSES)
    if "value" in record:
        check_mimes(case, record["value"])
    for display in record["displays"]:
        check_mimes(case, display)
    case.assertIsInstance(record["stdout"], str)
    case.assertIsInstance(record["stderr"], str)
    check_truncated(case, record["truncated"])
    check_error(case, record)
    check_end(case, record)
    for file in record["files"]:
        check_file(case, file)
    case.assertEqual([f["path"] for f in record["files"]], sorted(f["path"] for f in record["files"]))
    case.assertEqual(record["tools"], [])
    check_usage(case, record["usage"])
    check_limits(case, record["limits"])


def check_mimes(case, data):
    case.assertIsInstance(data, dict)
    case.assertTrue(data, "a value without any type is absent")
    for mime, value in data.items():
        case.assertRegex(mime, r"^[a-z]+/[!-~]+$")
        if mime.startswith("text/") or mime.startswith("image/"):
            case.assertIsInstance(value, str)


def check_truncated(case, truncated):
    case.assertLessEqual({"stdout_bytes", "stderr_bytes"}, set(truncated))
    for name in ("stdout_bytes", "stderr_bytes"):
        case.assertIsInstance(truncated[name], int)
        case.assertGreaterEqual(truncated[name], 0)
    if "invalid_utf8" in truncated:
        case.assertIs(truncated["invalid_utf8"], True, "absent is absent, not false")


def check_error(case, record):
    error = record.get("error")
    if record["status"] == "ok":
        case.assertIsNone(error)
        return
    case.assertIsNotNone(error, "what is not ok says why")
    case.assertLessEqual({"name", "message"}, set(error))
    case.assertLessEqual(set(error), {"name", "message", "line", "traceback"})
    case.assertIsInstance(error["name"], str)
    case.assertIsInstance(error["message"], str)
    if "line" in error:
        case.assertIsInstance(error["line"], int)
        case.assertGreater(error["line"], 0)
    for line in error.get("traceback", []):
        case.assertIsInstance(line, str)
        case.assertNotIn("\n", line)
        case.assertNotIn("/retort/", line, "the driver's own frames are not the user's")


def check_end(case, record):
    code, signal, state = record["exit_code"], record["signal"], record["state"]
    case.assertTrue(code is None or 0 <= code <= 255, code)
    case.assertTrue(signal is None or 1 <= signal <= 64, signal)
    case.assertEqual(set(state) - {"checkpoint"}, {"outcome", "reason"})
    case.assertIn(state["outcome"], OUTCOMES)
    if state["outcome"] == "lost":
        case.assertIsInstance(state["reason"], str)
    else:
        case.assertIsNone(state["reason"])
    if record["status"] == "ok":
        case.assertEqual(code, 0)
    if record["status"] == "error":
        case.assertNotEqual(code, 0)
        case.assertIsNone(signal)


def check_file(case, file):
    case.assertEqual(set(file), {"path", "change", "size", "mime"})
    case.assertFalse(file["path"].startswith("/"))
    case.assertIn(file["change"], CHANGES)
    case.assertGreaterEqual(file["size"], 0)
    case.assertRegex(file["mime"], r"^[a-z]+/[!-~]+$")


def check_usage(case, usage):
    case.assertLessEqual({"wall_ms", "cpu_ms", "memory_peak_bytes", "queued_ms"}, set(usage))
    for name, value in usage.items():
        case.assertIsInstance(value, (int, float), name)
        case.assertGreaterEqual(value, 0, name)
    case.assertIsInstance(usage["memory_peak_bytes"], int)


def check_limits(case, limits):
    """Every limit is there, with who enforces it, or the plain word that nobody does."""
    case.assertEqual(set(limits), set(DEFAULT_LIMITS))
    for name, row in limits.items():
        case.assertIsInstance(row["value"], (int, float) if name == "cpus" else int, name)
        case.assertIsInstance(row["enforced"], bool, name)
        if row["enforced"]:
            case.assertEqual(set(row), {"value", "enforced", "by"}, name)
            case.assertIn(row["by"], ENFORCERS, name)
        else:
            case.assertEqual(set(row), {"value", "enforced"}, name)
