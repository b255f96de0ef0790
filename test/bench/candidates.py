#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `--best-of N` costs over the candidates' own time.

usage: candidates.py RETORT [--rounds N]

A recording is the model, so that asking takes no time: a round is from the event that says that all are asked to the
one that says which is kept and has become the session. Its overhead is that less the longest of its candidates, as their
records say; candidates sleep, so that they do not share processors. Beside it the same step without
candidates, from when it is asked for to its observation.
"""

import argparse
import json
import os
import tempfile

from service import Engine, calibration, clock_ms, median, p95

SLEEP_S = 0.05
SETTINGS = {
    "bare": ({}, "x = 1"),
    "pandas, a frame of 8 MB": ({"preload": ["pandas"]}, "import pandas\nx = pandas.DataFrame({'a': range(1_000_000)})"),
    "1,000 files": ({}, "for i in range(1000):\n    open(f'{i}.txt', 'w').write(str(i))"),
}


def recording(home, rounds):
    path = os.path.join(home, "model.jsonl")
    code = f"```python\nimport time\ntime.sleep({SLEEP_S})\ny = 1\ny\n```\n"
    with open(path, "w", encoding="utf-8") as f:
        f.write(json.dumps({"reply": {"text": code}, "times": rounds}) + "\n")
        f.write(json.dumps({"reply": {"text": "Done."}, "times": 0}) + "\n")
    return path


def events(client, request):
    """Of one call: (when, event), and then its result."""
    client.socket.sendall(request)
    while True:
        message = json.loads(client.line())
        if "id" in message:
            if "error" in message:
                raise RuntimeError(message["error"]["message"])
            if message["result"]["status"] not in ("ok", "steps", "stuck"):
                raise RuntimeError(json.dumps(message["result"]))
            return
        yield clock_ms(), message["params"]


def wall_ms(event):
    return event["result"]["usage"]["wall_ms"]


def rounds_of(client, session, n):
    """(whole, longest candidate) of each round, in ms."""
    out, longest, began = [], 0, None
    request = client.make("agent.run", session=session, task="Go.", best_of=n, max_steps=1000, grounded=False, stream=True)
    for now, event in events(client, request):
        name = event["event"]
        if name == "candidates" and event["state"] == "refused":
            raise RuntimeError(event["message"])
        if name == "candidates" and event["state"] == "asked":
            began, longest = now, 0
        elif name == "candidate" and event["of"]["event"] == "step.finished":
            longest = max(longest, wall_ms(event["of"]))
        elif n == 1 and name == "step.code":
            began = now
        elif n == 1 and name == "step.finished":
            longest = wall_ms(event)
        elif name == "observation":
            out.append((now - began, longest))
    return out


def measure(retort, n, setting, rounds):
    options, prepare = SETTINGS[setting]
    rows = []
    with tempfile.TemporaryDirectory(prefix="candidates-") as home:
        # The same code with the same end three times is the end.
        for _ in range(rounds):
            path = recording(home, 2 * n)
            with Engine(retort, "--model", f"replay:{path}") as client:
                session = client.create(**options)
                client.run(session, prepare)
                rows += rounds_of(client, session, n)
                client.close(session)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("retort")
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    retort = os.path.abspath(args.retort)
    print(f"bare python {calibration():.1f} ms; each candidate sleeps {SLEEP_S * 1000:.0f} ms")
    print(f"  {'session':26} {'N':>3} {'round ms':>9} {'overhead ms':>12} {'p95':>8} {'per candidate':>14}")
    for setting in SETTINGS:
        for n in (1, 2, 4, 8):
            rows = measure(retort, n, setting, args.rounds)
            over = [whole - longest for whole, longest in rows]
            print(f"  {setting:26} {n:3} {median([w for w, _ in rows]):9.2f} {median(over):12.2f} {p95(over):8.2f}"
                  f" {median(over) / n:14.2f}", flush=True)


if __name__ == "__main__":
    main()
