# SPDX-License-Identifier: Apache-2.0
"""A client of retort: sessions, steps, programs and files of boxes.

    from retort_client import Client

    with Client() as client, client.session() as session:
        print(session.run("6 * 7").text)
"""

from .client import Client, Failed, Result, Session

__all__ = ["Client", "Failed", "Result", "Session"]
