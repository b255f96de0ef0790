# SPDX-License-Identifier: Apache-2.0
"""The kernel of Jupyter: what the cells of a notebook show, and what its client may ask."""

import json
import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import kernels  # noqa: E402

IDENTITY = "user"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class OneKernel(harness.Case):
    """Tests that share a kernel. Each leaves it as it was, but for variables."""

    options = ()
    name = "retort"

    @classmethod
    def setUpClass(cls):
        cls.k = kernels.Kernel(*cls.options, name=cls.name)
        cls.addClassCleanup(cls.k.close)


@kernels.needed
class Cells(OneKernel):
    def test_a_cell_shows_text_and_its_value(self):
        cell = self.k.run("print('a')\nimport sys; print('b', file=sys.stderr)\n6 * 7")
        self.assertEqual((cell.status, cell.result), ("ok", "42"))
        self.assertEqual((cell.text(), cell.text("stderr")), ("a\n", "b\n"))
        self.assertEqual(cell.all("execute_result")[0]["execution_count"], cell.reply["execution_count"])

    def test_text_comes_while_the_cell_runs(self):
        request = self.k.begin("print('first')\nwhile True: pass",
                               allow_stdin=False)
        while self.until(lambda: self.k.take(request))["msg_type"] != "stream":
            pass
        self.k.manager.interrupt_kernel()
        self.assertEqual(self.k.end(request).reply["ename"], "KeyboardInterrupt")

    def test_an_error_is_shown_once(self):
        cell = self.k.run("import sys; print('before', file=sys.stderr)\n1 / 0")
        self.assertEqual(cell.status, "error")
        self.assertEqual(cell.text("stderr"), "before\n")
        (error,) = cell.all("error")
        self.assertEqual((error["ename"], error["evalue"]), ("ZeroDivisionError", "division by zero"))
        self.assertEqual(error["traceback"], cell.reply["traceback"])
        self.assertIn("line 2", "\n".join(error["traceback"]))

    def test_a_traceback_that_the_program_prints_is_text(self):
        cell = self.k.run("import traceback\ntry:\n    1 / 0\nexcept ValueError:\n    pass\n"
                          "except ZeroDivisionError:\n    traceback.print_exc()")
        self.assertEqual((cell.status, cell.all("error")), ("ok", []))
        self.assertIn("ZeroDivisionError", cell.text("stderr"))

    def test_variables_stay(self):
        self.assertEqual(self.k.run("kept = 5").outputs, [])
        self.assertEqual(self.k.run("kept").result, "5")

    def test_displays_have_their_types(self):
        cell = self.k.run("from IPython.display import HTML, Image, display\nimport base64\n"
                          f"display(HTML('<b>x</b>'), Image(base64.b64decode('{PNG}')))")
        html, image = cell.all("display_data")
        self.assertEqual(html["data"]["text/html"], "<b>x</b>")
        self.assertEqual(image["data"]["image/png"].replace("\n", ""), PNG)

    def test_a_value_for_programs_does_not_hide_the_text(self):
        (shown,) = self.k.run("[1, 2]").all("execute_result")
        self.assertEqual(shown["data"], {"text/plain": "[1, 2]"})

    def test_a_display_is_updated_and_the_page_is_cleared(self):
        cell = self.k.run("from IPython.display import clear_output, display\nprint('old')\n"
                          "clear_output(wait=True)\nh = display(1, display_id='d')\nh.update(2)")
        self.assertEqual([kind for kind, _ in cell.outputs],
                         ["stream", "clear_output", "display_data", "update_display_data"])
        self.assertEqual(cell.all("clear_output"), [{"wait": True}])
        self.assertEqual([c["transient"]["display_id"] for kind, c in cell.outputs[2:]], ["d", "d"])

    def test_a_program_asks_for_input(self):
        cell = self.k.run("print('hello')\nname = input('Name? ')\nprint(name * 2)", answers=["ab"])
        # On a machine that is very slow, the question is shown as text.
        self.assertIn((self.k.questions, cell.text()),
                      [(["Name? "], "hello\nabab\n"), ([""], "hello\nName? abab\n")])
        cell = self.k.run("import getpass; getpass.getpass('Word: ')", answers=["xy"])
        self.assertEqual((len(self.k.questions), cell.result), (1, "'xy'"))

    def test_ctrl_d_ends_the_input(self):
        self.assertEqual(self.k.run("input()", answers=["\x04"]).reply["ename"], "EOFError")

    def test_a_client_that_answers_nothing_is_told_so(self):
        reply = self.k.run("input('x')").reply
        self.assertEqual(reply["ename"], "EOFError")
        self.assertIn("answers no questions", reply["traceback"][-1])

    def test_cells_after_an_error_are_not_run(self):
        requests = [self.k.begin(code, allow_stdin=False) for code in ("import time; time.sleep(.3); 1 / 0", "never = 1", "2")]
        self.assertEqual([self.k.end(r).status for r in requests], ["error", "aborted", "aborted"])
        self.assertEqual(self.k.run("'never' in globals()").result, "False")

    def test_cells_go_on_after_an_error_if_the_client_wants_that(self):
        first = self.k.begin("1 / 0", allow_stdin=False, stop_on_error=False)
        second = self.k.begin("8", allow_stdin=False)
        self.assertEqual([self.k.end(r).status for r in (first, second)], ["error", "ok"])

    def test_silent_cells_have_no_number_and_no_value(self):
        before = self.k.run("1").reply["execution_count"]
        cell = self.k.run("print('x')\n2", silent=True)
        self.assertEqual((cell.result, cell.text()), (None, "x\n"))
        self.assertEqual(self.k.run("3", store_history=False).result, "3")
        self.assertEqual(self.k.run("4").reply["execution_count"], before + 1)

    def test_an_empty_cell_has_no_number(self):
        before = self.k.run("1").reply["execution_count"]
        self.assertEqual(self.k.run(" \n").reply["execution_count"], before)

    def test_expressions_are_evaluated_after_the_cell(self):
        said = self.k.run("n = 3", user_expressions={"a": "n + 1", "b": "nope"}).reply["user_expressions"]
        self.assertEqual(said["a"]["data"], {"text/plain": "4"})
        self.assertEqual((said["b"]["status"], said["b"]["ename"]), ("error", "NameError"))
        self.assertEqual(self.k.run("1 / 0", user_expressions={"a": "1"}).reply["user_expressions"], {})

    def test_code_that_is_no_text_is_an_error(self):
        said = self.k.ask("execute_request", code=7)
        self.assertEqual((said["status"], said["ename"]), ("error", "usage"))

    def test_lines_of_a_notebook_work(self):
        self.assertEqual(self.k.run("!echo hello").text(), "hello\n")
        self.assertEqual(self.k.run("%%bash\necho from bash").text(), "from bash\n")
        self.assertEqual(self.k.run("%matplotlib inline").status, "ok")
        self.assertIn("Wall time", self.k.run("%time 1").text())

    def test_long_output_is_shown_from_head_to_tail(self):
        cell = self.k.run("for i in range(400_000): print('%029d' % i)")
        text = cell.text()
        self.assertTrue(text.startswith("%029d\n%029d\n" % (0, 1)))
        self.assertTrue(text.endswith("%029d\n" % 399_999), text[-200:])
        self.assertIn("bytes of stdout left out", cell.text("stderr"))

    def test_a_cell_without_memory_fails_alone(self):
        self.k.run("before = 1")
        cell = self.k.run("b = bytearray(3 << 30)\nfor i in range(0, len(b), 4096): b[i] = 1")
        self.assertEqual(cell.status, "error")
        self.assertEqual(self.k.run("before").result, "1")

    def test_a_cell_that_is_killed_is_rolled_back(self):
        self.k.run("before = 1")
        cell = self.k.run("import os\nbefore = 2\nos.kill(os.getpid(), 9)")
        self.assertEqual(cell.status, "error")
        self.assertIn("rolled back", cell.text("stderr"))
        self.assertEqual(self.k.run("before").result, "1")


@kernels.needed
class Commands(harness.Case):
    def test_undo_restores_variables_and_files(self):
        with kernels.Kernel() as k:
            k.run("x = 1")
            k.run("x = 2; open('f', 'w').write('x')", user_expressions={"a": "x"})
            k.run("1", silent=True)
            self.assertIn("f", k.run("%files").text().split())
            self.assertEqual(k.run("%undo").status, "ok")
            self.assertEqual(k.run("x").result, "1")
            self.assertEqual(k.run("%files").text(), "")
            self.assertEqual(k.run("%undo 2").status, "ok")
            self.assertEqual(k.run("x").reply["ename"], "NameError")

    def test_a_branch_leaves_the_session_as_it_is(self):
        with kernels.Kernel() as k:
            k.run("x = 1")
            self.assertEqual(k.run("%branch trial").status, "ok")
            k.run("x = 2")
            self.assertEqual(k.run("%switch main").status, "ok")
            self.assertEqual(k.run("x").result, "1")
            self.assertIn("* main", k.run("%switch").text())
            k.run("%switch trial")
            self.assertEqual(k.run("x").result, "2")
            self.assertIn("x = 2", k.run("%log").text())

    def test_other_commands(self):
        with kernels.Kernel() as k:
            self.assertIn("%undo", k.run("%help").text())
            k.run("%runtime javascript")
            self.assertEqual(k.run("[1, 2].length").result, "2")
            k.run("%runtime python")
            k.run("x = 1")
            k.run("%reset")
            self.assertEqual(k.run("x").reply["ename"], "NameError")
            for line, part in (("%get f", "for a terminal"), ("%undo x", "not a whole number"),
                               ("%runtime cobol", "cobol"), ("%switch nobody", "nobody")):
                said = k.run(line).reply
                self.assertEqual(said["status"], "error", line)
                self.assertIn(part, said["evalue"])


@kernels.needed
class Questions(OneKernel):
    def test_names_are_completed(self):
        self.k.run("import os; größe_x = 1")
        for text, match, start in (("zi", "zip", 0), ("x = os.path.isd", "isdir", 12), ("é = größ", "größe_x", 4),
                                   ("%und", "%undo", 0)):
            said = self.k.ask("complete_request", code=text, cursor_pos=len(text))
            self.assertIn(match, said["matches"], text)
            self.assertEqual((said["cursor_start"], said["cursor_end"]), (start, len(text)))
        self.assertEqual(self.k.ask("complete_request", code="qqqq", cursor_pos=4)["matches"], [])
        self.assertIn("zip", self.k.ask("complete_request", code="zi + 1", cursor_pos=2)["matches"])

    def test_names_are_explained(self):
        for code, at, is_found in (("zip", 3, True), ("zip(1, 2", 8, True), ("print(zip)", 8, True), ("nope", 4, False),
                                   ("", 0, False), ("1 + ", 4, False)):
            said = self.k.ask("inspect_request", code=code, cursor_pos=at, detail_level=0)
            self.assertEqual((said["status"], said["found"]), ("ok", is_found), code)
            self.assertEqual("zip" in said["data"].get("text/plain", ""), is_found, code)
        before = self.k.run("%log").text()
        self.k.ask("inspect_request", code="zip", cursor_pos=3, detail_level=1)
        self.assertEqual(self.k.run("%log").text(), before, "a question is no step")

    def test_code_is_complete_or_not(self):
        for code, status, indent in (("1", "complete", None), ("f(", "incomplete", ""), ("def f():", "incomplete", " " * 4),
                                     ("if x:\n    y", "incomplete", " " * 4), ("if x:\n    y\n", "complete", None)):
            said = self.k.ask("is_complete_request", code=code)
            self.assertEqual((said["status"], said.get("indent")), (status, indent), code)

    def test_history(self):
        for n in range(3):
            self.k.run(f"'history', {n}")
        last = self.k.run("'history', 2").reply["execution_count"]
        tail = self.k.ask("history_request", hist_access_type="tail", n=2, output=False, raw=True)["history"]
        self.assertEqual(tail, [[1, last - 1, "'history', 2"], [1, last, "'history', 2"]])
        found = self.k.ask("history_request", hist_access_type="search", pattern="'hist*2", n=9, unique=True, output=True,
                           raw=True)["history"]
        self.assertEqual(found, [[1, last, ["'history', 2", "('history', 2)"]]])
        some = self.k.ask("history_request", hist_access_type="range", session=0, start=last, stop=last + 1, output=False,
                          raw=True)["history"]
        self.assertEqual([row[1] for row in some], [last])
        self.assertEqual(self.k.ask("history_request", hist_access_type="range", session=7, start=0)["history"], [])

    def test_the_kernel_describes_itself(self):
        said = self.k.ask("kernel_info_request")
        self.assertEqual((said["status"], said["implementation"], said["language_info"]["name"]), ("ok", "retort", "python"))
        self.assertEqual(self.k.ask("comm_info_request"), {"status": "ok", "comms": {}})

    def test_a_widget_is_refused(self):
        for is_first in (True, False):
            message = self.k.client.session.msg("comm_open", {"comm_id": "c", "target_name": "jupyter.widget", "data": {}})
            self.k.client.shell_channel.send(message)
            said = []
            while not said or said[-1]["content"].get("execution_state") != "idle":
                said.append(self.until(lambda: self.k.take(message["header"]["msg_id"])))
            kinds = [m["msg_type"] for m in said if m["msg_type"] != "status"]
            self.assertEqual(kinds, ["stream", "comm_close"] if is_first else ["comm_close"])


@kernels.needed
class Control(harness.Case):
    def stop_loop(self, k, interrupt):
        k.run("kept = 5")
        request = k.begin("print('on', flush=True)\nwhile True: pass", allow_stdin=False)
        while self.until(lambda: k.take(request))["msg_type"] != "stream":
            pass
        interrupt()
        self.assertEqual(k.end(request).reply["ename"], "KeyboardInterrupt")
        self.assertEqual(k.run("kept").result, "5")

    def test_a_cell_is_interrupted(self):
        with kernels.Kernel() as k:
            self.stop_loop(k, k.manager.interrupt_kernel)
            self.stop_loop(k, lambda: os.kill(k.pid, signal.SIGINT))
            request = k.begin("input('?')", allow_stdin=True)
            while self.until(lambda: k.take(request))["msg_type"] != "input_request":
                pass
            k.manager.interrupt_kernel()
            self.assertEqual(k.end(request).reply["ename"], "KeyboardInterrupt")

    def test_a_kernel_is_restarted(self):
        with kernels.Kernel() as k:
            k.run("x = 1")
            k.client.stop_channels()
            k.manager.restart_kernel()
            k.connect()
            self.assertEqual(k.run("x").reply["ename"], "NameError")

    def test_nothing_is_left_after_the_end(self):
        for end in (lambda k: k.manager.shutdown_kernel(), lambda k: os.kill(k.pid, signal.SIGTERM)):
            with kernels.Kernel() as k:
                k.run("x = 1")
                k.begin("while True: pass")
                pid = k.pid
                self.assertIn(pid, harness.processes())
                end(k)
                self.until(lambda: self.is_gone(pid), "the kernel goes on")

    @staticmethod
    def is_listening(port):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0

    @staticmethod
    def is_gone(pid):
        of = harness.processes()
        return pid not in of or of[pid][2] == "Z"

    def test_a_kernel_ends_with_its_parent(self):
        with kernels.Kernel() as k:  # for its connection file, and a port that was free
            info = k.manager.get_connection_info()
        path = os.path.join(harness.make_dir(), "c.json")
        info["key"] = info["key"].decode()
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as f:
            json.dump(info, f)
        code = "import subprocess, sys\np = subprocess.Popen(sys.argv[1:])\nprint(p.pid, flush=True)\nsys.stdin.read()"
        parent = subprocess.Popen([sys.executable, "-c", code, harness.RETORT, "kernel", "-f", path], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, env=harness.environment({"JPY_PARENT_PID": "2"}))
        self.addCleanup(parent.communicate)
        pid = int(parent.stdout.readline())
        self.until(lambda: self.is_listening(info["shell_port"]))
        parent.kill()
        self.until(lambda: self.is_gone(pid), "the kernel outlives its parent")

    def test_two_kernels_are_apart(self):
        with kernels.Kernel() as a, kernels.Kernel() as b:
            a.run("x = 1; open('f', 'w').close()")
            self.assertEqual(b.run("import os; 'x' in globals(), os.listdir('.')").result, "(False, [])")

    def test_a_kernel_without_its_warden_ends(self):
        with kernels.Kernel() as k:
            k.run("x = 1")
            of, pid = harness.processes(), k.pid
            warden = next(pid for pid, (parent, name, *_) in of.items() if parent == k.pid and "warden" in name)
            os.kill(warden, signal.SIGKILL)
            # The first cells learn that the box, then the session has ended.
            self.until(lambda: k.begin("x", allow_stdin=False, stop_on_error=False) and self.is_gone(pid),
                       "a kernel that can run nothing goes on")


@kernels.needed
class Languages(harness.Case):
    def test_javascript(self):
        with kernels.Kernel("-r", "javascript", name="retort-javascript") as k:
            cell = k.run("console.log('a'); console.error('b'); [1, 2]")
            self.assertEqual((cell.text(), cell.text("stderr"), cell.result), ("a\n", "b\n", "[ 1, 2 ]"))
            cell = k.run("throw new TypeError('no')")
            self.assertEqual((cell.reply["ename"], cell.text("stderr")), ("TypeError", ""))
            self.assertIn("sqrt", k.ask("complete_request", code="Math.sq", cursor_pos=7)["matches"])

    @harness.needs_shell_or_sql
    def test_sql_and_shell(self):
        with kernels.Kernel("-r", "sql", name="retort-sql") as k:
            cell = k.run("select 1 as a")
            self.assertIn("<table>", str(cell.outputs))
            self.assertEqual(k.run("select * from nope").reply["ename"], "SQLError")
        with kernels.Kernel("-r", "shell", name="retort-shell") as k:
            self.assertEqual(k.run("read -r x; echo got $x", answers=["y"]).text(), "got y\n")
            self.assertEqual(k.run("false").status, "error")


class Starting(harness.Case):
    """Connection files and kernelspecs."""

    def write(self, mode=0o600, **changes):
        path = os.path.join(harness.make_dir(), "c.json")
        info = {"transport": "tcp", "ip": "127.0.0.1", "key": "k", "signature_scheme": "hmac-sha256"}
        for name in ("shell", "control", "stdin", "iopub", "hb"):
            with socket.create_server(("127.0.0.1", 0)) as s:
                info[name + "_port"] = s.getsockname()[1]
        info.update(changes)
        with open(path, "w", encoding="utf-8") as f:
            json.dump({k: v for k, v in info.items() if v is not None}, f)
        os.chmod(path, mode)
        return path

    def test_a_wrong_connection_file_is_refused(self):
        for changes, part in (({"transport": "udp"}, "transport"), ({"signature_scheme": "md5"}, "signature_scheme"),
                              ({"key": None}, "key"), ({"ip": ""}, "ip"), ({"hb_port": 0}, "hb_port"),
                              ({"shell_port": "1"}, "shell_port"), ({"ip": "no such host"}, "no such host"),
                              ({"key": "k" * 5000}, "key"), ({"ip": "192.0.2.1"}, "192.0.2.1")):
            done = harness.retort("kernel", "-f", self.write(**changes))
            self.assertEqual(done.status, 2, done)
            self.assertIn(part, done.err)

    def test_a_file_that_is_no_connection_file_is_refused(self):
        place = harness.make_dir()
        for name, data in (("empty", b""), ("text", b"hello"), ("list", b"[]"), ("bytes", b"\xff\xfe")):
            path = os.path.join(place, name)
            with open(path, "wb") as f:
                f.write(data)
            os.chmod(path, 0o600)
            self.assertEqual(harness.retort("kernel", "-f", path).status, 2, name)
        for path in (place, "/dev/null", os.path.join(place, "missing")):
            self.assertEqual(harness.retort("kernel", "-f", path).status, 2, path)
        self.assertIn("kernel install", harness.retort("kernel").err)

    def test_a_port_in_use_is_an_error(self):
        with socket.create_server(("127.0.0.1", 0)) as s:
            done = harness.retort("kernel", "-f", self.write(iopub_port=s.getsockname()[1]))
            self.assertEqual(done.status, 1, done)
            self.assertIn("in use", done.err)

    def test_a_kernelspec_is_installed(self):
        home = harness.make_dir()
        env = {"HOME": home, "XDG_DATA_HOME": "", "JUPYTER_DATA_DIR": ""}
        done = harness.retort("kernel", "install", "--name", "my.kernel", "--display-name", "Möin", "-m512m",
                              "--color=never", "-e", "A=--user", "-r", "javascript", env=env)
        path = os.path.join(home, ".local/share/jupyter/kernels/my.kernel/kernel.json")
        self.assertEqual((done.status, done.out), (0, path + "\n"))
        with open(path, encoding="utf-8") as f:
            spec = json.load(f)
        self.assertEqual(spec["argv"], [harness.RETORT, "kernel", "-f", "{connection_file}", "--timeout", "1h", "-m512m",
                                        "-e", "A=--user", "-r", "javascript"])
        self.assertEqual((spec["display_name"], spec["language"], spec["interrupt_mode"]), ("Möin", "javascript", "message"))

    def test_a_wrong_kernelspec_is_not_installed(self):
        for options in (("--name", "a/b"), ("--name", ""), ("--user", "--prefix", "/x"), ("-r", "cobol"), ("-m", "1"),
                        ("--nope",), ("operand",)):
            home = harness.make_dir()
            self.assertEqual(harness.retort("kernel", "install", *options, env={"HOME": home}).status, 2, options)
            self.assertEqual(os.listdir(home), [], options)

    @kernels.needed
    def test_sockets_with_a_path(self):
        with kernels.Kernel(transport="ipc") as k:
            self.assertEqual(k.run("6 * 7").result, "42")
            info = k.manager.get_connection_info()
            self.assertEqual(os.stat(f"{info['ip']}-{info['shell_port']}").st_mode & 0o077, 0)

    @kernels.needed
    def test_options_of_the_box_are_used(self):
        with kernels.Kernel("-e", "A=7", "--timeout", "1s") as k:
            self.assertEqual(k.run("import os; os.environ['A']").result, "'7'")
            self.assertEqual(k.run("while True: pass").status, "error")


if __name__ == "__main__":
    harness.main()
