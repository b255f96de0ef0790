/* What `retort serve` was asked for, and the places that follow from it: its sockets, and the
 * directory of its journal. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/opt.h"
#include "cli/box.h"
#include "serve/http/address.h"
#include "serve/notify.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

struct serve_args {
	const char *socket, *state, *profile, *token_file, *model, *key_file, *prices;
	const char *tools, *skills, *tls_cert, *tls_key;
	struct opt_list listen, front, allow_host, allow_origin;
	bool no_socket, no_journal, quiet, commands, help;
	uint64_t session_ttl_ms, session_idle_ms, retain_ms, max_sessions, max_memory_bytes;
	uint64_t standby, checkpoints, programs, connections, grace_ms, request_timeout_ms,
		idle_timeout_ms, front_idle_ms;
	int color, log;
	struct box_args box; /* of fronts */
};

/* The addresses at which the engine listens, and the directory of its journal. */
struct places {
	char socket[PATH_MAX], state[PATH_MAX], runtime[PATH_MAX], socket_dir[PATH_MAX];
	bool has_socket, has_state, has_runtime; /* runtime: for the unix sockets of ports */
	int unix_fd; /* unix socket that a service manager has passed to us; -1: none */
	/* TCP sockets that listen; -1: handed over to the HTTP server. */
	int inet_fd[NOTIFY_SOCKETS_MAX + OPT_LIST_MAX];
	struct address_text inet[NOTIFY_SOCKETS_MAX + OPT_LIST_MAX];
	/* n_inet: number of TCP sockets. n_given: how many of them a service manager has passed
	 * to us; these come first. */
	size_t n_inet, n_given;
	json_t *prices;
	json_t *front_box; /* the boxes of fronts, as parameters of session.create */
};

/* Find the places for @args. Listening sockets are opened, so that an error is reported before
 * anything is started. Owns: the caller calls places_close(), also after an error. */
int places_find(const struct serve_args *args, struct places *p, struct err *err);
/* Make `front_box` from the options for fronts. */
int places_read_box(const struct serve_args *args, const struct opt_set *set, struct places *p,
	struct err *err);
void places_close(struct places *p);
