# SPDX-License-Identifier: Apache-2.0
"""What the programs here share, which drive a client of a front and say in one line each how a call has ended.

usage: PROGRAM URL [TOKEN]
"""

import asyncio
import json
import sys
from urllib.parse import urlsplit

URL = sys.argv[1]
TOKEN = sys.argv[2] if len(sys.argv) > 2 else None
LOOP = asyncio.new_event_loop()
asyncio.set_event_loop(LOOP)


def url(path=""):
    """For clients that cannot send a token: it is the password of the URL."""
    at = urlsplit(URL + path)
    return f"{at.scheme}://any:{TOKEN}@{at.netloc}{at.path}" if TOKEN else URL + path


def check(name, call, is_good):
    """@call() or what it awaits; an exception is what a user of the client would see."""
    try:
        found = call()
        found = LOOP.run_until_complete(found) if asyncio.iscoroutine(found) else found
        good = bool(is_good(found))
    except Exception as error:  # of any client
        found, good = f"{type(error).__name__}: {error}", False
    print(json.dumps({"name": name, "good": good, "found": repr(found)[:2000]}), flush=True)
