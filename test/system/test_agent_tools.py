# SPDX-License-Identifier: Apache-2.0
"""Whole tasks of `retort agent` by models that call tools from their code."""

import json
import os
import random
import statistics
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from test_agent import agent, line, python, script  # noqa: E402
from test_gate import engine, file_of, methods, server  # noqa: E402

IDENTITY = "user"


def has_numpy():
    return subprocess.run(["/usr/bin/python3", "-c", "import numpy"], capture_output=True, check=False).returncode == 0


def prices(ticker, days):
    """As tool_server.py makes them."""
    r, price, out = random.Random(ticker), 100.0, []
    for _ in range(days):
        price *= 1 + r.uniform(-0.02, 0.021)
        out.append(round(price, 2))
    return out


class Portfolio(harness.Case):
    """The tool's numbers stay in the box; what the model reads is what it prints of them."""

    @unittest.skipUnless(has_numpy(), "the host's python3 has no numpy")
    def test_a_simulation_with_numpy_and_a_tool_that_gives_prices(self):
        market = server("prices")
        closes = {t: prices(t, 300) for t in ("ACME", "GLOBEX")}
        done = agent(
            "I hold 60 % ACME and 40 % GLOBEX. By a bootstrap of the last 300 daily returns: what is 10000 worth after 60 days "
            "on average, and at worst in 5 % of the cases?",
            line(python("tools.search('prices of a share')"), expect=["Servers: market."]),
            line(python("import numpy as np\n"
                        "closes = np.array([tools.market.prices(ticker=t, days=300)['closes'] for t in ('ACME', 'GLOBEX')])\n"
                        "returns = closes[:, 1:] / closes[:, :-1] - 1\n"
                        "closes.shape, closes[:, -1].tolist(), returns.mean(axis=1)"),
                 expect_last=["tools.market.prices(", "Closing prices"]),
            line(python("rng = np.random.default_rng(7)\n"
                        "days = rng.integers(0, returns.shape[1], size=(20000, 60))\n"
                        "paths = 10000 * np.prod(1 + np.tensordot([0.6, 0.4], returns[:, days], axes=1), axis=1)\n"
                        "mean, worst = round(float(paths.mean()), 2), round(float(np.quantile(paths, 0.05)), 2)\n"
                        "paths.shape, mean, worst"),
                 expect_last=["(2, 300)", f"[{closes['ACME'][-1]}, {closes['GLOBEX'][-1]}]"], reject=[str(closes["ACME"][100])]),
            line(python("final_answer({'mean': mean, 'worst 5 %': worst})"), expect_last=["((20000,), "]),
            options=["--tools", file_of(market=market)])
        self.assertEqual((done.status, done.result["grounded"]), (0, True), done)
        # By hand: a day's return of the portfolio is drawn from these, so its expectation after 60 days is known.
        daily = [0.6 * (a2 / a1 - 1) + 0.4 * (b2 / b1 - 1) for a1, a2, b1, b2 in
                 zip(closes["ACME"], closes["ACME"][1:], closes["GLOBEX"], closes["GLOBEX"][1:])]
        expected = 10000 * (1 + statistics.fmean(daily)) ** 60
        value = done.result["value"]
        self.assertAlmostEqual(value["mean"] / expected, 1, delta=0.005)
        spread = statistics.pstdev(daily) * 60 ** 0.5
        self.assertAlmostEqual(value["worst 5 %"] / expected, 1 - 1.645 * spread, delta=0.02)
        self.assertEqual(methods(market).count("tools/call"), 2)
        calls = [t for e in done.all("step.finished") for t in e["result"]["tools"]]
        self.assertEqual([(t["tool"], t["calls"]) for t in calls], [("market.prices", 2)])


class Wrong(harness.Case):
    def test_arguments_that_do_not_fit_are_corrected(self):
        done = agent("What was ACME's last price?",
                     python("tools.market.prices(ticker='acme')"),
                     line(python("final_answer(tools.market.prices(ticker='ACME', days=10)['closes'][-1])"),
                          expect_last=["ToolArgumentError", "ticker"]),
                     options=["--tools", file_of(market=server("prices"))])
        self.assertEqual((done.status, done.result["value"]), (0, prices("ACME", 10)[-1]), done)

    def test_a_server_that_ends_is_an_exception_and_the_state_stays(self):
        done = agent("Call it.",
                     python("x = 41\ntry:\n    tools.demo.add(a=1, b=2)\nexcept Exception as e:\n    print(type(e).__name__)\nx += 1"),
                     line(python("final_answer(x)"), expect_last=["ToolLost"]),
                     options=["--tools", file_of(demo=server("exit-on-call"))])
        self.assertEqual((done.status, done.result["answer"]), (0, "42"), done)


class Candidates(harness.Case):
    """--best-of: what code in branches asks of the outside."""

    def test_queries_of_candidates_are_those_of_the_task(self):
        code = python("final_answer(llm_query('Which?'))")
        done = agent("Ask.", code, code, code, options=["--best-of", "3", "--max-queries", "2", "--query-model", "replay:" + script(
            line("yes", times=0))])
        self.assertEqual((done.status, done.result["answer"]), (0, "yes"), done)
        self.assertEqual((done.result["queries"]["count"], done.result["queries"]["refused"]), (2, 1))

    def test_nobody_is_asked_about_calls_of_candidates(self):
        """What changes something would be done as often as there are candidates."""
        demo = server()
        code = python("tools.demo.echo(**{'from': 'x'})")
        done = agent("Call.", code, code, line("No.", times=0, expect_last=["ToolDenied"]),
                     options=["--best-of", "2", "--tools", file_of(demo=demo)])
        self.assertEqual(done.status, 0, done)
        self.assertNotIn("tools/call", methods(demo))

    def test_nobody_is_asked_about_connections_of_candidates(self):
        code = python("import socket\nsocket.create_connection(('api.invalid', 80)).recv(1)")
        done = agent("Call.", code, code, line("No.", times=0, expect_last=["refused: nobody is asked for one of several candidates"]),
                     options=["--best-of", "2", "--net", "ask"])
        self.assertEqual(done.status, 0, done)

    def test_queries_of_candidates_that_lose_are_paid_for(self):
        """And those of the one that is kept are not asked again when the task goes on in a new box."""
        state, where = harness.make_dir(), harness.make_dir()
        prices = os.path.join(where, "prices.json")
        with open(prices, "w", encoding="utf-8") as f:
            json.dump({"replay:*": {"input": 0, "output": 0}, "exec:*": {"input": 0, "output": 1000000}}, f)
        count = os.path.join(where, "count")
        ask = f"exec:cat > /dev/null; echo >> {count}; echo four"
        code = "words = llm_query_batched(['1', '2'])\nwords"
        down = {"failure": {"class": "server", "wait_ms": 1}, "times": 0}
        options = ["--best-of", "3", "--max-queries", "9", "--query-model", ask, "--prices", prices]
        done = agent("Ask.", python(code), python(code), python("words = ['five', llm_query('3')]\n1 / 0"), down,
                     options=options, env={"XDG_STATE_HOME": state}, cwd=where)
        self.assertEqual((done.status, done.result["queries"]["count"]), (4, 5), done)
        self.assertEqual(done.result["candidates"]["rounds"][0]["votes"], 2)
        self.assertEqual(done.result["usage"]["cost_usd"], float(done.result["queries"]["usage"]["output"]))
        os.unlink(count)
        again = agent("Go on.", python("final_answer(words)"), options=["--continue", "--best-of", "1", "--query-model", ask,
                      "--prices", prices], env={"XDG_STATE_HOME": state}, cwd=where)
        self.assertEqual((again.status, again.result["value"], os.path.exists(count)), (0, ["four", "four"], False), again)

    def test_what_a_candidate_has_read_taints_the_session(self):
        model = script(*[python("tools.demo.add(a=1, b=2)")] * 2, line("Done.", times=0))
        with engine("--model", "replay:" + model, demo=server()) as e:
            client = e.client()
            session = client("session.create")["session"]
            self.assertFalse(client("session.get", session=session).get("untrusted"))
            result = client("agent.run", session=session, task="Call.", best_of=2)
            self.assertEqual((result["status"], result["steps"]), ("ok", 2), result)
            self.assertTrue(client("session.get", session=session).get("untrusted"))


if __name__ == "__main__":
    harness.main()
