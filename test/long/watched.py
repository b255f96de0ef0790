# SPDX-License-Identifier: Apache-2.0
"""CPython's `python3 -m test`, writing down each test's outcome as soon as it is known.

usage: watched.py FILE [ARGUMENTS OF -m test]

--junit-xml leaves out failures of subtests and of setUpClass(), and is lost if the process is. A line of FILE is an
outcome, a space and the test's id.
"""

import sys

OUTCOMES = {
    "addSuccess": "pass", "addExpectedFailure": "pass", "addSkip": "skip",
    "addFailure": "fail", "addError": "fail", "addUnexpectedSuccess": "fail",
}


def watch(result, path):
    def note(outcome, test):
        name = type(test).id(test).replace("\n", " ")  # there are tests with an attribute "id"
        # By its name each time: there are tests that close every descriptor.
        with open(path, "a", encoding="utf-8") as f:
            f.write(f"{outcome} {name}\n")

    def wrap(name, outcome):
        was = getattr(result, name)

        def method(self, test, *args):
            note(outcome, test)
            return was(self, test, *args)
        setattr(result, name, method)

    for name, outcome in OUTCOMES.items():
        wrap(name, outcome)
    was_sub = result.addSubTest

    def add_sub(self, test, subtest, error):
        if error is not None:
            note("fail", test)
        return was_sub(self, test, subtest, error)
    result.addSubTest = add_sub


if __name__ == "__main__":
    from test.libregrtest import main
    from test.support import testresult

    watch(testresult.RegressionTestResult, sys.argv.pop(1))
    main()
