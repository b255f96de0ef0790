/* The ports on which the programs of a box listen. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/box/box.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LISTENING_MAX = 1000,	      /* listeners that are looked at */
	LISTENING_BYTES = 256 << 10,  /* bytes of a table that are read */
	LISTENING_ADDRESS_BYTES = 48, /* an address as text */
};

/* A TCP socket that accepts connections. */
struct listening {
	uint16_t port;
	char address[LISTENING_ADDRESS_BYTES]; /* as inet_ntop() writes it: "127.0.0.1", "::" */
};

/*
 * Find the listeners in the text of /proc/net/tcp (@is_v6: tcp6). Rows that are no listener, or no
 * row, are left out; so is a last line without its end.
 * Returns: how many were written to @out, at most @max.
 * Source: the kernel's networking/proc_net_tcp.rst.
 */
size_t listening_parse(
	const char *text, size_t bytes, bool is_v6, struct listening *out, size_t max);

/* Called once with the listeners, sorted by port, borrowed; or with @err. */
typedef void listening_fn(void *arg, const struct listening *v, size_t n, const struct err *err);

/* Look which ports the programs of @b listen on. @done is called from the loop, or before the
 * function returns if the box has ended. Errors: as box_open(), ERR_IO. */
void listening_ask(struct box *b, listening_fn *done, void *arg);

/* Return whether one of @v accepts connections to 127.0.0.1 or ::1 on @port. */
bool listening_has(const struct listening *v, size_t n, uint16_t port);
