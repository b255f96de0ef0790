/* The connection file of a kernel: where its sockets are, and the key of its messages.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "serve/jupyter/signature.h"

#include <stdbool.h>
#include <stddef.h>

enum jupyter_channel {
	JUPYTER_SHELL,
	JUPYTER_CONTROL,
	JUPYTER_STDIN,
	JUPYTER_IOPUB,
	JUPYTER_HEARTBEAT,
	JUPYTER_CHANNELS
};

/* CONNECTION_PLACE_BYTES: maximum of an address with its NUL. A path of a unix socket is shorter,
 * which ZeroMQ checks. */
enum { CONNECTION_TEXT_BYTES = 64 << 10, CONNECTION_PLACE_BYTES = 300 };

struct connection_file {
	/* Addresses as ZeroMQ writes them: "tcp://127.0.0.1:5555", "ipc:///run/k-1". */
	char places[JUPYTER_CHANNELS][CONNECTION_PLACE_BYTES];
	char key[SIGNATURE_KEY_BYTES + 1]; /* "": messages are not signed */
	bool is_ipc;
};

/* Return the word for a channel: "shell". */
const char *connection_file_channel(enum jupyter_channel channel);

/*
 * Read the text of a connection file.
 * Errors: ERR_USAGE: not JSON, or a member is missing or wrong; the message names the member.
 */
int connection_file_parse(
	struct connection_file *out, const char *text, size_t bytes, struct err *err);

/*
 * Read the connection file @path. A file that another user owns, or may change, is refused: its
 * author could choose the key. *@is_open: whether others may read the file, and so the key.
 * Errors: those of connection_file_parse() and file_load(); ERR_ACCESS.
 */
int connection_file_load(
	struct connection_file *out, const char *path, bool *is_open, struct err *err);
