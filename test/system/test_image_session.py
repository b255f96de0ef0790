# SPDX-License-Identifier: Apache-2.0
"""Sessions with an image: records, branches, what undo and rollback do with the system's files, processes."""

import contextlib
import glob
import json
import os
import sqlite3
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import image_system  # noqa: E402
import rpc  # noqa: E402
from registry_fake import archive, entry  # noqa: E402

FILES = {"etc/motd": b"hello", "etc/a": b"a", "etc/b": b"b", "srv/s": b"s",
         "opt/d/f": b"f", "opt/d/g": b"g", "opt/x": b"x"}
# look(): {path: text} of the files below /opt and /srv
LOOK = """
import os
def look(*tops):
    found = {}
    for top in tops or ("/opt", "/srv"):
        for path, _, names in os.walk(top):
            found.update({os.path.join(path, n): open(os.path.join(path, n)).read() for n in names})
    return found
"""

place = engine = None


def setUpModule():
    global place, engine
    place = image_system.Place()
    engine = rpc.Engine(state=place.state)


def tearDownModule():
    engine.stop()
    place.close()


class Case(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.image, cls.about = place.pull("python", python=True, files=FILES, WorkingDir="/srv", Env=["A=b"])
        cls.bare, _ = place.pull("bare", files=FILES, WorkingDir="/srv", User="1001")
        cls.named = {"name": cls.about["name"], "digest": cls.about["digest"]}

    def setUp(self):
        self.client = engine.client()
        self.addCleanup(self.client.close)

    def session(self, **params):
        params.setdefault("image", self.image)
        session = self.client("session.create", **params)["session"]
        self.addCleanup(self.close, session)
        return session

    def close(self, session):
        if engine.process.poll() is None:
            engine.client()("session.close", session=session)

    def branch(self, session, **params):
        child = self.client("session.branch", session=session, **params)["session"]
        self.addCleanup(self.close, child)
        return child

    def value(self, session, code):
        return self.client.value(session, code)

    def does(self, session, code):
        done = self.client.run(session, code)
        self.assertEqual((done["status"], done["state"]["outcome"]), ("ok", "committed"), done)
        return done["stdout"]

    def fails(self, session, code, **params):
        """The record of a step that is rolled back."""
        done = self.client.run(session, code, **params)
        self.assertNotEqual(done["status"], "ok", done)
        self.assertEqual(done["state"]["outcome"], "rolled_back", done)
        return done

    def refuses(self, code, text, method="session.create", **params):
        with self.assertRaises(rpc.Failed) as caught:
            self.client(method, **params)
        self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertIn(text, str(caught.exception))
        return caught.exception.data.get("hint")


class Orders(Case):
    def test_a_missing_image_is_not_pulled(self):
        asked = len(place.registry.asked)
        name = f"{place.registry.host}/other"
        hint = self.refuses("not_found", f"no image {name}:latest", image=name)
        self.assertIn(f"retort image pull {name}", hint)
        self.assertEqual(len(place.registry.asked), asked)

    def test_a_session_has_one_system(self):
        base = place.base_dir
        for params in ({"image": self.image, "rootfs": base}, {"image": self.image, "template": "t"},
                       {"rootfs": base, "template": "t"}):
            self.refuses("usage", " and ", **params)
        self.refuses("usage", "would show the whole host", rootfs="/")
        self.refuses("not_found", "/no/such", rootfs="/no/such")

    def test_a_user_that_is_not_there(self):
        name, _ = place.pull("user", python=True, User="app")
        self.refuses("not_found", "the image has no /etc/passwd, so no app", image=name)

    def test_an_interpreter_that_is_not_there(self):
        self.refuses("runtime", "no python3 in the image", image=self.bare)
        self.refuses("runtime", "no node in the image", image=self.image, runtime="javascript")

    def test_steps_begin_in_the_workspace_and_processes_in_the_directory_of_the_image(self):
        session = self.session(image=self.bare, runtime="shell")
        self.assertEqual(self.does(session, "pwd; id -u"), "/home/user\n1001\n")
        for params, want in ({}, "/srv\n1001\ns\n"), ({"cwd": "/opt"}, "/opt\n1001\nd\nx\n"):
            started = self.client("process.start", session=session, argv=["sh", "-c", "pwd; id -u; ls"], **params)
            ended = self.client("process.wait", session=session, process=started["process"])
            self.assertEqual(ended["exit_code"], 0, ended)
            read = self.client("process.read", session=session, process=started["process"])
            self.assertEqual(read["data"], want, read)

    def test_a_working_directory_that_is_not_there(self):
        """That of the image is made; not one that a caller names."""
        name, _ = place.pull("dir", WorkingDir="/no/such")
        session = self.session(image=name, runtime="shell")
        self.refuses("not_found", "working directory /other", "process.start", session=session, argv=["pwd"], cwd="/other")
        self.client("process.start", session=session, argv=["pwd"])
        self.assertEqual(self.does(session, "pwd; while ! [ -d /no/such ]; do sleep 0.01; done; ls -d /other || true"), "/home/user\n")

    def test_a_directory_as_the_system(self):
        session = self.session(image=None, rootfs=place.base_dir, runtime="shell")
        done = self.client.run(session, "rm /bin/vi; echo $USER; ls -d /bin/vi || touch /new")
        self.assertEqual((done["stdout"], done["state"]["outcome"]), ("root\n", "committed"))
        self.assertNotIn("image", done)
        self.assertTrue(os.path.lexists(place.base_dir + "/bin/vi"))

    def test_sessions_do_not_see_each_other(self):
        one, two = self.session(), self.session(fresh=True)
        self.does(one, "import os; os.unlink('/opt/x'); open('/etc/motd', 'w').write('one')")
        self.assertEqual(self.value(two, "open('/opt/x').read() + open('/etc/motd').read()"), "xhello")


class Records(Case):
    def test_a_record_names_the_image_also_after_a_restart(self):
        state = os.path.join(harness.make_dir(), "state")
        self.assertEqual(harness.retort("image", "pull", self.image, "--state", state).status, 0)
        with rpc.Engine(state=state) as own:
            client = own.client()
            session = client("session.create", image=self.image, name="kept")["session"]
            record = client.run(session, "x = open('/etc/motd').read()\nopen('/opt/new', 'w').write('1')")
            self.assertEqual(record["image"], self.named)
            own.stop()
            own.start()
            client = own.client()
            exported = client("session.export", session=session)["record"].splitlines()
            order = json.loads(json.loads(exported[0])["order"])
            self.assertEqual({key: order["image"][key] for key in self.named}, self.named)
            after = client.run(session, "import os; print(x, os.environ['A'], os.path.exists('/opt/new'))")
            self.assertEqual((after["image"], after["stdout"]), (self.named, "hello b True\n"), after)
        kept = []
        for file in glob.glob(state + "/*.db"):
            with contextlib.closing(sqlite3.connect(file)) as db:
                kept += [json.loads(extra).get("image") for extra, in db.execute("SELECT extra FROM node")]
        self.assertEqual(kept, [self.named] * 2)

    def test_an_image_that_is_removed_is_there_for_its_sessions(self):
        name, _ = place.pull("removed", python=True, files={"opt/only": b"here"})
        session = self.session(image=name)
        self.does(session, "x = 1")
        self.assertEqual(harness.retort("image", "rm", name, env=place.env).status, 0)
        self.refuses("not_found", "no image ", image=name)
        for one in (session, self.branch(session)):
            self.assertEqual(self.value(one, "open('/opt/only').read() + str(x)"), "here1")


class Branches(Case):
    def test_a_branch_has_the_files_of_the_system(self):
        session = self.session()
        self.does(session, LOOK + """
import shutil, subprocess
open('/etc/motd', 'a').write(' world'); os.unlink('/opt/x'); shutil.rmtree('/opt/d'); os.mkdir('/opt/d')
open('/opt/d/new', 'w').write('new'); os.mkdir('/opt/n'); open('/opt/n/f', 'w').write('n')
os.rename('/opt/n', '/opt/m')
os.chmod('/opt/m', 0o710); os.utime('/opt/m/f', (5, 6)); os.symlink('/x', '/opt/l'); shutil.rmtree('/srv')
os.mkfifo('/opt/m/fifo'); os.chmod('/etc/a', 0o400); os.rename('/etc/b', '/etc/c')
""")
        check = """
(sorted(os.listdir('/opt/d')), sorted(os.listdir('/opt')), open('/etc/motd').read(), oct(os.stat('/opt/m').st_mode),
 os.stat('/opt/m/f').st_mtime, os.readlink('/opt/l'), oct(os.stat('/etc/a').st_mode),
 sorted(set(os.listdir('/etc')) & {'a', 'b', 'c'}), os.path.exists('/srv'))
"""
        want = "(['new'], ['d', 'l', 'm'], 'hello world', '0o40710', 6.0, '/x', '0o100400', ['a', 'c'], False)"
        child = self.branch(session)
        for one in (session, child, self.branch(child)):
            self.assertEqual(self.value(one, check.replace("\n", " ")), want)

    def test_branches_change_by_themselves(self):
        session = self.session()
        self.does(session, LOOK + "open('/opt/x', 'w').write('0'); os.unlink('/opt/d/g')")
        child = self.branch(session)
        self.does(child, "open('/opt/x', 'w').write('1'); open('/opt/d/g', 'w').write('1')")
        third = self.branch(child)
        self.does(session, "os.unlink('/opt/x'); os.unlink('/srv/s')")
        self.does(third, "open('/opt/d/g', 'w').write('3'); os.unlink('/opt/d/f')")
        self.assertEqual([self.value(one, "look()") for one in (session, child, third)], [
            {"/opt/d/f": "f"},
            {"/opt/x": "1", "/opt/d/f": "f", "/opt/d/g": "1", "/srv/s": "s"},
            {"/opt/x": "1", "/opt/d/g": "3", "/srv/s": "s"}])

    def test_the_working_directory_is_kept(self):
        session = self.session()
        for path in ("/opt/d", "/opt/new", "/home/user", "/tmp", "/etc", "/"):
            self.does(session, f"import os; os.makedirs('{path}', exist_ok=True); os.chdir('{path}')")
            child = self.branch(session)
            self.assertEqual(self.value(child, "os.getcwd(), os.path.samefile('.', os.getcwd())"), f"('{path}', True)")
            self.does(child, "open('of-child', 'w')")
            self.assertEqual(self.value(session, "os.getcwd(), os.path.exists('of-child')"), f"('{path}', False)")

    def test_a_branch_has_the_parts_of_a_box(self):
        child = self.branch(self.branch(self.session()))
        code = """
import os
def no(path):
    try: open(path, 'w')
    except OSError as e: return e.errno
read_only = [no(p) for p in ('/dev/x', '/sys/x', '/retort/x', '/retort/system/x')]
read_only, open('/etc/hostname').read(), os.listdir('/proc').count('1')
"""
        self.assertEqual(self.value(child, code), "([30, 30, 30, 30], 'retort\\n', 1)")
        self.does(child, "open('/opt/seen', 'w'); open('/dev/shm/x', 'w'); open('/tmp/x', 'w')")
        self.assertIs(self.value(child, "os.path.exists('/retort/system/opt/seen')"), True)

    def test_the_disk_limit_holds_in_branches(self):
        session = self.session(limits={"disk_bytes": 2 << 20})
        self.does(session, "open('/opt/big', 'wb').write(bytes(1 << 20)); 1")
        child = self.branch(session)
        code = "open('/opt/more', 'wb').write(bytes(%d)); 1"
        done = self.client.run(child, code % (3 << 19))
        self.assertIn("No space left on device", done["error"]["message"])
        self.does(child, "import os; os.unlink('/opt/more')")
        self.does(child, code % (1 << 19))

    def test_another_user(self):
        name, _ = place.pull("user", python=True, files=FILES, User="1001:50")
        session = self.session(image=name)
        self.does(session, "import os; x = 1; open('/opt/x', 'w').write('1'); os.unlink('/opt/d/f')")
        child = self.branch(session)
        self.assertEqual(self.value(child, "x, os.getuid(), os.getgid(), open('/opt/x').read(), os.listdir('/opt/d')"),
                         "(1, 1001, 50, '1', ['g'])")
        self.assertEqual(self.value(child, "os.stat('/opt/x').st_uid, os.stat('/etc').st_gid, os.environ['USER']"),
                         "(1001, 50, 'user')")

    def test_what_nobody_may_read_is_copied(self):
        session = self.session()
        self.does(session, "import os; os.chmod('/', 0o711); os.chmod('/opt/d', 0); os.chmod('/opt/x', 0)")
        child = self.branch(session)
        code = "[oct(os.stat(path).st_mode) for path in ('/', '/opt/d', '/opt/x')]"
        for one in (session, child):
            self.assertEqual(self.value(one, code), ["0o40711", "0o40000", "0o100000"])
        self.assertEqual(self.value(child, "os.chmod('/opt/d', 0o700), open('/opt/d/f').read()"), "(None, 'f')")

    def test_processes_that_go_on(self):
        session = self.session()
        self.does(session, "x = 1; open('/opt/n', 'w').write('n')")
        argv = ["sh", "-c", "while :; do echo t >>/opt/t; sleep 0.02; done"]
        self.client("process.start", session=session, argv=argv)
        child = self.branch(session, keep_processes=True)
        self.assertEqual(self.value(child, "x, open('/opt/n').read()"), "(1, 'n')")
        bytes_before = self.value(session, "import os; os.stat('/opt/t').st_size")
        self.until(lambda: self.value(session, "os.stat('/opt/t').st_size") > bytes_before)

    def test_volumes_of_a_branch(self):
        where = harness.make_dir()
        os.chmod(where, 0o777)
        volumes = [{"src": where, "dst": "/opt/v", "mode": "rw"}, {"src": where, "dst": "/data"}]
        session = self.session(volumes=volumes)
        child = self.branch(session)
        self.does(child, "open('/opt/v/x', 'w').write('x')")
        self.assertEqual(self.value(session, "open('/data/x').read(), open('/opt/x').read()"), "('x', 'x')")

    def test_a_second_session_of_an_order_begins_with_the_image_as_it_is(self):
        for fresh in (False, False, True, False):
            session = self.session(fresh=fresh)
            self.assertEqual(self.value(session, LOOK + "look()"),
                             {"/opt/x": "x", "/opt/d/f": "f", "/opt/d/g": "g", "/srv/s": "s"})
            self.does(session, "os.unlink('/opt/x'); open('/srv/s', 'w').write('changed')")

    def test_branches_of_an_image_with_opaque_directories(self):
        upper = archive([(entry("opt/d/.wh..wh..opq"), b""), (entry("opt/d/h"), b"h"), (entry("opt/.wh.x"), b"")])
        name, _ = place.pull("opaque", image_system.layer(FILES), upper, python=True)
        session = self.session(image=name)
        self.does(session, LOOK)
        child = self.branch(session)
        for one in (session, child):
            self.assertEqual(self.value(one, "look('/opt')"), {"/opt/d/h": "h"})


class Undo(Case):
    """Memory and the workspace come back. The system's files do not, and are named."""

    def test_a_step_that_is_rolled_back(self):
        session = self.session()
        self.does(session, LOOK + "x = 1; open('/opt/kept', 'w').write('1')")
        for end, params in (("while 1: pass", {"timeout_ms": 200}), ("os._exit(3)", {}),
                            ("os.kill(os.getpid(), 9)", {})):
            time.sleep(0.02)  # the clock of files is coarse
            code = "x = 2; open('/opt/x', 'a').write('2'); open('w', 'w'); os.utime('/opt/d/f')\n"
            record = self.fails(session, code + end, **params)
            named = [path for path in record["files_lost"] if path not in ("/opt", "/opt/d")]
            self.assertEqual(named, ["/opt/d/f", "/opt/x"], end)
            self.assertEqual(self.value(session, "x, os.listdir('.')"), "(1, [])")
        self.assertEqual(self.value(session, "open('/opt/x').read(), open('/opt/kept').read()"), "('x222', '1')")

    def test_a_step_that_did_not_change_the_system(self):
        session = self.session()
        self.does(session, "import os; open('/opt/x', 'w').write('1')")
        time.sleep(0.02)
        record = self.fails(session, "open('y', 'w'); open('/opt/x').read(); os.listdir('/opt'); os._exit(1)")
        self.assertNotIn("files_lost", record)

    def test_the_first_step(self):
        """The session changes to another box: nothing is lost."""
        session = self.session()
        record = self.fails(session, "import os; os.unlink('/etc/a'); open('/opt/x', 'w'); os._exit(1)")
        self.assertNotIn("files_lost", record)
        self.assertEqual(self.value(session, "open('/etc/a').read() + open('/opt/x').read()"), "ax")

    def test_undo_names_what_changed(self):
        session = self.session()
        self.does(session, "import os; x = 1")
        time.sleep(0.02)
        self.does(session, "x = 2; open('/etc/motd', 'w').write('2'); open('/opt/d/new', 'w'); os.unlink('/srv/s')")
        undone = self.client("session.undo", session=session)
        self.assertEqual(undone["outcome"], "rolled_back")
        self.assertEqual(undone["files_lost"], ["/", "/etc", "/etc/motd", "/opt", "/opt/d", "/opt/d/new", "/srv", "/srv/s"])
        self.assertEqual(self.value(session, "x, open('/etc/motd').read()"), "(1, '2')")

    def test_undo_to_another_box_brings_the_system_back(self):
        session = self.session()
        self.does(session, LOOK + "x = 1; open('/opt/x', 'w').write('1')")
        child = self.branch(session)
        self.does(session, "x = 2; open('/opt/x', 'w').write('2')")
        undone = self.client("session.undo", session=session, to="root")
        self.assertNotIn("files_lost", undone)
        self.assertEqual(self.value(session, LOOK + "'x' in globals(), look('/opt')['/opt/x']"), "(False, 'x')")
        self.assertEqual(self.value(child, "x, look('/opt')['/opt/x']"), "(1, '1')")

    def test_a_branch_that_is_rolled_back(self):
        session = self.session()
        self.does(session, "import os; x = 1; open('/opt/x', 'w').write('1')")
        child = self.branch(session)
        self.does(child, "x = 2")
        time.sleep(0.02)
        record = self.fails(child, "os.unlink('/opt/x'); os._exit(1)")
        self.assertEqual(record["files_lost"], ["/opt", "/opt/x"])
        self.assertEqual(self.value(child, "x, os.path.exists('/opt/x')"), "(2, False)")
        self.assertEqual(self.value(session, "x, open('/opt/x').read()"), "(1, '1')")


class Details(Case):
    """What is less usual."""

    def test_open_files_of_the_system_are_the_branchs_own(self):
        session = self.session()
        self.does(session, "f = open('/opt/x', 'r+'); g = open('/srv/s'); h = open('/opt/h', 'w+')")
        child = self.branch(session)
        self.does(child, "f.write('child'); f.flush(); h.write('child'); h.flush()")
        self.assertEqual(self.value(session, "open('/opt/x').read() + open('/opt/h').read() + g.read()"), "xs")
        self.assertEqual(self.value(child, "open('/opt/x').read() + open('/opt/h').read()"), "childchild")

    def test_open_files_of_a_prepared_session_are_each_ones_own(self):
        """Its modules may have opened a log of the system."""
        log = b"f = open('/opt/log', 'a', buffering=1)\n"
        name, _ = place.pull("prepared", python=True, files={**FILES, image_system.LIBRARY[1:] + "/keeps_log.py": log})
        one, two = (self.session(image=name, preload=["keeps_log"]) for _ in range(2))
        self.does(one, "import keeps_log; keeps_log.f.write('one\\n')")
        logs = [self.value(session, "open('/opt/log').read()") for session in (one, two)]
        self.assertEqual(logs, ["one\n", ""])

    def test_set_id_bits_and_hard_links_are_kept(self):
        """In the branch, and in the session that was branched, too."""
        session = self.session()
        self.does(session, """
import os
os.mkdir('/opt/s'); os.chmod('/opt/s', 0o2755); os.chmod('/opt/x', 0o4755); os.link('/opt/x', '/opt/y')
""")
        code = "oct(os.stat('/opt/s').st_mode), oct(os.stat('/opt/x').st_mode), os.path.samefile('/opt/x', '/opt/y')"
        child = self.branch(session)
        for one in (child, session):
            self.assertEqual(self.value(one, code), "('0o42755', '0o104755', True)")

    def test_a_file_that_is_removed_from_the_root_is_named(self):
        session = self.session()
        self.does(session, "import os; open('/x', 'w')")
        self.does(session, "x = 1")
        record = self.fails(session, "os.unlink('/x'); os._exit(1)")
        self.assertIs(self.value(session, "os.path.exists('/x')"), False)
        self.assertTrue(record.get("files_lost"), record)

    def test_what_has_something_mounted_below_cannot_be_moved(self):
        """A branch, and what is said of changes, rely on the places of mounts."""
        source = tempfile.mkdtemp(dir=harness.TMP)
        session = self.session(volumes=[{"src": source, "dst": "/opt/deep/v"}])
        self.does(session, """
import os
def moves(path):
    try:
        os.rename(path, '/moved')
        return True
    except OSError:
        return False
""")
        places = "('/home', '/opt', '/opt/deep', '/opt/deep/v')"
        self.assertEqual(self.value(session, f"[p for p in {places} if moves(p)]"), [])
        self.does(session, "open('/opt/deep/f', 'w').close(); x = 1; os.rename('/opt/deep/f', '/opt/deep/g')")
        branch = self.branch(session)
        self.assertEqual(self.value(branch, f"x, os.listdir('/opt/deep/v'), os.path.exists('/opt/deep/g'), [p for p in {places} if moves(p)]"),
                         "(1, [], True, [])")

    def test_what_was_only_read_is_not_named(self):
        session = self.session()
        self.does(session, "import os; open('/etc/motd', 'w').write('1')")
        self.branch(session)
        self.does(session, "x = 1")
        time.sleep(0.02)
        record = self.fails(session, "os.listdir('/etc'); os._exit(1)")
        self.assertNotIn("files_lost", record)

    def test_what_was_removed_from_a_directory_is_named_together(self):
        session = self.session()
        self.does(session, "import os; os.unlink('/etc/a')")
        time.sleep(0.02)
        record = self.fails(session, "os.unlink('/etc/b'); os._exit(1)")
        self.assertEqual(record["files_lost"], ["/etc", "/etc/a", "/etc/b"])  # a: in the same directory

    def test_what_was_removed_before_elsewhere_is_not_named(self):
        session = self.session()
        self.does(session, "import os; os.unlink('/opt/x')")
        time.sleep(0.02)
        record = self.fails(session, "os.unlink('/etc/b'); os._exit(1)")
        self.assertEqual(record["files_lost"], ["/etc", "/etc/b"])


if __name__ == "__main__":
    harness.main()
