# SPDX-License-Identifier: Apache-2.0
"""An engine whose gate is the test (test/tool/gate.c), and code for a box that writes frames itself.

    with gate.Engine() as engine:
        s = engine.session()
        step = engine.start("step.run", session=s, code=gate.RAW + "put('crm.search', q=1)\\ntake()")
        call = engine.call()
        engine.answer(call, {"value": 42})
        record = engine.result(step)
"""

import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading

import boxes
import harness

# In a box: put() makes a call over the driver's channel, take() reads the next answer.
RAW = r"""
import json, os, socket, struct, sys
def _driver():
    f = sys._getframe()
    while not ('state' in f.f_globals and 'native' in f.f_globals):
        f = f.f_back
    return f.f_globals['state']
step = str(_driver().step.id)
channel = socket.socket(fileno=os.dup(_driver().channel))
channel.setblocking(True)
if 'last' not in globals(): last = 0
def frame(kind, data):
    channel.sendall(struct.pack('>IB', len(data) + 1, kind) + data)
def put(name, **arguments):
    global last
    last += 1
    frame(20, json.dumps({'id': step, 'call': last, 'name': name, 'arguments': arguments}).encode())
    return last
def _read(n):
    data = b''
    while len(data) < n:
        more = channel.recv(n - len(data))
        if not more: raise EOFError
        data += more
    return data
def take():
    length, kind = struct.unpack('>IB', _read(5))
    data = _read(length - 1)
    assert kind == 4, (kind, data)
    return json.loads(data)
def ask(name, **arguments):
    number = put(name, **arguments)
    answer = take()
    assert answer.pop('call') == number
    return answer
"""


def place(directory):
    """The tool beside retort's other parts, as they are found from there."""
    top = os.path.dirname(os.path.dirname(harness.RETORT))
    build = os.path.dirname(harness.RETORT)
    where = os.path.join(directory, "bin")
    os.mkdir(where)
    shutil.copy2(boxes.find("tool-gate", *boxes.TOOLS), where)
    for name in ("libexec", "share"):
        if os.path.isdir(os.path.join(top, name, "retort")):
            os.symlink(os.path.join(top, name), os.path.join(directory, name))
    for name in ("src", "drivers"):
        if os.path.isdir(os.path.join(build, name)):
            os.symlink(os.path.join(build, name), os.path.join(where, name))
    return os.path.join(where, "tool-gate")


class Refused(Exception):
    pass


class Engine:
    def __init__(self, state=None):
        self.dir = tempfile.mkdtemp(prefix="gate-", dir=harness.TMP)
        self.log = open(os.path.join(self.dir, "log"), "wb")
        self.process = subprocess.Popen(
            [place(self.dir), state or os.path.join(self.dir, "state")], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.log, env=harness.environment(), cwd=self.dir)
        self.last = 0
        self.results, self.events = {}, []
        self.calls, self.cancelled, self.looks = queue.Queue(), queue.Queue(), queue.Queue()
        self.heard = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        status = self.stop()
        if kind is None and status not in (0, -9):
            raise AssertionError(f"the engine ended with {status}: {self.said()}")

    def said(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as f:
            return f.read()

    def read(self):
        for text in self.process.stdout:
            line = json.loads(text)
            with self.heard:
                if "id" in line:
                    self.results[line["id"]] = line
                elif "event" in line:
                    self.events.append(line)
                elif "look" in line:
                    self.looks.put(line["tainted"])
                elif "cancel" in line:
                    self.cancelled.put(line["cancel"])
                else:
                    self.calls.put(line)
                self.heard.notify_all()
        with self.heard:
            self.results[None] = {}
            self.heard.notify_all()

    def say(self, line):
        self.process.stdin.write(json.dumps(line).encode() + b"\n")
        self.process.stdin.flush()

    def start(self, method, **params):
        """Begin an operation; result() waits for it."""
        self.last += 1
        self.say({"id": self.last, "method": method, "params": params})
        return self.last

    def result(self, number):
        with self.heard:
            if not self.heard.wait_for(lambda: number in self.results or None in self.results, harness.TIMEOUT_S):
                raise AssertionError("no answer")
            line = self.results.get(number)
        if line is None:
            raise AssertionError(f"the engine is gone: {self.said()}")
        if "error" in line:
            raise Refused(line["error"])
        return line["result"]

    def do(self, method, **params):
        return self.result(self.start(method, **params))

    def session(self, **params):
        return self.do("session.create", **params)["session"]

    def run(self, session, code, **params):
        """Start a step of code that can make calls."""
        return self.start("step.run", session=session, code=RAW + code, **params)

    def value(self, step):
        """The value of a step that must succeed, as an object."""
        record = self.result(step)
        if record["status"] != "ok":
            raise AssertionError(record)
        return record["value"].get("application/json", record["value"].get("text/plain"))

    def call(self):
        return self.calls.get(timeout=harness.TIMEOUT_S)

    def cancel(self):
        return self.cancelled.get(timeout=harness.TIMEOUT_S)

    def answer(self, call, answer, untrusted=False):
        self.say({"answer": call["call"], "with": answer, "untrusted": untrusted})

    def is_tainted(self, call):
        """As the call says it now."""
        self.say({"look": call["call"]})
        return self.looks.get(timeout=harness.TIMEOUT_S)

    def stop(self):
        """Its exit status; negative, the signal that ended it."""
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(harness.TIMEOUT_S)
        self.reader.join()
        self.process.stdout.close()
        self.log.close()
        if "Sanitizer" in self.said():
            raise AssertionError(self.said())
        return self.process.returncode

    def kill(self):
        self.process.kill()
        self.process.wait()
