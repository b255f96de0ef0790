# SPDX-License-Identifier: Apache-2.0
"""The Python clients of E2B, e2b and e2b-code-interpreter: every call, by the ordinary and by the asynchronous class.

usage: e2b_python.py URL KEY
"""

import asyncio
import os
import sys
import time
import urllib.error
import urllib.request

from checks import LOOP, TOKEN, URL, check

# E2B's clients read these when they are imported.
os.environ.update(E2B_API_URL=URL, E2B_SANDBOX_URL=URL, E2B_API_KEY=TOKEN or "e2b_" + "0" * 40)

import e2b  # noqa: E402
import e2b_code_interpreter as interpreter  # noqa: E402

BAR_CHART = "import matplotlib.pyplot as plt\nplt.bar(['a', 'b'], [1, 2])\nplt.title('t')\nplt.show()"


def http(url, body=None, headers=None):
    """(status, bytes) as an ordinary HTTP client gets them, which knows nothing of E2B."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers or {}), timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def form(content):
    """The body and the headers of an upload by a form with one file."""
    head = b'--between-the-fields\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'
    body = head + content + b"\r\n--between-the-fields--\r\n"
    return body, {"Content-Type": "multipart/form-data; boundary=between-the-fields"}


class Await:
    """Makes the objects of the asynchronous classes usable as the others are: each awaitable is waited for."""

    def __init__(self, of):
        self.of = of

    def __getattr__(self, name):
        found = getattr(self.of, name)
        if callable(found) and not isinstance(found, type):
            return lambda *args, **kwargs: called(found, *args, **kwargs)
        return waited(found)


def called(function, *args, **kwargs):
    """Within the loop, as some functions start a task."""
    async def call():
        found = function(*args, **kwargs)
        return await found if asyncio.iscoroutine(found) else found
    return waited(LOOP.run_until_complete(call()))


def waited(found):
    if asyncio.iscoroutine(found):
        found = LOOP.run_until_complete(found)
    if isinstance(found, list):
        return [waited(x) for x in found]
    return Await(found) if type(found).__module__.startswith(("e2b.sandbox_async", "e2b_code_interpreter.code_interpreter_async")) else found


def raises(kinds, call):
    """Does @call raise an exception of one of @kinds? Any other exception goes on."""
    try:
        call()
    except kinds as error:
        return type(error).__name__ + ": " + str(error)
    return None


def raised(error):
    raise error


def pause(seconds):
    """A wait in which the asynchronous clients can receive."""
    LOOP.run_until_complete(asyncio.sleep(seconds))


def until(condition, seconds=15):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        pause(0.1)
    return condition()


class Calls:
    """All calls of one of the two kinds of classes."""

    def __init__(self, kind, plain, code, is_async):
        self.kind, self.plain, self.code, self.is_async = kind, plain, code, is_async
        self.box = None

    def check(self, name, call, is_good):
        check(f"{self.kind}: {name}", call, is_good)

    def run(self):
        self.check("create", self.create, lambda x: x)
        if self.box is None:
            return
        for part in (self.sandboxes, self.commands, self.input, self.terminals, self.files, self.large_files, self.watches, self.urls,
                     self.run_code, self.contexts, self.network, self.snapshots, self.pauses, self.ends):
            try:
                part()
            except Exception as error:  # noqa: BLE001
                self.check(part.__name__, lambda error=error: raised(error), lambda x: False)

    def create(self):
        self.box = waited(self.code.create(timeout=300, metadata={"user": "a b"}, envs={"GREETING": "hello"}))
        return self.box.sandbox_id

    def list(self, **query):
        return waited(self.plain.list(query=e2b.SandboxQuery(**query))).next_items()

    def sandboxes(self):
        box = self.box
        self.check("is_running", box.is_running, lambda x: x is True)
        self.check("get_info", box.get_info, lambda x: x.sandbox_id == box.sandbox_id and x.metadata == {"user": "a b"} and
                   x.state == e2b.SandboxState.RUNNING and x.end_at > x.started_at)
        self.check("list", lambda: self.list(metadata={"user": "a b"}), lambda x: box.sandbox_id in [s.sandbox_id for s in x])
        self.check("list, no such metadata", lambda: self.list(metadata={"user": "ab"}), lambda x: x == [])
        self.check("connect", lambda: waited(self.plain.connect(box.sandbox_id)).commands.run("echo $GREETING").stdout,
                   lambda x: x == "hello\n")
        self.check("connect, no such sandbox", lambda: raises(e2b.NotFoundException, lambda: waited(self.plain.connect("inosuchsandbox"))),
                   lambda x: x)
        self.check("set_timeout", lambda: (box.set_timeout(3600), box.get_info())[1], lambda x: (x.end_at - x.started_at).total_seconds() > 3000)
        self.check("get_metrics", lambda: until(box.get_metrics), lambda x: x[0].mem_total > 0 and x[0].cpu_count > 0)
        self.check("get_host", lambda: waited(box.get_host(3000)), lambda x: x.startswith(f"3000-{box.sandbox_id}."))
        self.check("a template by name", self.template, lambda x: x == "user\n")
        self.check("no such template", lambda: raises(e2b.SandboxException, lambda: waited(self.plain.create("no-such-template-here"))),
                   lambda x: x and "template" in x)
        if TOKEN:
            self.check("a wrong key", lambda: raises(e2b.AuthenticationException, lambda: waited(self.plain.create(api_key="e2b_" + "9" * 40))),
                       lambda x: x)

    def template(self):
        box = waited(self.plain.create("base", timeout=60))
        try:
            return box.commands.run("whoami").stdout
        finally:
            box.kill()

    def commands(self):
        run, heard = self.box.commands.run, []
        self.check("run", lambda: run("echo out; echo err >&2"), lambda x: (x.stdout, x.stderr, x.exit_code) == ("out\n", "err\n", 0))
        self.check("run, exit status", lambda: raises(e2b.CommandExitException, lambda: run("echo a; exit 7")), lambda x: x and "7" in x)
        self.check("run, envs and cwd", lambda: run('echo "$A $GREETING"; pwd', envs={"A": "b"}, cwd="/tmp"), lambda x: x.stdout == "b hello\n/tmp\n")
        self.check("run, no such cwd", lambda: raises(e2b.SandboxException, lambda: run("true", cwd="/no/such")), lambda x: x and "/no/such" in x)
        self.check("run, text in several bytes", lambda: run("printf 'žluť %.0s' $(seq 20000)"), lambda x: x.stdout == "žluť " * 20000)
        self.check("run, streamed", lambda: (run("for i in 1 2 3; do echo $i; sleep 0.2; done", on_stdout=heard.append), heard)[1],
                   lambda x: "".join(x) == "1\n2\n3\n" and len(x) > 1)
        self.check("run, timeout", lambda: raises(e2b.TimeoutException, lambda: run("sleep 60", timeout=1)), lambda x: x)
        self.check("run, no timeout", lambda: run("sleep 1; echo a", timeout=0), lambda x: x.stdout == "a\n")
        self.check("run, background", lambda: run("sleep 1; echo a; exit 3", background=True),
                   lambda x: raises(e2b.CommandExitException, x.wait) and x.pid > 0)
        handle = run("sleep 300", background=True)
        self.check("list of commands", self.box.commands.list, lambda x: handle.pid in [p.pid for p in x])
        self.check("kill of a command", lambda: (handle.kill(), raises(e2b.CommandExitException, handle.wait)), lambda x: x[0] is True and x[1])
        self.check("kill, no such command", lambda: self.box.commands.kill(999999), lambda x: x is False)
        self.check("connect to a command", self.reconnect, lambda x: "later" in x)
        self.check("connect, no such command", lambda: raises(e2b.NotFoundException, lambda: self.box.commands.connect(999999)), lambda x: x)

    def reconnect(self):
        """A command outlives the connection of whoever has started it."""
        first = self.box.commands.run("sleep 2; echo later", background=True)
        first.disconnect()
        return self.box.commands.connect(first.pid).wait().stdout

    def input(self):
        commands = self.box.commands

        def lines():
            handle = commands.run("read a; read b; echo $b $a", background=True, stdin=True)
            commands.send_stdin(handle.pid, "one\n")
            commands.send_stdin(handle.pid, "two\n")
            return handle.wait().stdout

        def end():
            handle = commands.run("cat; echo end", background=True, stdin=True)
            commands.send_stdin(handle.pid, "one\n")
            commands.close_stdin(handle.pid)
            return handle.wait().stdout

        def stream():
            handle = commands.run("read a; read b; echo $b $a", background=True, stdin=True)
            if self.is_async:
                stream = commands.stream_input(handle.pid)
                stream.send("one\n")
                stream.send(b"two\n")
                stream.close()
            else:
                commands.stream_input(handle.pid, (x for x in ("one\n", b"two\n")))
            return handle.wait().stdout

        commands_class = type(getattr(commands, "of", commands))
        self.check("send_stdin", lines, lambda x: x == "two one\n")
        if hasattr(commands_class, "close_stdin"):
            self.check("close_stdin", end, lambda x: x == "one\nend\n")
        if hasattr(commands_class, "stream_input"):
            self.check("stream_input", stream, lambda x: x == "two one\n")
        self.check("send_stdin, no such command", lambda: raises(e2b.NotFoundException, lambda: commands.send_stdin(999999, "a")), lambda x: x)

    def terminals(self):
        pty = self.box.pty

        def session():
            heard = []
            size = e2b.PtySize(rows=30, cols=90)
            if self.is_async:
                handle = pty.create(size, on_data=lambda data: heard.append(bytes(data)), envs={"MARK": "m"})
            else:
                handle = pty.create(size, envs={"MARK": "m"})
            pty.send_stdin(handle.pid, b"stty size; echo $MARK-$TERM\n")
            pause(1)
            pty.resize(handle.pid, e2b.PtySize(rows=40, cols=100))
            pty.send_stdin(handle.pid, b"stty size; exit 0\n")
            if self.is_async:
                handle.wait()
            else:
                handle.wait(on_pty=lambda data: heard.append(bytes(data)))
            return b"".join(heard)

        def killed():
            handle = pty.create(e2b.PtySize(24, 80), **({"on_data": lambda data: None} if self.is_async else {}))
            return pty.kill(handle.pid), pty.kill(999999)

        self.check("a terminal", session, lambda x: all(part in x for part in (b"30 90", b"m-xterm-256color", b"40 100")))
        self.check("kill of a terminal", killed, lambda x: x == (True, False))

    def files(self):
        files = self.box.files
        self.check("write", lambda: files.write("a/b.txt", "text"), lambda x: (x.path, x.name) == ("/home/user/a/b.txt", "b.txt"))
        self.check("read", lambda: files.read("a/b.txt"), lambda x: x == "text")
        self.check("read, bytes", lambda: files.read("/home/user/a/b.txt", format="bytes"), lambda x: bytes(x) == b"text")
        self.check("read, no such file", lambda: raises(e2b.NotFoundException, lambda: files.read("none")), lambda x: x)
        self.check("write, empty", lambda: (files.write("empty", ""), files.read("empty"))[1], lambda x: x == "")
        self.check("write, awkward name", lambda: (files.write('ž "q"+ &.txt', "1"), files.read('ž "q"+ &.txt'))[1], lambda x: x == "1")
        self.check("write_files", lambda: files.write_files([{"path": f"many/{i}", "data": f"{i}" * i} for i in range(30)]),
                   lambda x: [f.path for f in x] == [f"/home/user/many/{i}" for i in range(30)])
        self.check("list", lambda: files.list("many"), lambda x: len(x) == 30 and x[0].path.startswith("/home/user/many/"))
        self.check("list, two levels", lambda: files.list("/home/user", depth=2), lambda x: "/home/user/a/b.txt" in [e.path for e in x])
        self.check("list, no such directory", lambda: raises(e2b.NotFoundException, lambda: files.list("none")), lambda x: x)
        self.check("get_info", lambda: files.get_info("a/b.txt"), lambda x: (x.name, x.size, x.owner, x.permissions) == ("b.txt", 4, "user", "-rw-r--r--"))
        self.check("exists", lambda: (files.exists("a/b.txt"), files.exists("none")), lambda x: x == (True, False))
        self.check("make_dir", lambda: (files.make_dir("d/e"), files.make_dir("d/e")), lambda x: x == (True, False))
        self.check("rename", lambda: (files.rename("a/b.txt", "d/c.txt").path, files.exists("a/b.txt"), files.read("d/c.txt")),
                   lambda x: x == ("/home/user/d/c.txt", False, "text"))
        self.check("remove", lambda: (files.remove("d"), files.exists("d")), lambda x: x == (None, False))
        self.check("files of commands", lambda: (self.box.commands.run("echo 1 > by-a-command"), files.read("by-a-command"))[1], lambda x: x == "1\n")
        self.check("metadata", lambda: (files.write("m", "1", metadata={"k": "v"}).metadata, files.get_info("m").metadata), lambda x: x == ({"k": "v"}, {"k": "v"}))

    def large_files(self):
        files, data = self.box.files, os.urandom(3 << 20)
        self.check("write, 3 MiB", lambda: (files.write("big", data), bytes(files.read("big", format="bytes")) == data)[1], lambda x: x)
        self.check("write, gzip", lambda: (files.write("zip", b"ab" * 100000, gzip=True), files.get_info("zip").size)[1], lambda x: x == 200000)
        self.check("read, gzip", lambda: files.read("zip", gzip=True), lambda x: x == "ab" * 100000)
        self.check("write, octets", lambda: (files.write("octets", data, use_octet_stream=True), files.get_info("octets").size)[1],
                   lambda x: x == len(data))

    def watches(self):
        files, heard = self.box.files, []

        def watch(**options):
            """The events of a file that is written to, named, permitted and removed."""
            heard.clear()
            files.make_dir("watched/below")
            handle = files.watch_dir("watched", **({"on_event": heard.append} if self.is_async else {}), **options)
            where = "watched/below" if options else "watched"
            self.box.commands.run(f"cd {where}; echo 1 > a; chmod 600 a; mv a b; rm b; mkdir new; sleep 1; echo 1 > new/deep; sleep 0.2")
            if self.is_async:
                until(lambda: sum(e.type == e2b.FilesystemEventType.REMOVE for e in heard))
            else:
                until(lambda: heard.extend(handle.get_new_events()) or sum(e.type == e2b.FilesystemEventType.REMOVE for e in heard))
            handle.stop()
            return [(e.name, e.type.value) for e in heard]

        self.check("watch_dir", watch, lambda x: {("a", "create"), ("a", "write"), ("a", "chmod"), ("a", "rename"), ("b", "remove")} <= set(x))
        self.check("watch_dir, recursive", lambda: watch(recursive=True), lambda x: {("below/a", "create"), ("below/new/deep", "create")} <= set(x))
        self.check("watch_dir, no such directory", lambda: raises(e2b.NotFoundException, lambda: files.watch_dir("none", **({"on_event": print} if self.is_async else {}))),
                   lambda x: x)

    def urls(self):
        box = self.box
        self.check("upload_url", lambda: http(box.upload_url("signed.txt"), *form(b"by a form")), lambda x: x[0] == 200)
        self.check("download_url", lambda: http(box.download_url("signed.txt")), lambda x: x == (200, b"by a form"))
        self.check("download_url, expires", lambda: http(box.download_url("signed.txt", use_signature_expiration=60)), lambda x: x == (200, b"by a form"))
        self.check("download_url, expired", lambda: http(box.download_url("signed.txt", use_signature_expiration=-10)), lambda x: x[0] == 401)
        self.check("download_url, another file", lambda: http(box.download_url("signed.txt").replace("signed.txt", "empty")), lambda x: x[0] == 401)

    def run_code(self):
        run, heard = self.box.run_code, []
        self.check("run_code", lambda: run("x = 20\nprint('a')\nx + 1"), lambda x: (x.text, x.logs.stdout, x.error) == ("21", ["a\n"], None))
        self.check("run_code, state", lambda: run("x"), lambda x: x.text == "20")
        self.check("run_code, error", lambda: run("1/0"), lambda x: x.error.name == "ZeroDivisionError" and "division" in x.error.value and "Traceback" in x.error.traceback)
        self.check("run_code, stderr", lambda: run("import sys; print('e', file=sys.stderr)"), lambda x: x.logs.stderr == ["e\n"])
        self.check("run_code, envs", lambda: (run("import os; os.environ.get('A'), os.environ['GREETING']", envs={"A": "b"}).text, run("os.environ.get('A')").text),
                   lambda x: x == ("('b', 'hello')", None))
        self.check("run_code, callbacks", lambda: (run("import time\nprint(1); time.sleep(1); print(2)\n3", on_stdout=lambda m: heard.append(m.line),
                                                       on_result=lambda r: heard.append(r.text)), heard)[1], lambda x: x == ["1\n", "2\n", "3"])
        self.check("run_code, error callback", lambda: (run("raise ValueError('v')", on_error=lambda e: heard.append(e.name)), heard[-1])[1], lambda x: x == "ValueError")
        self.check("run_code, chart", lambda: run(BAR_CHART).results[0], lambda x: x.png and x.chart.type.value == "bar" and x.chart.title == "t" and
                   [(e.label, e.value) for e in x.chart.elements] == [("a", 1), ("b", 2)])
        self.check("run_code, a table", lambda: run("import pandas as pd\npd.DataFrame({'a': [1, 2]})").results[0], lambda x: x.html and x.data == {"a": [1, 2]})
        self.check("run_code, html", lambda: run("from IPython.display import HTML, display\ndisplay(HTML('<b>1</b>'))").results[0], lambda x: x.html == "<b>1</b>" and not x.is_main_result)
        self.check("run_code, timeout", lambda: (raises(e2b.TimeoutException, lambda: run("import time; time.sleep(60)", timeout=2)), run("1").text), lambda x: x[0] and x[1] == "1")
        self.check("run_code, javascript", lambda: run("const a = [1, 2]; console.log(a.length)", language="javascript"), lambda x: x.logs.stdout == ["2\n"])
        self.check("run_code, bash", lambda: run("echo $GREETING", language="bash"), lambda x: x.logs.stdout == ["hello\n"])
        self.check("run_code, files", lambda: (self.box.files.write("by-files", "1"), run("open('by-files').read()").text)[1], lambda x: x == "1")

    def contexts(self):
        box = self.box
        self.check("create_code_context", lambda: box.create_code_context(cwd="/tmp", language="python"), lambda x: x.id and (x.cwd, x.language) == ("/tmp", "python"))
        context = box.create_code_context(cwd="/tmp")
        self.check("run_code in a context", lambda: (box.run_code("y = 1; import os; os.getcwd()", context=context).text, box.run_code("y").error.name),
                   lambda x: x == ("/tmp", "NameError"))
        self.check("list_code_contexts", box.list_code_contexts, lambda x: context.id in [c.id for c in x])
        self.check("restart_code_context", lambda: (box.restart_code_context(context.id), box.run_code("y", context=context).error.name)[1], lambda x: x == "NameError")
        self.check("remove_code_context", lambda: (box.remove_code_context(context.id), context.id in [c.id for c in box.list_code_contexts()])[1], lambda x: x is False)
        self.check("a context that is gone", lambda: raises(e2b.NotFoundException, lambda: box.run_code("1", context=context)), lambda x: x)

    def network(self):
        def isolated():
            box = waited(self.plain.create(timeout=60, allow_internet_access=False))
            try:
                return raises(e2b.CommandExitException, lambda: box.commands.run("curl -s -m 5 http://1.1.1.1"))
            finally:
                box.kill()
        self.check("allow_internet_access", isolated, lambda x: x)
        self.check("update_network", lambda: self.box.update_network({"deny_out": ["0.0.0.0/0"]}), lambda x: x is None)
        self.check("network of a new sandbox", lambda: waited(self.plain.create(timeout=60, network={"deny_out": ["0.0.0.0/0"]})).kill(), lambda x: x is True)

    def snapshots(self):
        box = self.box

        def snapshot():
            box.files.write("kept", "1")
            made = box.create_snapshot()
            box.files.write("kept", "2")
            other = waited(self.plain.create(made.snapshot_id, timeout=60))
            try:
                return other.files.read("kept"), box.files.read("kept"), [s.snapshot_id for s in waited(box.list_snapshots()).next_items()].count(made.snapshot_id)
            finally:
                other.kill()
                waited(self.plain.delete_snapshot(made.snapshot_id))

        def fork():
            box.files.write("forked", "1")
            other = waited(box.fork(timeout=60)[0])
            try:
                other.files.write("forked", "2")
                return other.sandbox_id != box.sandbox_id, box.files.read("forked"), other.files.read("forked")
            finally:
                other.kill()

        self.check("a snapshot", snapshot, lambda x: x == ("1", "2", 1))
        self.check("delete_snapshot, no such snapshot", lambda: waited(self.plain.delete_snapshot("no-such:default")), lambda x: x is False)
        if hasattr(self.plain, "fork"):
            self.check("fork", fork, lambda x: x == (True, "1", "2"))

    def pauses(self):
        box = self.box

        def paused():
            handle = box.commands.run("sleep 300", background=True)
            box.pause()
            state = (box.is_running(), box.get_info().state.value, box.sandbox_id in [s.sandbox_id for s in self.list(state=[e2b.SandboxState.PAUSED])])
            box.connect(timeout=300)
            return (*state, box.is_running(), handle.pid in [p.pid for p in box.commands.list()], box.run_code("x").text)

        self.check("pause and connect", paused, lambda x: x == (False, "paused", True, True, True, "20"))

    def ends(self):
        box = self.box

        def expired():
            short = waited(self.plain.create(timeout=2))
            until(lambda: not short.is_running())
            return short.is_running(), raises(e2b.TimeoutException, lambda: short.commands.run("true"))

        self.check("the end of the time", expired, lambda x: x[0] is False and x[1])
        self.check("kill", box.kill, lambda x: x is True)
        self.check("kill, twice", box.kill, lambda x: x is False)
        self.check("is_running, killed", box.is_running, lambda x: x is False)
        self.check("run, killed", lambda: raises((e2b.TimeoutException, e2b.NotFoundException), lambda: box.commands.run("true")), lambda x: x)
        self.check("run_code, killed", lambda: raises((e2b.TimeoutException, e2b.NotFoundException), lambda: box.run_code("1")), lambda x: x)


Calls("sync", e2b.Sandbox, interpreter.Sandbox, is_async=False).run()
Calls("async", e2b.AsyncSandbox, interpreter.AsyncSandbox, is_async=True).run()
sys.stdout.flush()
os._exit(0)  # Some versions abort when the interpreter ends with a connection open.
