#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What ssh to a session costs, beside ssh to `sshd -i` of the host, also as a ProxyCommand.

usage: ssh.py RETORT [--rounds N] [--mib N]

Rows take turns, in rounds, and a ratio is taken within its round:
  login  `ssh work true`
  in     N MiB into `ssh work 'cat >/dev/null'`
  out    N MiB out of `ssh work 'head -c N /dev/zero'`
  both   N MiB through `ssh work cat`
The host's sshd has the same options. As root it does more at a login than as another user, because it separates privileges.
"""

import argparse
import os
import subprocess
import sys
import tempfile

from processes import table
from service import Engine, calibration, clock_ms, save

LOGINS = 10  # of one round
OPTIONS = ("StrictModes=no", "PidFile=none", "AuthenticationMethods=publickey", "PrintMotd=no", "PrintLastLog=no")


def host_lines(where):
    """Settings for the host's own sshd, with keys of its own."""
    for name in ("id", "host"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{where}/{name}"], check=True)
    with open(f"{where}/host.pub", encoding="utf-8") as f, open(f"{where}/known", "w", encoding="utf-8") as out:
        out.write("host " + f.read())
    options = " ".join(f"-o {o}" for o in (*OPTIONS, f"AuthorizedKeysFile={where}/id.pub"))
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    return (f"Host host\n ProxyCommand /usr/sbin/sshd -i -e -f /dev/null -h {where}/host {options} 2>/dev/null\n"
            f" User {user}\n IdentityFile {where}/id\n IdentitiesOnly yes\n IdentityAgent none\n HostKeyAlias host\n"
            f" UserKnownHostsFile {where}/known\n GlobalKnownHostsFile /dev/null\n")


class Peer:
    def __init__(self, host, config, big):
        self.argv = ["ssh", "-F", config, host]
        self.big = big

    def take_ms(self, command, is_input=False):
        start = clock_ms()
        with open(self.big if is_input else os.devnull, "rb") as source:
            subprocess.run([*self.argv, command], stdin=source, stdout=subprocess.DEVNULL, check=True)
        return clock_ms() - start


def main():
    parser = argparse.ArgumentParser(description="measure ssh to a session")
    parser.add_argument("retort")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mib", type=int, default=200)
    args = parser.parse_args()
    retort = os.path.abspath(args.retort)
    if not os.path.exists("/usr/sbin/sshd"):
        sys.exit("ssh.py: no /usr/sbin/sshd: `make deps`")
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
    print(f"bare python3: {calibration():.1f} ms")
    with tempfile.TemporaryDirectory() as where, Engine(retort) as client:
        env = {**os.environ, "XDG_STATE_HOME": where + "/state", "RETORT_SOCKET": client.socket.getpeername()}
        client.call("session.create", name="work")
        lines = subprocess.run([retort, "ssh-config", "work"], env=env, capture_output=True, text=True, check=True).stdout
        with open(where + "/config", "w", encoding="utf-8") as f:
            f.write(lines + host_lines(where))
        with open(where + "/big", "wb") as f:
            for _ in range(args.mib):
                f.write(os.urandom(1 << 20))
        peers = {"sshd of the host": Peer("host", where + "/config", where + "/big"),
                 "retort": Peer("work", where + "/config", where + "/big")}
        for peer in peers.values():
            peer.take_ms("true")
        logins = {name: [] for name in peers}
        rates = {what: {name: [] for name in peers} for what in ("into", "out of", "through")}
        commands = {"into": ("cat >/dev/null", True), "out of": (f"head -c {args.mib << 20} /dev/zero", False), "through": ("cat", True)}
        for _ in range(args.rounds):
            for name, peer in peers.items():
                logins[name] += [peer.take_ms("true") for _ in range(LOGINS)]
            for what, command in commands.items():
                for name, peer in peers.items():
                    rates[what][name].append(args.mib / (peer.take_ms(*command) / 1000))
        found = [table(f"ssh HOST true ({args.rounds} x {LOGINS})", logins, "sshd of the host")]
        found += [table(f"{args.mib} MiB {what} a command ({args.rounds} rounds)", rows, "sshd of the host", unit="MiB/s")
                  for what, rows in rates.items()]
    save(args.retort, "ssh", found)


if __name__ == "__main__":
    main()
