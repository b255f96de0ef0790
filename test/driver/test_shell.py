# SPDX-License-Identifier: Apache-2.0
"""The shell driver, spoken to directly: /usr/bin/python3 -I test_shell.py DRIVERS_DIR/python [unittest args]"""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = None
STEP, BYE, SETUP, NAMES, CHECKPOINT = 1, 5, 7, 8, 9
READY, BEGIN, GUARD, RESULT, DONE, STATE = 16, 17, 18, 21, 23, 24
STATE_MAX = 1 << 20


class Outcome:
    result = guard = done = None
    out = err = b""
    states = ()


class Driver:
    """A driver process, its channel, and files for its output."""

    def __init__(self, env=None, stdin=subprocess.DEVNULL):
        self.home = tempfile.TemporaryDirectory()
        self.files = [tempfile.TemporaryFile(), tempfile.TemporaryFile()]
        ours, theirs = socket.socketpair()
        environ = {"PATH": "/usr/bin:/bin", "HOME": self.home.name, "LANG": "C.UTF-8", "RETORT": "1"}
        environ.update(env or {})

        def place():
            os.dup2(theirs.fileno(), 3)

        self.process = subprocess.Popen(
            [PROGRAM], stdin=stdin, stdout=self.files[0], stderr=self.files[1], cwd=self.home.name,
            env=environ, pass_fds=[3], preexec_fn=place)
        theirs.close()
        self.channel = ours
        self.inbox = b""
        self.count = 0
        self.seen = [0, 0]
        self.ready = self.state = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        for file in self.files:
            file.close()
        self.home.cleanup()

    def send(self, kind, message=None):
        payload = b"" if message is None else json.dumps(message).encode()
        self.channel.sendall(struct.pack(">IB", len(payload) + 1, kind) + payload)

    def start(self, code, mode="session", **rest):
        self.count += 1
        self.id = "s%d" % self.count
        self.send(STEP, {"id": self.id, "code": code, "filename": "<step>", "argv": ["-c"],
                         "mode": mode, "value_bytes": 1000, **rest})

    def receive(self, wait):
        end = time.monotonic() + wait
        while len(self.inbox) < 5 or len(self.inbox) < struct.unpack(">I", self.inbox[:4])[0] + 4:
            self.channel.settimeout(max(end - time.monotonic(), 0.01))
            data = self.channel.recv(1 << 20)
            if not data:
                raise EOFError("the driver is gone: %r" % self.output()[1])
            self.inbox += data
        size = struct.unpack(">I", self.inbox[:4])[0]
        kind, payload = self.inbox[4], self.inbox[5:size + 4]
        self.inbox = self.inbox[size + 4:]
        return kind, json.loads(payload.decode("utf-8"))

    def output(self):
        texts = []
        for i, file in enumerate(self.files):
            texts.append(os.pread(file.fileno(), 1 << 28, self.seen[i]))
            self.seen[i] += len(texts[i])
        return texts

    def finish(self, wait=20, want=RESULT, at_begin=None):
        got, began, states = Outcome(), False, []
        while True:
            kind, message = self.receive(wait)
            if kind == READY:
                self.ready = message
                continue
            if message["id"] != self.id:
                raise AssertionError("frame of another step: %r" % message)
            if kind == BEGIN:
                began = True
                if at_begin:
                    at_begin()
            elif kind == STATE:
                states.append(message)
                self.state = message["state"]
            elif kind == RESULT:
                got.result = message
                if not began:
                    raise AssertionError("RESULT before BEGIN")
            elif kind == GUARD:
                got.guard = message
            elif kind == DONE:
                got.done = message
            if kind == want:
                break
        got.states = states
        got.out, got.err = self.output()
        return got

    def step(self, code, mode="session", wait=20, at_begin=None, **rest):
        self.start(code, mode, **rest)
        return self.finish(wait, at_begin=at_begin)

    def ask(self, kind, **message):
        self.id = "q"
        self.send(kind, {"id": "q", **message})
        return self.finish(want=DONE)


class Case(unittest.TestCase):
    def setUp(self):
        self.driver = Driver()
        self.step = self.driver.step
        self.addCleanup(self.driver.__exit__)

    def says(self, code, out, status=0, **rest):
        got = self.step(code, **rest)
        self.assertEqual(got.out.decode("utf-8", "surrogateescape"), out, (got.result, got.err))
        self.assertEqual(got.result["exit_code"], status, (got.result, got.err))
        self.assertEqual(got.result["status"], "error" if status else "ok")
        return got

    def lives(self):
        """The session still works and knows what `mark` was."""
        self.says('echo "mark=$mark"', "mark=m\n")


class Steps(Case):
    def test_ready_names_the_shell(self):
        self.says("echo hi", "hi\n")
        self.assertEqual(self.driver.ready["implementation"], "bash")
        self.assertRegex(self.driver.ready["version"], r"^\d+\.\d+\.\d+$")

    def test_all_carries_over(self):
        self.step("mkdir d; cd d; v=1; a=(1 'x y' 3); declare -A m=([k]=w); f() { echo f$1; }; alias l='echo L'\n"
                  "set -o pipefail; shopt -s nullglob; umask 077; trap 'echo usr' USR1; set -- p q")
        self.says('basename "$PWD"; echo $v "${a[1]}" ${m[k]} $#; f 2; l; umask', "d\n1 x y w 2\nf2\nL\n0077\n")
        self.says("false | true; echo $?; shopt -q nullglob && echo null; kill -USR1 $$", "1\nnull\nusr\n")

    def test_status_carries_over(self):
        got = self.says("(exit 7)", "", 7)
        self.assertEqual(got.result["error"]["name"], "ExitStatus")
        self.says("echo $?", "7\n")
        self.says("echo $?", "0\n")

    def test_jobs_carry_over(self):
        self.step("sleep 0.3 & job=$!; (exit 3) & other=$!")
        self.says("jobs -r | grep -c sleep; wait $other; echo $?; wait $job; echo $?", "1\n3\n0\n")

    def test_job_control_can_be_turned_on(self):
        self.says("set -m; sleep 0.1 & fg; echo $?", "sleep 0.1\n0\n")
        self.says("echo $-", "hmB\n")

    def test_messages_and_lines(self):
        got = self.step("echo a\n\nnosuch\necho $LINENO $0 ${BASH_SOURCE[0]}; echo $BASH_EXECUTION_STRING | wc -l")
        self.assertEqual(got.out, b"a\n4 bash bash\n1\n")
        self.assertEqual(got.err, b"bash: line 3: nosuch: command not found\n")
        self.step("true\nexit 1")
        self.says("\necho $LINENO", "2\n")
        self.says("echo $LINENO", "1\n")

    def test_lines_begin_at_one_whatever_was_asked_before(self):
        self.assertNotIn("error", self.driver.ask(SETUP, session="s-1").done)
        self.says("echo $LINENO", "1\n")
        self.driver.ask(NAMES, text="echo $HO")
        self.says("echo $LINENO", "1\n")
        state = self.step("a=1; exit 3").states[-1]["state"]
        other = Driver()
        self.addCleanup(other.__exit__)
        self.assertNotIn("error", other.ask(SETUP, state=state).done)
        self.assertEqual(other.step("nosuch").err, b"bash: line 1: nosuch: command not found\n")

    def test_no_number_of_a_process_is_shown(self):
        for code in ("for", "trap", "exit 3", "trap"):
            got = self.step(code)
            self.assertNotRegex(got.out + got.err, rb"/proc/\d")

    def test_syntax_error_has_its_line(self):
        for _ in range(2):
            got = self.says("echo a\nif true; then\n)\n", "a\n", 2)
            self.assertEqual((got.result["error"]["name"], got.result["error"]["line"]), ("SyntaxError", 3))
        self.says("cat <<X\nopen", "open\n")
        self.assertEqual(self.says("echo 'open", "", 2).result["error"]["name"], "SyntaxError")
        self.assertEqual(self.says("grep x /nosuch 2>/dev/null", "", 2).result["error"]["name"], "ExitStatus")

    def test_a_first_line_that_is_no_syntax(self):
        self.step("set -u; trap 'echo D' DEBUG; trap 'echo bye' EXIT")
        got = self.says("if then", "", 2)
        self.assertRegex(got.err, rb"^bash: (eval: )?line 1: syntax error near unexpected token `then'\n[^\n]* `if then'\n$")
        self.says("trap - DEBUG", "D\n")
        self.says("[[ $- == *u* ]] && trap -p EXIT | grep -c bye; echo $LINENO", "1\n1\n")

    def test_nul_is_refused(self):
        got = self.says("echo a\necho \0b", "", 2)
        self.assertEqual(got.result["error"]["line"], 2)
        self.assertIn("NUL", got.result["error"]["message"])

    def test_long_code(self):
        line = "x=0123456789012345678901234567890123456789\n"
        self.says(line * (10_000_000 // len(line)) + "echo ${#x}", "40\n", wait=60)

    def test_languages_constructs(self):
        self.says("diff <(echo a) <(echo a) && echo same; cat <<E\n$((1+1))\nE\nread x < <(echo r); echo $x", "same\n2\nr\n")
        self.says("coproc C { cat; }; echo to >&${C[1]}; read y <&${C[0]}; echo $y; kill $C_PID", "to\n")
        self.says("printf 'a\\0b' | od -An -c | tr -d ' '", "a\\0b\n")
        self.says("select x in a b; do echo got $x; break; done <<< 2 2>/dev/null", "got b\n")
        self.says("return 3 2>/dev/null", "", 2)
        self.says("for i in 1; do continue; done; break; echo on", "on\n")

    def test_standard_input_is_the_box_s(self):
        read, write = os.pipe()
        os.write(write, b"one\ntwo\n")
        os.close(write)
        with Driver(stdin=read) as driver:
            os.close(read)
            self.assertEqual(driver.step("read x; echo $x").out, b"one\n")
            self.assertEqual(driver.step("cat").out, b"two\n")

    def test_binary_output(self):
        got = self.step("printf '\\x00\\xff\\xfe'; head -c 100000000 /dev/zero; echo x >&2", wait=60)
        self.assertEqual((len(got.out), got.out[:3], got.err), (100000003, b"\x00\xff\xfe", b"x\n"))

    def test_environment(self):
        self.says("echo $RETORT $(env | grep -c BASH_EXEC) $(ls /proc/self/fd | wc -l)", "1 0 4\n")
        with Driver(env={"odd.name": "1"}) as driver:
            self.assertEqual(driver.step("env | grep odd").out, b"odd.name=1\n")

    def test_nothing_of_ours_is_left(self):
        self.says("echo $(ls -A /dev/shm | grep -c ^.retort); declare -F; alias; ls -A; echo ${OLDPWD-none}", "0\nnone\n")

    def test_guard_is_refused_and_state_comes_first(self):
        self.driver.start("x=1", checkpoint=True)
        self.driver.send(CHECKPOINT, {"id": self.driver.id})
        got = self.driver.finish(want=GUARD)
        self.assertEqual(got.guard.pop("pid"), int(self.step("echo $$").out))
        self.assertEqual(got.guard, {"id": "s1", "reason": "runtime"})
        self.assertIn('x="1"', got.states[0]["state"])
        self.driver.start("true", checkpoint=True)
        self.driver.send(CHECKPOINT, {"id": self.driver.id})
        self.assertEqual(self.driver.finish(want=GUARD).states, [])

    def test_names(self):
        self.step("func_one() { :; }; var_one=1; touch file_one 'file two'")
        self.assertEqual(self.driver.ask(NAMES, text="ls; func_o").done["names"], ["func_one"])
        self.assertEqual(self.driver.ask(NAMES, text="echo $var_o").done["names"], ["var_one"])
        self.assertEqual(sorted(self.driver.ask(NAMES, text="cat fil").done["names"]), ["file two", "file_one"])
        self.assertLessEqual(len(self.driver.ask(NAMES, text="").done["names"]), 200)
        self.assertEqual(self.driver.ask(NAMES, text="echo '; touch oops; '").done["names"][:1], ["file two"][:0] or
                         self.driver.ask(NAMES, text="cat ").done["names"][:1])
        self.says("ls", "file two\nfile_one\n")


class Ends(Case):
    """What ends a step ends the step only."""

    def setUp(self):
        super().setUp()
        self.step("mark=m; f() { echo f; }; export e=E; cd /tmp")

    def test_exit(self):
        got = self.says("n=new; exit 3", "", 3)
        self.assertEqual(got.result["error"]["name"], "Exit")
        self.assertEqual(got.err, b"")
        self.says("echo $n $PWD; f; sh -c 'echo $e'; echo $?", "new /tmp\nf\nE\n0\n")
        self.says("exit", "")
        self.lives()

    def test_exit_runs_the_trap_and_keeps_it(self):
        self.step("trap 'echo \"it'\\''s bye $?\"' EXIT")
        self.says("n=1; exit 4", "it's bye 4\n", 4)
        self.says("echo $n; trap -p EXIT | wc -l; exit 0", "1\n1\nit's bye 0\n")
        self.lives()
        self.driver.send(BYE)
        self.driver.process.wait(5)
        self.assertEqual(self.driver.output()[0], b"it's bye 0\n")

    def test_errexit(self):
        got = self.says("set -e; n=2; false; echo never", "", 1)
        self.assertEqual(got.result["error"]["name"], "Exit")
        self.says("echo $n $-", "2 ehB\n")
        self.says("false; echo never", "", 1)
        self.lives()
        self.says("set +e; false; echo on", "on\n")

    def test_nounset(self):
        self.says("set -u; echo $nosuch; echo never", "", 1)
        self.lives()

    def test_exec(self):
        got = self.says("n=1; exec echo replaced", "replaced\n")
        self.assertIn(b"from before this step", got.err)
        self.says("echo [$n]", "[]\n")
        self.lives()

    def test_kill(self):
        got = self.says("kill -9 $$", "", 137)
        self.assertEqual(got.result["error"]["name"], "Killed")
        self.lives()

    def test_trap_of_its_own(self):
        got = self.says("n=1; trap 'echo mine' EXIT; exit 5", "mine\n", 5)
        self.assertIn(b"from before", got.err)
        self.lives()

    def interrupt(self, code, mode="session"):
        """In the midst of it: when BEGAN stands in the code, a while after it has come there."""
        began = os.path.join(self.driver.home.name, "began")
        is_told = "BEGAN" in code
        code = code.replace("BEGAN", f">{began}")

        def later():
            end = time.monotonic() + 10
            while is_told and not os.path.exists(began) and time.monotonic() < end:
                time.sleep(0.01)
            time.sleep(0.4)
            self.driver.process.send_signal(signal.SIGINT)

        start = time.monotonic()
        got = self.step(code, mode, at_begin=later)
        self.assertLess(time.monotonic() - start, 18)
        if is_told:
            os.remove(began)
        return got

    def test_interrupt(self):
        bg = os.path.join(self.driver.home.name, "bg")
        self.step(f"sleep 600 & echo $! >{bg}")
        for code in ("sleep 60; echo never", "while :; do :; done", "sleep 60 | cat; echo never", "read x <> <(sleep 60)",
                     "sleep 60 & wait", "g() { sleep 60; }; g; g", "$(sleep 60)", "set -m; sleep 60; echo never"):
            code = "n=1; BEGAN; " + code
            got = self.interrupt(code)
            self.assertEqual(got.result["exit_code"], 130, (code, got.result))
            self.assertEqual(got.result["error"]["name"], "Interrupted")
            self.assertEqual(got.out, b"")
            self.says("set +m; echo $n; n=; kill -0 $(cat " + bg + ") && f", "1\nf\n")
            self.lives()
        self.says("kill $(cat " + bg + ")", "")

    def test_interrupt_between_steps_does_nothing(self):
        self.driver.process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        self.says("sleep 0.2; echo on", "on\n")

    def test_trap_of_int_goes_on(self):
        got = self.interrupt("trap 'echo int' INT; sleep 60; echo on; trap - INT")
        self.assertEqual(got.out, b"int\non\n")
        self.lives()

    def test_once(self):
        self.assertEqual(self.interrupt("sleep 60; echo never", "once").result["exit_code"], 130)
        got = self.step("echo $0 $# \"$2\" ${BASH_SOURCE[0]}; nosuch; exit 9", "once", filename="sub/a b.sh",
                        argv=["sub/a b.sh", "1", "x y"])
        self.assertEqual((got.out, got.result["exit_code"]), (b"sub/a b.sh 2 x y sub/a b.sh\n", 9))
        self.assertEqual(got.err, b"sub/a b.sh: line 1: nosuch: command not found\n")
        got = self.step("if then", "once", filename="a.sh", argv=["a.sh"])
        self.assertEqual(got.err.decode(), "a.sh: line 1: syntax error near unexpected token `then'\na.sh: line 1: `if then'\n")
        for name in ("/abs/x.sh", "../x.sh", "a/../../x.sh", "-n", "x" * 300, "a//b"):
            got = self.step("printf %s \"$0\"", "once", filename=name, argv=[name])
            self.assertEqual(got.out.decode(), name, got.err)

    def test_driver_dies_of_what_the_script_died_of(self):
        with Driver() as driver:
            with self.assertRaises((EOFError, ConnectionError)):
                driver.step("kill -9 $$", "once")
            self.assertEqual(driver.process.wait(5), -9)

    def test_shell_dies_with_the_driver(self):
        with Driver() as driver:
            pid = int(driver.step("echo $$").out)
            driver.process.kill()
            driver.process.wait()
            end = time.monotonic() + 5
            while time.monotonic() < end and os.path.exists("/proc/%d" % pid):
                with open("/proc/%d/stat" % pid) as f:
                    if f.read().rpartition(")")[2].split()[0] in "ZX":
                        break
                time.sleep(0.01)
            else:
                self.assertFalse(os.path.exists("/proc/%d" % pid))


class Hostile(Case):
    """Steps that go for the driver: the step may fail, the session goes on."""

    def setUp(self):
        super().setUp()
        self.step("mark=m")

    def test_attempts(self):
        for code in ("exec 3>&-", "for i in {0..255}; do eval \"exec $i>&-\"; done 2>/dev/null", "exec </dev/null >/dev/null 2>&1",
                     "eval() { :; }; builtin() { :; }; declare() { exit; }; printf() { exit 1; }; mapfile() { :; }",
                     ".() { exit; }; unset() { exit; }; set() { :; }; trap() { :; }; return() { :; }; exit() { :; }",
                     "shopt -s expand_aliases; alias eval=false builtin=false '{=exit' '.=exit' trap=exit set=exit unset=exit",
                     "PROMPT_COMMAND='exit'; PS1='$(exit)'; PS4='$(kill $$)'",
                     "trap 'false' DEBUG; shopt -s extdebug", "trap 'return 2' DEBUG; shopt -s extdebug; true",
                     "trap 'exit 1' ERR; trap '' TERM INT HUP",
                     "readonly POSIXLY_CORRECT", "readonly BASH_EXECUTION_STRING", "readonly IFS LINENO PWD HOME; IFS=x",
                     "declare -n BASH_EXECUTION_STRING=mark", "declare -A POSIXLY_CORRECT", "unset LINENO BASH_SOURCE BASHOPTS",
                     "IFS=0123456789/:", "LC_ALL=tr_TR.UTF-8", "LC_ALL=C", "set -n", "set -t", "set -x", "set -v", "set -euo pipefail",
                     "set -o posix", "set -k", "set -f -C", "set -r 2>/dev/null || PATH=", "enable -n builtin mapfile declare eval .",
                     "set -a; set -P; set -m", "ulimit -f 0", "ulimit -n 3", "TMOUT=1; BASH_ENV=/nosuch; ENV=/nosuch; POSIXLY_CORRECT=1",
                     "cd /; mkdir -p /tmp/gone-$$; cd /tmp/gone-$$; rmdir /tmp/gone-$$", "umask 777", "exec 255>&-; exec 255</dev/null",
                     "for f in /proc/$PPID/fd/*; do timeout 0.2 dd if=/dev/urandom of=$f bs=64k count=1 conv=notrunc 2>/dev/null & done; wait",
                     "exec -a x bash -c 'echo replaced >/dev/null'", "kill -9 $BASHPID", "kill -TERM $$", "( kill -9 $$ )"):
            with self.subTest(code=code), Driver() as driver:
                driver.step("mark=m; f() { echo f; }")
                start = time.monotonic()
                driver.step(code)
                path = os.path.join(driver.home.name, "seen")
                for more in ("", "\\builtin exit 0"):
                    if more:
                        driver.step(more)
                    got = driver.step("umask 0; \\builtin printf '%%s' \"$mark\" 1<>%s" % path)
                    self.assertIn(got.result["exit_code"], (0, 1))
                    with open(path) as f:
                        self.assertEqual(f.read(), "m", (code, more, got.err))
                    os.unlink(path)
                self.assertLess(time.monotonic() - start, 10)

    def test_a_lost_shell_is_said(self):
        got = self.step("trap false DEBUG; shopt -s extdebug")
        self.assertIn(got.result["exit_code"], (0, 1))
        self.step("set -n")
        self.lives()

    def test_broken_readonly_is_survived(self):
        for code in ("readonly POSIXLY_CORRECT=1", "readonly BASH_EXECUTION_STRING", "set -n; true"):
            self.step(code)
            self.lives()

    def test_tracing_shows_the_code_only(self):
        self.step("set -x")
        got = self.step("echo a")
        self.assertRegex(got.err, rb"^\++ echo a\n$")
        got = self.step("{ set +x; } 2>/dev/null; set -v")
        got = self.step("echo a")
        self.assertEqual((got.out, got.err), (b"a\n", b"echo a\n"))

    def test_frames_that_are_none(self):
        for data in (b"\x00\x00\x00\x00", b"\xff\xff\xff\xff\x01", b"\x00\x00\x00\x05\x01nope"):
            with Driver() as driver:
                driver.channel.sendall(data)
                driver.channel.shutdown(socket.SHUT_WR)
                driver.process.wait(5)


class States(Case):
    CODE = r"""
s='it'\''s "q" $x `y` \ '; n=$'a\nb\tc'; b=$'\xff\xfe\x01'; u='hé€😀'; e=; declare -i int=5; declare -r ro=R; declare -x ex=X
a=(1 "two words" $'3\n' [9]=nine); declare -A m=([k]=v ['a b']="c d" [']']=$'x\ny'); declare -n ref=s; declare -u up=abc; declare -a none
declare -ax arrx=(1); unset PATH_X; export LANG
h() { cat <<E
it's $1 "heredoc
E
local v=2; [[ $1 == @(a|b) ]] && echo ext; }
xf() { echo exported; }; export -f xf; declare -fr xf; foo-bar() { echo dash; }
alias ll='ls -l' q='echo '\''q'\'''
trap 'echo "usr 1"' USR1; trap 'echo bye' EXIT
set -o pipefail -o nounset; shopt -s nullglob extglob; shopt -u checkwinsize; umask 027; mkdir -p 'a dir'; cd 'a dir'; set -- 'p 1' p2
"""
    LOOK = r"""
printf '%q|' "$s" "$n" "$b" "$u" "$e" "$int" "$ro" "$ref" "$up" "${a[@]}" "${!a[@]}" "${m[k]}" "${m[a b]}" "${m["]"]}" "$@"; echo
declare -p int ro ex ref up none arrx; declare -F; h a; bash -c xf; foo-bar; alias; trap -p USR1; echo $-; shopt -q nullglob && shopt -q extglob && ! shopt -q checkwinsize && echo shopt
umask; basename "$PWD"; int=int+1; echo $int; s=changed; echo $ref; env | sort | grep -v -e ^_= -e ^SHLVL= -e PWD= -e HOME=
"""

    def test_round_trip(self):
        self.step(self.CODE)
        state = self.driver.state
        want = self.step(self.LOOK).out
        self.assertIn(b"exported\n", want)
        with Driver() as other:
            os.mkdir(os.path.join(self.driver.home.name, "a dir")) if not os.path.isdir(os.path.join(self.driver.home.name, "a dir")) else None
            done = other.ask(SETUP, state=state).done
            self.assertNotIn("error", done)
            got = other.step(self.LOOK)
            self.assertEqual(got.out.decode(errors="replace"), want.decode(errors="replace"))
            other.send(BYE)
            other.process.wait(5)
            self.assertEqual(other.output()[0], b"bye\n")

    def test_readonly_is_still_readonly(self):
        self.step(self.CODE)
        self.step("exit 1")
        got = self.step("ro=1; echo never")
        self.assertIn(b"readonly", got.err)

    def test_state_is_stable(self):
        self.step(self.CODE)
        for _ in range(3):
            self.assertEqual(self.step("true").states, [])
        self.step("exit 0")
        self.assertEqual(self.step("true").states, [])

    def test_a_shell_that_dies_takes_the_driver_along_when_the_engine_rolls_back(self):
        with Driver() as driver:
            driver.step("a=1")
            driver.start("a=2; kill -TERM $$", checkpoint=True)
            with self.assertRaises(EOFError):
                driver.finish()
            self.assertEqual(driver.process.wait(5), -signal.SIGTERM)

    def test_functions_over_the_limit_leave_no_older_state(self):
        self.step("a=1")
        got = self.step("f() { echo '" + "x" * 1_200_000 + "'; }")
        self.assertEqual((got.states[0]["state"], got.states[0]["omitted"]), ("", 1))
        self.assertIn(b"functions of this session", got.err)
        self.assertIn('a="1"', self.step("unset -f f").states[0]["state"])

    def test_too_large_a_state_says_so(self):
        got = self.step("small=1; big=$(head -c 2000000 /dev/zero | tr '\\0' x)")
        self.assertEqual(got.states[0]["omitted"], 1)
        self.assertIn(b"largest variables", got.err)
        self.assertIn('small="1"', self.driver.state)
        self.step("exit 0")
        self.says("echo ${#big}", "2000000\n")
        got = self.step("big=$(head -c 20000000 /dev/zero | tr '\\0' x)", wait=60)
        self.assertIn(b"16 MiB", got.err)
        self.assertEqual(got.result["status"], "ok")
        self.says("unset big; echo on $small", "on 1\n")

    def test_what_no_text_holds_is_counted(self):
        self.assertNotIn("descriptors", self.step("a=1").states[0])
        self.assertEqual(self.step("exec 7</dev/null 8<&7").states[0]["descriptors"], 2)
        self.assertEqual(self.step(":").states, [], "nothing is new")
        self.assertNotIn("descriptors", self.step("exec 7<&- 8<&-").states[0])
        said = self.step("d=$(mktemp -d); cd $d; rmdir $d; ulimit -n 200").states[0]
        self.assertTrue(said["homeless"])
        self.assertIn("ulimit -Sn 200\n", said["state"])
        self.assertNotIn("homeless", self.step("exec 7</dev/null; exit 0").states[0], "another shell has begun")

    def test_hostile_states(self):
        for state in ("exit 3\n", "exec true\n", "if", "kill -9 $$\n", "x" * STATE_MAX, "\u1234", "set -n\n"):
            with Driver() as other:
                done = other.ask(SETUP, state=state).done
                self.assertEqual(other.step("echo on").out, b"on\n", (state[:20], done))

    def test_setup(self):
        self.assertNotIn("error", self.driver.ask(SETUP, session="s-1'x", seed=5).done)
        first = self.step("echo $RETORT_SESSION $RANDOM").out
        with Driver() as other:
            other.ask(SETUP, session="s-1'x", seed=5)
            self.assertEqual(other.step("echo $RETORT_SESSION $RANDOM").out, first)
        self.assertTrue(first.startswith(b"s-1'x "))


if __name__ == "__main__":
    PROGRAM = os.path.join(os.path.dirname(os.path.abspath(sys.argv.pop(1))), "shell", "retort-shell")
    unittest.main(verbosity=2)
