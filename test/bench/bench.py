#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measure retort against what people use today, in the same run, interleaved.

usage: bench.py RETORT [--rounds N] [--only NAME]

Machines change speed within minutes, so the figures to quote are ratios: every round runs each peer
once, and a ratio is taken within its round. Raw data goes to build/bench/*.json beside RETORT. A peer
that is not installed, or cannot run here, is named and left out.
"""

import argparse
import datetime
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PYTHON = "/usr/bin/python3"
SPIN = (
    "import time\nt=time.perf_counter()\ns=0\n"
    "for i in range(3_000_000): s+=i*i\nprint(time.perf_counter()-t)"
)
SYSCALLS = (
    "import os,time\nfd=os.open('/dev/null',os.O_WRONLY)\nt=time.perf_counter()\n"
    "for i in range(300_000): os.write(fd,b'x')\nprint(time.perf_counter()-t)"
)
FILES = (
    "import os,time\nt=time.perf_counter()\n"
    "for i in range(20_000):\n f=os.open('f',os.O_CREAT|os.O_WRONLY); os.close(f); os.stat('f'); os.unlink('f')\n"
    "print(time.perf_counter()-t)"
)
FORKS = (
    "import os,time\nt=time.perf_counter()\n"
    "for i in range(300):\n p=os.fork()\n if p==0: os._exit(0)\n os.waitpid(p,0)\n"
    "print(time.perf_counter()-t)"
)


def bundle(directory, code):
    """An OCI bundle that runs bare python3 -c CODE with every namespace, for crun and runc."""
    os.makedirs(os.path.join(directory, "rootfs"), exist_ok=True)
    links = [(n, os.readlink("/" + n)) for n in ("bin", "lib", "lib64", "sbin") if os.path.islink("/" + n)]
    for name, target in links:
        if not os.path.lexists(os.path.join(directory, "rootfs", name)):
            os.symlink(target, os.path.join(directory, "rootfs", name))
    config = {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False, "user": {"uid": 0, "gid": 0}, "cwd": "/tmp",
            "args": [PYTHON, "-I", "-c", code], "env": ["PATH=/usr/bin:/bin"], "noNewPrivileges": True,
        },
        "root": {"path": "rootfs", "readonly": True},
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["mode=755"]},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"},
            {"destination": "/usr", "type": "bind", "source": "/usr", "options": ["rbind", "ro"]},
            {"destination": "/etc", "type": "bind", "source": "/etc", "options": ["rbind", "ro"]},
        ],
        "linux": {"namespaces": [{"type": t} for t in ("pid", "network", "ipc", "uts", "mount")]},
    }
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f)
    return directory


def bubblewrap(code):
    argv = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc",
            "/etc", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/tmp"]
    for name in ("bin", "lib", "lib64", "sbin"):
        if os.path.islink("/" + name):
            argv += ["--symlink", os.readlink("/" + name), "/" + name]
    return [*argv, PYTHON, "-I", "-c", code]


def peers(retort, code, where):
    """name → command line, for those that are here. The first is what the others are compared with."""
    found = {"bare python3 -I": [PYTHON, "-I", "-c", code], "retort run": [retort, "run", "-c", code]}
    if shutil.which("bwrap"):
        found["bubblewrap"] = bubblewrap(code)
    for runtime in ("crun", "runc"):
        if shutil.which(runtime) and os.geteuid() == 0:
            directory = bundle(os.path.join(where, runtime), code)
            found[runtime] = [runtime, "run", "--bundle", directory, f"bench-{runtime}-{os.getpid()}"]
    for name in list(found):
        done = subprocess.run(found[name], capture_output=True, check=False, cwd=where)
        if done.returncode != 0:
            why = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no message"]
            print(f"  {name}: cannot run here: {why[0]}")
            del found[name]
    return found


def wall_ms(argv, where):
    start = time.perf_counter()
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, cwd=where)
    return (time.perf_counter() - start) * 1000


def inside_ms(argv, where):
    """What the program itself measured: start and end of the sandbox do not count."""
    done = subprocess.run(argv, capture_output=True, check=True, cwd=where)
    return float(done.stdout.split()[0]) * 1000


def p95(values):
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.95))]


def compare(title, commands, measure, rounds, where):
    print(f"\n{title} ({rounds} rounds)")
    samples = {name: [] for name in commands}
    for _ in range(rounds):
        for name, argv in commands.items():
            samples[name].append(measure(argv, where))
    first = next(iter(commands))
    rows = []
    print(f"  {'':20} {'median ms':>10} {'p95 ms':>10} {'ratio':>8} {'p95':>8} {'added ms':>9}")
    for name, values in samples.items():
        ratios = [v / base for v, base in zip(values, samples[first])]
        added = [v - base for v, base in zip(values, samples[first])]
        row = {
            "name": name, "median_ms": statistics.median(values), "p95_ms": p95(values),
            "ratio_median": statistics.median(ratios), "ratio_p95": p95(ratios),
            "added_median_ms": statistics.median(added), "samples_ms": values,
        }
        rows.append(row)
        print(f"  {name:20} {row['median_ms']:10.2f} {row['p95_ms']:10.2f} {row['ratio_median']:8.3f} "
              f"{row['ratio_p95']:8.3f} {row['added_median_ms']:9.2f}")
    spread = statistics.quantiles(samples[first], n=4)
    print(f"  noise of {first}: quartiles {spread[0]:.2f} to {spread[2]:.2f} ms")
    return {"title": title, "rounds": rounds, "baseline": first, "peers": rows}


def memory_kib(pid):
    """Private and proportional memory of one process."""
    found = {}
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as f:
        for line in f:
            parts = line.split()
            if parts[0] in ("Pss:", "Rss:", "Private_Dirty:"):
                found[parts[0][:-1].lower()] = int(parts[1])
    return found


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
            return [int(p) for p in f.read().split()]
    except OSError:
        return []


def measure_memory(retort, where):
    """engine, warden and init while a program sleeps in its box."""
    print("\nmemory while a box is open (KiB)")
    engine = subprocess.Popen([retort, "run", "-c", "import time; time.sleep(60)"], cwd=where,
                              stderr=subprocess.DEVNULL)
    rows = []
    try:
        time.sleep(1.0)
        warden = children(engine.pid)
        init = children(warden[0]) if warden else []
        driver = children(init[0]) if init else []
        for name, pids in (("engine", [engine.pid]), ("warden", warden), ("init", init), ("driver (python)", driver)):
            for pid in pids[:1]:
                try:
                    row = {"name": name, **memory_kib(pid)}
                except OSError as e:
                    row = {"name": name, "error": e.strerror}
                rows.append(row)
                print("  {:20} {}".format(name, "  ".join(f"{k} {v}" for k, v in row.items() if k != "name")))
    finally:
        engine.terminate()
        engine.wait()
    return {"title": "memory", "rows": rows}


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        cpu = next((line.split(":")[1].strip() for line in f if line.startswith("model name")), "?")
    return {
        "cpu": cpu, "cpus": os.cpu_count(), "kernel": platform.release(),
        "date": datetime.datetime.now().isoformat(timespec="seconds"), "root": os.geteuid() == 0,
        "load": os.getloadavg(), "locked_kib": resource.getrlimit(resource.RLIMIT_MEMLOCK)[0],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("retort")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    retort = os.path.abspath(args.retort)
    out_dir = os.path.join(os.path.dirname(retort), "bench")
    os.makedirs(out_dir, exist_ok=True)
    # In memory, as a box's workspace is: else the peers would be compared by their disks.
    with tempfile.TemporaryDirectory(prefix="retort-bench-", dir="/dev/shm") as where:
        few = max(args.rounds // 8, 3)
        plans = {
            "cold": ("cold start: print(1+1)", "print(1+1)", wall_ms, args.rounds),
            "pandas": ("cold start: import pandas", "import pandas", wall_ms, few),
            "cpu": ("CPU-bound loop, measured inside", SPIN, inside_ms, few),
            "syscalls": ("300,000 writes to /dev/null, measured inside", SYSCALLS, inside_ms, few),
            "files": ("20,000 files made, looked at and removed, measured inside", FILES, inside_ms, few),
            "forks": ("300 forks of python, measured inside", FORKS, inside_ms, few),
        }
        results = {"machine": machine()}
        for name, (title, code, measure, rounds) in plans.items():
            if args.only in name:
                results[name] = compare(title, peers(retort, code, where), measure, rounds, where)
        if args.only in "memory":
            results["memory"] = measure_memory(retort, where)
    path = os.path.join(out_dir, datetime.datetime.now().strftime("%Y%m%d-%H%M%S.json"))
    with open(path, "w", encoding="utf-8") as f:
        json.dump(results, f, indent=1)
    print(f"\nraw data: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
