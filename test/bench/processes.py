#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What programs that clients start in a session cost: their start, their output, a key that is echoed.

usage: processes.py RETORT [--rounds N] [--mib N]

Rows take turns, in rounds, and a ratio is taken within its round:
  start   process.start of /bin/true until process.wait has its status, beside bubblewrap and a bare fork and exec
  output  a program that writes N MiB, read by cat: through a plain pipe, through one cat and two cats between (what any
          relay costs here, and as many processes as ours), and through `retort exec`
  attach  the same, taken by process.attach with `hold`, beside a plain pipe
  key     a byte to a terminal in raw mode until its echo is there, beside a bare pty
Except for the rows of `output` and `retort exec -it`, the client is this Python. It parses no JSON of output.
"""

import argparse
import json
import os
import pty
import shutil
import subprocess
import tty

from bench import bubblewrap
from service import Client, Engine, calibration, clock_ms, median, p95, save

STARTS = 20  # of one round
KEYS = 100
ECHO = "import os, tty\ntty.setraw(0)\nos.write(1, b'!')\nwhile True: os.write(1, os.read(0, 1))"
PYTHON = "/usr/bin/python3"
CHUNK = 1 << 16
# What writes as much as a bench asks for: text, and bytes that are no text (events have them in base64).
TEXT = "yes 'a line of text, about as long as those of a log that a build writes: 0123456789' | head -c {}"
BYTES = "yes \"$(printf '\\377\\376')\" | head -c {}"


class Bare:
    """Without a box: fork, exec, a pipe, a pty."""

    name = "bare"

    def __init__(self):
        self.master = None

    def start_ms(self):
        start = clock_ms()
        pid = os.posix_spawn("/bin/true", ["true"], {})
        os.waitpid(pid, 0)
        return clock_ms() - start

    def output_ms(self, line, size):
        start = clock_ms()
        process = subprocess.Popen(["/bin/sh", "-c", line.format(size)], stdout=subprocess.PIPE, bufsize=0)
        got = 0
        while chunk := process.stdout.read(CHUNK):
            got += len(chunk)
        process.wait()
        if got != size:
            raise RuntimeError(f"{got} bytes of {size}")
        return clock_ms() - start

    def open_terminal(self):
        self.master, slave = pty.openpty()
        tty.setraw(slave)
        self.process = subprocess.Popen([PYTHON, "-I", "-c", ECHO], stdin=slave, stdout=slave)
        os.close(slave)
        os.read(self.master, 1)

    def key_ms(self):
        start = clock_ms()
        os.write(self.master, b"x")
        os.read(self.master, 1)
        return clock_ms() - start

    def close(self):
        self.process.kill()
        self.process.wait()


class Bubblewrap:
    name = "bubblewrap"

    def __init__(self):
        self.argv = bubblewrap("")[:-4] + ["/bin/true"]

    def start_ms(self):
        start = clock_ms()
        subprocess.run(self.argv, check=True)
        return clock_ms() - start


class Retort:
    name = "retort"

    def __init__(self, path, retort):
        self.path, self.retort = path, retort
        self.client = Client(path)
        self.session = self.client.create()
        self.client.run(self.session, "1")

    def call(self, client, method, **params):
        return client.timed(client.make(method, session=self.session, **params))

    def start_ms(self):
        request = self.client.make("process.start", session=self.session, argv=["/bin/true"])
        start = clock_ms()
        process = self.client.timed(request)[1]["process"]
        about = self.call(self.client, "process.wait", process=process)[1]
        took = clock_ms() - start
        if about["exit_code"] != 0:
            raise RuntimeError(about)
        return took

    def start_twice_ms(self):
        """Start and wait are sent together: the process has a name."""
        requests = [self.client.make("process.start", session=self.session, argv=["/bin/true"], name="true"),
                    self.client.make("process.wait", session=self.session, process="true")]
        return self.client.many(requests)[0]

    def output_ms(self, line, size, raw=False):
        client = Client(self.path)
        process = self.call(client, "process.start", command="read x; " + line.format(size), input=True, hold=True,
                            output_bytes=4 << 20)[1]["process"]
        client.socket.sendall(client.make("process.attach", session=self.session, process=process, stream=True, raw=raw))
        with client.socket, client.socket.makefile("rb", 1 << 20) as lines:
            start = clock_ms()
            self.call(self.client, "process.write", process=process, data="\n")
            while b'"method":"event"' in (last := lines.readline())[:64]:
                if b'"cut_bytes":' in last[:256]:
                    raise RuntimeError("output was lost")
                if b'"encoding":"raw"' in last[:256]:
                    lines.read(int(last[last.rindex(b":") + 1:-3]))
            took = clock_ms() - start
        if json.loads(last)["result"]["stdout_bytes"] != size:
            raise RuntimeError(last)
        return took

    def exec_argv(self, *options):
        return [self.retort, "exec", "--socket", self.path, *options, self.session, "--"]

    def open_terminal(self, raw=False):
        self.keys, self.echo = Client(self.path), Client(self.path)
        self.terminal = self.call(self.keys, "terminal.open", argv=[PYTHON, "-I", "-c", ECHO])[1]["process"]
        self.echo.socket.sendall(self.echo.make("process.attach", session=self.session, process=self.terminal, stream=True,
                                                raw=raw))
        while b'"output"' not in self.echo.line():
            pass

    def key_ms(self):
        request = self.keys.make("process.write", session=self.session, process=self.terminal, data="x")
        start = clock_ms()
        self.keys.socket.sendall(request)
        self.echo.line()
        took = clock_ms() - start
        self.keys.line()
        return took

    def close(self):
        self.call(self.client, "process.signal", process=self.terminal, signal="KILL")


class Raw(Retort):
    """The same with raw output. The echoed byte comes behind the line, in most cases together with it."""

    def open_terminal(self, raw=True):
        super().open_terminal(raw)
        self.take_byte()

    def take_byte(self):
        while not self.echo.rest:
            self.echo.rest = self.echo.socket.recv(1)
        self.echo.rest = self.echo.rest[1:]

    def key_ms(self):
        request = self.keys.make("process.write", session=self.session, process=self.terminal, data="x")
        start = clock_ms()
        self.keys.socket.sendall(request)
        self.echo.line()
        self.take_byte()
        took = clock_ms() - start
        self.keys.line()
        return took


class Typed(Bare):
    """A person at `retort exec -it`: keys go to a pty whose other side the command has."""

    def __init__(self, retort):
        super().__init__()
        self.argv = retort.exec_argv("-it") + [PYTHON, "-I", "-c", ECHO]

    def open_terminal(self):
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execv(self.argv[0], self.argv)
        os.set_inheritable(self.master, False)
        if os.read(self.master, 1) != b"!":
            raise RuntimeError("the terminal is not ready")

    def close(self):
        os.close(self.master)
        os.waitpid(self.pid, 0)


def table(title, samples, base, unit="ms"):
    """A row for each peer. Ratios are of the same round. p95: of times the long end, of rates the low one."""
    def far(values):
        return p95(values) if unit == "ms" else -p95([-v for v in values])

    print(f"\n{title}")
    print(f"  {'':24} {'median ' + unit:>11} {'p95 ' + unit:>11} {'ratio':>8} {'p95':>8} {'added':>9}")
    rows = []
    for name, values in samples.items():
        ratios = [v / b for v, b in zip(values, samples[base])]
        added = median([v - b for v, b in zip(values, samples[base])])
        print(f"  {name:24} {median(values):11.3f} {far(values):11.3f} {median(ratios):8.3f} {far(ratios):8.3f} {added:9.3f}")
        rows.append({"name": name, "median": median(values), "p95": far(values), "ratio_median": median(ratios),
                     "ratio_p95": far(ratios), "added_median": added, "samples": values})
    return {"title": title, "unit": unit, "baseline": base, "rows": rows}


def starts(bare, retort, rounds):
    rows = {"bare fork and exec": bare.start_ms, "retort": retort.start_ms, "retort, one request": retort.start_twice_ms}
    if shutil.which("bwrap"):
        bwrap = Bubblewrap()
        try:
            bwrap.start_ms()
            rows["bubblewrap"] = bwrap.start_ms
        except (OSError, subprocess.CalledProcessError) as e:
            print(f"  bubblewrap: cannot run here: {e}")
    else:
        print("  bubblewrap: not installed")
    samples = {name: [] for name in rows}
    for _ in range(rounds):
        for name, measure in rows.items():
            samples[name] += [measure() for _ in range(STARTS)]
    return table(f"start and end of /bin/true ({rounds} x {STARTS})", samples, "bare fork and exec")


def piped_ms(argv, n_between):
    """Run a program whose output goes through some cats to one that reads it."""
    start = clock_ms()
    chain = [subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)]
    for i in range(n_between + 1):
        out = subprocess.DEVNULL if i == n_between else subprocess.PIPE
        chain.append(subprocess.Popen(["cat"], stdin=chain[-1].stdout, stdout=out))
        chain[-2].stdout.close()
    if any([process.wait() for process in chain]):
        raise RuntimeError(argv)
    return clock_ms() - start


def outputs(what, line, retort, rounds, mib):
    argv = ["/bin/sh", "-c", line.format(mib << 20)]
    rows = {"a plain pipe": (argv, 0), "one cat between": (argv, 1), "two cats between": (argv, 2),
            "retort exec": (retort.exec_argv() + argv, 0)}
    rates = {name: [] for name in rows}
    for _ in range(rounds):
        for name, row in rows.items():
            rates[name].append(mib / (piped_ms(*row) / 1000))
    return table(f"{mib} MiB of {what} ({rounds} rounds; aim: a ratio of 0.7)", rates, "a plain pipe", unit="MiB/s")


def attached(what, line, bare, retort, rounds, mib):
    rows = {"a plain pipe": lambda: bare.output_ms(line, mib << 20),
            "attached, JSON": lambda: retort.output_ms(line, mib << 20),
            "attached, raw": lambda: retort.output_ms(line, mib << 20, raw=True)}
    rates = {name: [] for name in rows}
    for _ in range(rounds):
        for name, measure in rows.items():
            rates[name].append(mib / (measure() / 1000))
    return table(f"{mib} MiB of {what}, read by Python ({rounds} rounds)", rates, "a plain pipe", unit="MiB/s")


def keys(bare, retort, rounds):
    rows = {"a bare pty": bare, "socket, JSON": retort, "socket, raw": Raw(retort.path, retort.retort),
            "retort exec -it": Typed(retort)}
    samples = {name: [] for name in rows}
    for row in rows.values():
        row.open_terminal()
    for _ in range(rounds):
        for name, row in rows.items():
            samples[name] += [row.key_ms() for _ in range(KEYS)]
    for row in rows.values():
        row.close()
    return table(f"a key until its echo ({rounds} x {KEYS}; aim: 0.3 ms added)", samples, "a bare pty")


def main():
    parser = argparse.ArgumentParser(description="measure programs in a session")
    parser.add_argument("retort")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mib", type=int, default=1024)
    args = parser.parse_args()
    print(f"bare python3: {calibration():.1f} ms")
    with Engine(os.path.abspath(args.retort)) as client:
        bare, retort = Bare(), Retort(client.socket.getpeername(), os.path.abspath(args.retort))
        found = [starts(bare, retort, args.rounds), keys(bare, retort, args.rounds)]
        for what, line in ("text", TEXT), ("bytes that are no text", BYTES):
            found.append(outputs(what, line, retort, args.rounds, args.mib))
            found.append(attached(what, line, bare, retort, args.rounds, args.mib))
    save(args.retort, "processes", found)


if __name__ == "__main__":
    main()
