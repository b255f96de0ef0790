/* Network namespaces of sockets. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/*
 * Return whether the sockets @a and @b are in one network namespace: false also if the kernel does
 * not tell, which it does since Linux 5.14.
 *
 * A socket stays in the namespace of the process that made it, whoever has it later. A connection
 * that a unix socket has accepted counts as its client's: it is in the namespace in which the
 * socket was made that connect(2) was called on, even when that process has ended.
 * Source: unix_stream_connect() of Linux, which makes the accepted socket in the client's.
 */
bool netns_is_same(int a, int b);
